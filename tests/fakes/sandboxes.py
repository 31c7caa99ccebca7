"""A sandbox that runs nothing: it notes what it was asked to start and how, and gives outcomes from a list."""

from collections.abc import Callable, Iterable

from signoff.sandbox.jobs import Job, State
from signoff.sandbox.outcome import Allowance, Backend, Cause, Denial, OnOutput, Outcome, Output, Request

FINE = Outcome(0, None, False, Output(b"fine\n"), Output(), Backend.NAMESPACES, 1.0)
WRONG = Outcome(1, None, False, Output(), Output(b"wrong\n"), Backend.NAMESPACES, 1.0)
LATE = Outcome(None, 15, True, Output(), Output(), Backend.NAMESPACES, 300_000.0)
KILLED = Outcome(None, 11, False, Output(), Output(), Backend.NAMESPACES, 1.0)
STOPPED = Outcome(
    1,
    None,
    False,
    Output(),
    Output(b"Read-only file system\n"),
    Backend.NAMESPACES,
    1.0,
    denial=Denial(Cause.WRITE, "/etc/hosts", "writable root /etc", certain=True),
)


class FakeSandboxes:
    """Outcomes for attempts inside come from the list, the last one for ever; outside everything is fine."""

    def __init__(
        self,
        outcomes: Iterable[Outcome] = (FINE,),
        *,
        confined: bool = True,
    ) -> None:
        self.confined = confined
        self.started: list[tuple[Request, Allowance]] = []
        self._outcomes = list(outcomes)
        self.before: Callable[[], None] = lambda: None  # called when something is about to take effect
        self.outside = False  # where

    @property
    def places(self) -> list[str]:
        return ["outside" if allowance.outside else "inside" for _, allowance in self.started]

    async def start(self, request: Request, allowance: Allowance, on_output: OnOutput | None = None) -> Outcome:
        self.outside = allowance.outside
        self.before()
        self.started.append((request, allowance))
        if allowance.outside:
            return FINE
        return self._outcomes.pop(0) if len(self._outcomes) > 1 else self._outcomes[0]

    async def begin(self, request: Request, allowance: Allowance) -> Job:
        self.started.append((request, allowance))
        return Job("job-1", 4711, request.argv, request.cwd, 0.0, State.RUNNING)
