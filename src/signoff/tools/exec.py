"""exec: one program with its arguments, for a person or a script at the command line. Its output goes where they want it."""

import shlex
from typing import Any

import msgspec

from signoff.approvals.request import CommandSubject, Subject
from signoff.domain.intent import Escalation, Intent, Permission
from signoff.policy.intents import argv_intent
from signoff.sandbox.outcome import OnOutput, Request
from signoff.tools.command import CommandKey, done
from signoff.tools.tool import Attempt, Done, Place, Tool


class ExecArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    argv: tuple[str, ...]
    timeout_ms: int | None = None


class Exec(Tool[ExecArguments]):
    """`stdin` is a descriptor to relay from."""

    name = "exec"
    version = "1.0.0"
    description = "Run a program and give its output and exit code."
    permissions = (Permission.PROC_EXEC,)
    side_effects = ("starts processes", "may change files in the writable roots")
    arguments = ExecArguments
    escalate_on_failure = True

    def __init__(self, stdin: int | None = None, on_output: OnOutput | None = None) -> None:
        self._stdin = stdin
        self._on_output = on_output

    def intent(self, arguments: ExecArguments, place: Place) -> Intent:
        return argv_intent(arguments.argv, cwd=place.workspace, home=place.home, tool=self.name)

    def approval_keys(self, arguments: ExecArguments, place: Place) -> tuple[Any, ...]:
        return (CommandKey(arguments.argv, place.workspace, Escalation.USE_DEFAULT),)

    def subject(self, arguments: ExecArguments, place: Place) -> Subject:
        return CommandSubject(arguments.argv, place.workspace)

    async def run(self, arguments: ExecArguments, attempt: Attempt) -> Done:
        request = Request(arguments.argv, stdin=self._stdin, timeout_ms=arguments.timeout_ms)
        return done(shlex.join(arguments.argv), await attempt.start(request, self._on_output))
