"""Put a supervised run together: gate, arbiter, child, keyboard, and what is said and kept at the end."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator

import msgspec

from signoff.approvals.request import ReviewRequest
from signoff.approvals.review import Reviewer
from signoff.cli.output import Output
from signoff.cli.wiring_gate import Run, opened, reviewer_of
from signoff.config import locations
from signoff.config.layers import Configuration
from signoff.domain.event import RunEvent, Warned
from signoff.domain.review import ReviewDecision
from signoff.ledger.records import Event
from signoff.ledger.redact import Redactor
from signoff.supervisor.arbiter import Arbiter, OnUnenforcedDeny, Terms
from signoff.supervisor.diagnostics import bundle, keep
from signoff.supervisor.ends import DenyExit, Ending
from signoff.supervisor.events_out import EventsOut
from signoff.supervisor.hang import Patience
from signoff.supervisor.relay import Relay
from signoff.supervisor.run import Demands, Limits, Watch, supervise
from signoff.supervisor.session import Output as Sinks
from signoff.supervisor.session import ParsedEvent, Session, Spec
from signoff.wire.jsonl import Demand, Modes


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The flags of `wrap` that are no settings."""

    sandbox: str | None
    network: str
    require_enforcement: bool
    on_unenforced_deny: OnUnenforcedDeny
    deny_exit: DenyExit
    events: Demand
    no_prefix_events: bool
    no_json_events: bool
    show_events: bool
    max_parse_errors: int | None
    events_out: str | None
    tty: bool
    env: dict[str, str]
    timeout_ms: int | None
    abort_grace_ms: int
    kill_grace_ms: int
    hang_ms: int | None
    prompt: str | None
    inject_into: str | None


class Keyboard:
    """A reviewer that has the keyboard to itself while it asks, also when the agent is on a terminal of its own."""

    def __init__(self, reviewer: Reviewer) -> None:
        self._reviewer = reviewer
        self.relay: Relay | None = None
        self.name = reviewer.name
        self.is_person = reviewer.is_person

    async def review(self, request: ReviewRequest) -> ReviewDecision:
        with self.relay.paused() if self.relay is not None else contextlib.nullcontext():
            return await self._reviewer.review(request)


def wrapped(output: Output, loaded: Configuration, command: tuple[str, ...], options: Options) -> int:
    settings = loaded.settings

    def show(event: RunEvent) -> None:
        if isinstance(event, Warned):
            output.warn(event.message)

    keyboard = Keyboard(reviewer_of(output, settings.policy))
    guarded = options.sandbox is not None
    with opened(output, loaded, ("signoff", "wrap", *command), reviewer=keyboard, show=show, guarded=guarded) as run:
        run.status = _supervised(output, loaded, command, options, run, keyboard)
    return run.status


def _supervised(
    output: Output, loaded: Configuration, command: tuple[str, ...], options: Options, run: Run, keyboard: Keyboard
) -> int:
    watch = Watch()
    terms = Terms(
        run_id=run.run_id,
        cwd=os.getcwd(),
        home=str(locations.home(os.environ)),
        audit=loaded.settings.policy.audit,
        on_unenforced_deny=options.on_unenforced_deny,
        max_parse_errors=options.max_parse_errors,
        decision_timeout_s=loaded.settings.policy.decision_timeout_ms / 1_000,
    )
    arbiter = Arbiter(run.gate, run.ledger, terms, warn=output.warn, stop=watch.request)
    with contextlib.ExitStack() as closing:
        closing.callback(watch.close)
        redactor = Redactor(loaded.settings.ledger.redact, reversible=False)
        out = _copy(options.events_out, run, redactor, output)
        closing.enter_context(out or contextlib.nullcontext())

        def hear(session: Session, event: ParsedEvent) -> None:
            if out is not None:
                out.keep(event)
            arbiter.hear(session, event)

        session = Session(_spec(command, options, terms), Sinks(1, 2), hear)
        closing.callback(session.close)
        keyboard.relay = closing.enter_context(_keys(session))
        ending = supervise(session, arbiter, watch, _limits(options), _demands(options), _noting(run))
        _report(output, session, arbiter, ending, run, redactor)
    return ending.exit_code


def _spec(command: tuple[str, ...], options: Options, terms: Terms) -> Spec:
    return Spec(
        argv=command,
        cwd=terms.cwd,
        environ={**os.environ, **options.env},
        run_id=terms.run_id,
        tty=options.tty,
        modes=Modes(prefix=not options.no_prefix_events, bare=not options.no_json_events),
        demand=options.events,
        show_events=options.show_events,
        decision_timeout_ms=int(terms.decision_timeout_s * 1_000),
    )


def _limits(options: Options) -> Limits:
    return Limits(
        total=None if options.timeout_ms is None else options.timeout_ms / 1_000,
        abort_grace=options.abort_grace_ms / 1_000,
        kill_grace=options.kill_grace_ms / 1_000,
        patience=Patience(
            silence=None if options.hang_ms is None else options.hang_ms / 1_000,
            execution=None if options.hang_ms is None else options.hang_ms / 1_000,
        ),
    )


def _demands(options: Options) -> Demands:
    return Demands(options.deny_exit, options.require_enforcement)


@contextlib.contextmanager
def _keys(session: Session) -> Iterator[Relay | None]:
    if session.child.terminal is None or not sys.stdin.isatty():
        yield None
        return
    with Relay(sys.stdin.fileno(), session.child.terminal) as relay:
        yield relay


def _copy(path: str | None, run: Run, redactor: Redactor, output: Output) -> EventsOut | None:
    return None if path is None else EventsOut(path, run.run_id, redactor.value, output.warn)


def _noting(run: Run) -> Callable[[str], None]:
    def note(text: str) -> None:
        run.ledger.submit(Event("supervisor", {"note": text}, "warning"))

    return note


def _report(output: Output, session: Session, arbiter: Arbiter, ending: Ending, run: Run, redactor: Redactor) -> None:
    tally = arbiter.tally
    if session.trust.forged:
        output.warn(
            f"{session.trust.forged} lines looked like events and were not the agent's; they were passed on as text"
        )
    if ending.bad:
        content = bundle(session, arbiter, ending, redactor.text)
        path = keep(str(locations.diagnostics(os.environ)), run.run_id, content)
        output.warn(f"{ending.reason}; what is known about it: {path}")
    elif tally.denied:
        output.say(f"signoff: {ending.reason}; see: signoff audit show {run.run_id}")
