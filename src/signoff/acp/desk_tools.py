"""What a foreign agent may ask of our client, as tools: files and commands, through the gate and the sandbox like any other
call. They speak the protocol's words; what happens is what our own tools do."""

from typing import Any

import msgspec

from signoff.approvals.request import CommandSubject, Subject
from signoff.domain.call import Artifacts
from signoff.domain.errors import InvalidArguments
from signoff.domain.intent import Action, Aspect, Escalation, FileRead, FileWrite, Intent, Permission
from signoff.files.ground import Ground, spelled
from signoff.policy.intents import argv_intent
from signoff.sandbox.outcome import Request
from signoff.tools.changing import ChangingTool
from signoff.tools.command import CommandKey, directory
from signoff.tools.edits import Edit, planned
from signoff.tools.patch_format import Add
from signoff.tools.tool import Attempt, Done, Place, Tool

READ, WRITE, CREATE = "fs/read_text_file", "fs/write_text_file", "terminal/create"


class ReadArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: str
    line: int | None = None  # the first line wanted, counted from 1
    limit: int | None = None


class ReadTextFile(Tool[ReadArguments]):
    name = READ
    version = "1.0.0"
    description = "Give an agent the text of a file."
    permissions = (Permission.FS_READ,)
    arguments = ReadArguments

    def intent(self, arguments: ReadArguments, place: Place) -> Intent:
        return Intent(self.name, Action.READ, (FileRead(spelled(arguments.path, place.workspace)),))

    async def run(self, arguments: ReadArguments, attempt: Attempt) -> Done:
        with Ground(attempt.place.workspace) as ground:
            text = ground.read(spelled(arguments.path, attempt.place.workspace)).decode("utf-8", "replace")
        if arguments.line is not None or arguments.limit is not None:
            first = max(arguments.line or 1, 1) - 1
            last = None if arguments.limit is None else first + arguments.limit
            text = "".join(text.splitlines(keepends=True)[first:last])
        return Done(payload={"content": text})


class WriteArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: str
    content: str


class WriteTextFile(ChangingTool[WriteArguments]):
    name = WRITE
    version = "1.0.0"
    description = "Let an agent write a file."
    permissions = (Permission.FS_WRITE,)
    arguments = WriteArguments

    def touched(self, arguments: WriteArguments, place: Place) -> list[Aspect]:
        return [FileWrite(spelled(arguments.path, place.workspace))]

    def edits(self, arguments: WriteArguments, ground: Ground, place: Place) -> list[Edit]:
        return planned((Add(arguments.path, arguments.content),), ground, place)


class CreateArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    command: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    cwd: str | None = None

    @property
    def argv(self) -> tuple[str, ...]:
        """Variables are set by `env`, so that what is judged is what is run. A line with blanks is a script."""
        variables = tuple(f"{name}={value}" for name, value in self.env)
        words = ("bash", "-c", self.command) if not self.args and " " in self.command else (self.command, *self.args)
        return ("env", *variables, *words) if variables else words


class CreateTerminal(Tool[CreateArguments]):
    name = CREATE
    version = "1.0.0"
    description = "Run a command for an agent, in the sandbox."
    permissions = (Permission.PROC_EXEC,)
    side_effects = ("starts processes", "may change files in the writable roots")
    arguments = CreateArguments

    def intent(self, arguments: CreateArguments, place: Place) -> Intent:
        if any("=" in name or not name for name, _ in arguments.env):
            raise InvalidArguments("a variable's name is not empty and holds no =")
        where = directory(arguments.cwd, place)
        return argv_intent(arguments.argv, cwd=where, home=place.home, tool=self.name)

    def approval_keys(self, arguments: CreateArguments, place: Place) -> tuple[Any, ...]:
        return (CommandKey(arguments.argv, directory(arguments.cwd, place), Escalation.USE_DEFAULT),)

    def subject(self, arguments: CreateArguments, place: Place) -> Subject:
        return CommandSubject(arguments.argv, directory(arguments.cwd, place))

    async def run(self, arguments: CreateArguments, attempt: Attempt) -> Done:
        job = await attempt.begin(Request(arguments.argv, directory(arguments.cwd, attempt.place)))
        return Done(payload={"job_id": job.id}, artifacts=Artifacts(commands_run=(" ".join(arguments.argv),)))


def desk_tools() -> tuple[Tool[Any], ...]:
    return (ReadTextFile(), WriteTextFile(), CreateTerminal())
