"""What a tool is. The gate finds it, decodes its arguments, asks what it will touch, and only then lets it run.

A tool never asks for approval and never starts a process by itself: an `Attempt` gives it what it may use.
"""

import functools
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, Protocol, TypeVar

import msgspec

from signoff.approvals.request import Subject, Width
from signoff.domain.call import Artifacts, Failure, ToolCall
from signoff.domain.errors import InvalidArguments, SandboxDenied
from signoff.domain.event import RunEvent
from signoff.domain.intent import Host, Intent, Permission
from signoff.domain.settings import ApprovalPolicy
from signoff.sandbox.jobs import Job
from signoff.sandbox.outcome import OnOutput, Outcome, Request
from signoff.tools.versions import adapted

Arguments = TypeVar("Arguments", bound=msgspec.Struct)


class Place(msgspec.Struct, frozen=True):
    """Where calls happen."""

    workspace: str
    home: str


class Start(Protocol):
    def __call__(self, request: Request, on_output: OnOutput | None = None) -> Awaitable[Outcome]: ...


class FileAccess(Protocol):
    """Somebody who may hold newer text than the disk: an editor with unsaved buffers. Asked only after the gate."""

    async def read(self, path: str) -> str | None:
        """The text of the file; None: it is not theirs to give."""
        ...

    async def write(self, path: str, text: str) -> bool:
        """Take the new text and save it. False: it was not taken."""
        ...


class Attempt(msgspec.Struct, frozen=True):
    """One run of a tool, inside the sandbox or outside it."""

    call_id: str
    place: Place
    outside: bool
    start: Start  # runs a process where this attempt may run it
    begin: Callable[[Request], Awaitable[Job]]  # the same in the background
    progress: Callable[[str, str], object]  # stream and text, while it runs; from any thread
    show: Callable[[RunEvent], object]  # to the person, and to whoever else follows the run
    readable: Callable[[str], bool]  # would the policy let this call read that file as well?
    reachable: Callable[[Host], bool]  # … and connect to that host?
    files: FileAccess | None = None


class Done(msgspec.Struct, frozen=True):
    """How an attempt ended: payload for the model, display for the person, artifacts for the record."""

    payload: dict[str, Any] | None = None
    failure: Failure | None = None
    artifacts: Artifacts = Artifacts()
    display: str | None = None

    @property
    def sandbox_denied(self) -> bool:
        return self.failure is not None and self.failure.code == SandboxDenied.code


class AnyResult(msgspec.Struct, frozen=True):
    """A payload about which nothing is promised."""


class Tool(Protocol[Arguments]):
    """Subclass it; what has a default here is right for a tool that starts no process."""

    name: str
    version: str
    description: str
    permissions: ClassVar[tuple[Permission, ...]] = ()
    side_effects: ClassVar[tuple[str, ...]] = ()
    arguments: type[Arguments]  # a frozen struct that forbids unknown fields
    returns: ClassVar[type[msgspec.Struct]] = AnyResult  # the shape of the payload
    remembered: ClassVar[Width] = Width.COMMAND  # how much the approval keys cover
    escalate_on_failure: ClassVar[bool] = False  # may be tried once more outside, after the sandbox stopped it

    def intent(self, arguments: Arguments, place: Place) -> Intent:
        """Everything the call will touch. Pure as far as possible; paths absolute."""
        ...

    async def run(self, arguments: Arguments, attempt: Attempt) -> Done: ...

    def read(self, args: dict[str, Any]) -> Arguments:
        """The arguments, strictly: nothing missing, nothing more, nothing of another type."""
        return msgspec.convert(args, self.arguments)

    def schemas(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """JSON Schemas of the arguments and of the payload."""
        return schema_of(self.arguments), schema_of(self.returns)

    def approval_keys(self, arguments: Arguments, place: Place) -> tuple[Any, ...]:
        """What a yes for the session covers; empty: every call is asked anew."""
        return ()

    def subject(self, arguments: Arguments, place: Place) -> Subject | None:
        """What the person is shown; None: the arguments as they are."""
        return None

    async def newest_subject(self, arguments: Arguments, place: Place, files: FileAccess) -> Subject | None:
        """The same, where an editor may hold newer text. Only asked for once the person has to be asked."""
        return self.subject(arguments, place)

    def wants_no_sandbox_approval(self, policy: ApprovalPolicy) -> bool:
        """May the person be asked to let it run outside, after the sandbox stopped it?"""
        return policy in (ApprovalPolicy.UNTRUSTED, ApprovalPolicy.ON_FAILURE)


def decode(tool: Tool[Any], call: ToolCall) -> msgspec.Struct:
    try:
        arguments: msgspec.Struct = tool.read(adapted(call.name, call.version, call.args))
    except msgspec.ValidationError as error:
        raise InvalidArguments(f"{call.name}: {error}") from error
    return arguments


@functools.cache  # of types, so of few; every session asks anew
def schema_of(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """With the outermost type in place: not every model follows a reference at the top."""
    schema = msgspec.json.schema(kind)
    definitions = schema["$defs"]
    top = definitions.pop(schema["$ref"].removeprefix("#/$defs/"))
    return {**top, "$defs": definitions} if definitions else dict(top)
