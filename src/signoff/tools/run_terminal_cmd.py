"""run_terminal_cmd: one shell command line, in the sandbox unless it was cleared to run outside."""

import os
from typing import Any

import msgspec

from signoff.approvals.request import CommandSubject, Subject
from signoff.domain.call import Artifacts, Failure
from signoff.domain.errors import ResourceExhausted, SandboxDenied, ToolTimeout
from signoff.domain.intent import Action, Escalation, Intent, Permission
from signoff.policy.shell import read_argv
from signoff.sandbox.outcome import Denial, Outcome, Request
from signoff.tools.tool import Attempt, Done, Place, Tool


class RunArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    command: str
    is_background: bool = False
    timeout_ms: int | None = None
    cwd: str | None = None  # relative to the workspace
    justification: str | None = None
    escalate: bool = False
    prefix_rule: tuple[str, ...] | None = None


class CommandKey(msgspec.Struct, frozen=True):
    """What a yes for the session covers: this command, here, with these permissions."""

    command: tuple[str, ...]
    cwd: str
    sandbox_permissions: Escalation


class RunTerminalCommand(Tool[RunArguments]):
    name = "run_terminal_cmd"
    version = "1.0.0"
    description = "Run a shell command line and give its output and exit code."
    permissions = (Permission.PROC_EXEC,)
    side_effects = ("starts processes", "may change files in the writable roots")
    arguments = RunArguments
    escalate_on_failure = True

    def intent(self, arguments: RunArguments, place: Place) -> Intent:
        argv, cwd = _argv(arguments), _cwd(arguments, place)
        return Intent(
            tool=self.name,
            action=Action.EXEC,
            aspects=read_argv(argv, cwd=cwd, home=place.home).aspects,
            escalation=_escalation(arguments),
            justification=arguments.justification,
            prefix_rule=arguments.prefix_rule,
            argv=argv,
        )

    def approval_keys(self, arguments: RunArguments, place: Place) -> tuple[Any, ...]:
        return (CommandKey(_argv(arguments), _cwd(arguments, place), _escalation(arguments)),)

    def subject(self, arguments: RunArguments, place: Place) -> Subject:
        return CommandSubject(_argv(arguments), _cwd(arguments, place))

    async def run(self, arguments: RunArguments, attempt: Attempt) -> Done:
        request = Request(argv=_argv(arguments), cwd=_cwd(arguments, attempt.place), timeout_ms=arguments.timeout_ms)
        outcome = await attempt.start(request)
        return Done(
            payload=_payload(outcome),
            failure=_failure(outcome),
            artifacts=Artifacts(commands_run=(arguments.command,)),
            display=outcome.stdout.text() + outcome.stderr.text(),
        )


def _argv(arguments: RunArguments) -> tuple[str, ...]:
    return ("bash", "-c", arguments.command)


def _cwd(arguments: RunArguments, place: Place) -> str:
    return os.path.normpath(os.path.join(place.workspace, arguments.cwd or ""))


def _escalation(arguments: RunArguments) -> Escalation:
    return Escalation.REQUIRE_ESCALATED if arguments.escalate else Escalation.USE_DEFAULT


def _payload(outcome: Outcome) -> dict[str, Any]:
    return {
        "exit_code": outcome.status,
        "stdout": outcome.stdout.text(),
        "stderr": outcome.stderr.text(),
        "truncated": outcome.stdout.truncated or outcome.stderr.truncated,
        "backend": str(outcome.backend),
    }


def _failure(outcome: Outcome) -> Failure | None:
    """A command that ends with a status of its own has run: that is a result, not a failure."""
    if outcome.timed_out:
        return Failure(ToolTimeout.code, f"stopped after {outcome.duration_ms / 1_000:.1f} s")
    if outcome.exhausted is not None:
        return Failure(ResourceExhausted.code, f"the limit of {outcome.exhausted} was reached")
    if outcome.denial is not None:
        return Failure(SandboxDenied.code, denial_text(outcome.denial), {"denial": msgspec.to_builtins(outcome.denial)})
    return None


def denial_text(denial: Denial) -> str:
    what = f"the sandbox stopped a {denial.cause}" + (f" of {denial.target}" if denial.target else "")
    return f"{what}; it would need: {denial.permission}" if denial.permission else what
