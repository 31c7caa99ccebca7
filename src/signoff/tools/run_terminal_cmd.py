"""run_terminal_cmd: one shell command line, in the sandbox unless it was cleared to run outside."""

from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from signoff.approvals.request import CommandSubject, Subject
from signoff.domain.call import Artifacts
from signoff.domain.intent import Escalation, Intent, Permission
from signoff.domain.late import late
from signoff.policy.intents import argv_intent
from signoff.sandbox.outcome import Request
from signoff.tools.command import CommandKey, CommandResult, TerminalKey, directory, done, relay
from signoff.tools.tool import Attempt, Done, Place, Tool

if TYPE_CHECKING:
    from signoff.sandbox import terminal
else:
    terminal = late("signoff.sandbox.terminal")


class RunArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    command: str
    is_background: bool = False
    timeout_ms: Annotated[int, msgspec.Meta(ge=1)] | None = None
    cwd: str | None = None  # relative to the workspace
    tty: bool = False  # on a terminal of its own: colours, progress bars; stdout and stderr are one
    justification: str | None = None
    escalate: bool = False
    prefix_rule: tuple[str, ...] | None = None

    @property
    def argv(self) -> tuple[str, ...]:
        return ("bash", "-c", self.command)

    @property
    def escalation(self) -> Escalation:
        return Escalation.REQUIRE_ESCALATED if self.escalate else Escalation.USE_DEFAULT


class RunTerminalCommand(Tool[RunArguments]):
    name = "run_terminal_cmd"
    version = "1.1.0"
    description = "Run a shell command line and give its output and exit code; with is_background let it go on and give its job_id."
    permissions = (Permission.PROC_EXEC,)
    side_effects = ("starts processes", "may change files in the writable roots")
    arguments = RunArguments
    returns = CommandResult
    escalate_on_failure = True

    def intent(self, arguments: RunArguments, place: Place) -> Intent:
        return argv_intent(
            arguments.argv,
            cwd=directory(arguments.cwd, place),
            home=place.home,
            tool=self.name,
            escalation=arguments.escalation,
            justification=arguments.justification,
            prefix_rule=arguments.prefix_rule,
        )

    def approval_keys(self, arguments: RunArguments, place: Place) -> tuple[Any, ...]:
        cwd = directory(arguments.cwd, place)
        if arguments.tty:
            return (TerminalKey(arguments.argv, cwd, True, arguments.escalation),)
        return (CommandKey(arguments.argv, cwd, arguments.escalation),)

    def subject(self, arguments: RunArguments, place: Place) -> Subject:
        return CommandSubject(arguments.argv, directory(arguments.cwd, place))

    async def run(self, arguments: RunArguments, attempt: Attempt) -> Done:
        argv = terminal.on_terminal(arguments.argv) if arguments.tty else arguments.argv
        request = Request(argv, directory(arguments.cwd, attempt.place), timeout_ms=arguments.timeout_ms)
        if not arguments.is_background:
            return done(arguments.command, await attempt.start(request, relay(attempt)))
        job = await attempt.begin(request)
        started = CommandResult(None, "", "", truncated=False, backend=None, job_id=job.id, pid=job.pid)
        return Done(
            payload=msgspec.to_builtins(started),
            artifacts=Artifacts(commands_run=(arguments.command,)),
            display=f"{job.id} goes on in the background (pid {job.pid})",
        )
