"""A tool that a tool server brought. It is called like any other: judged, asked about, recorded.

Nothing is believed of what the server says about its own harmlessness. What it says the tool is, is part of what a person
approves: if that changes, they are asked again.
"""

import base64
import hashlib
import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import msgspec

from signoff.approvals.request import Width
from signoff.domain.call import Failure
from signoff.domain.errors import InvalidArguments, ToolError
from signoff.domain.intent import Action, Intent, Opaque, Permission
from signoff.domain.late import late
from signoff.domain.tool_server import LocalServer, ToolServer
from signoff.tools.picture import Picture, pictured
from signoff.tools.tool import Attempt, Done, Place, Tool

if TYPE_CHECKING:
    import jsonschema
    import referencing
else:
    jsonschema, referencing = late("jsonschema"), late("referencing")

PREFIX = "mcp__"
LONGEST_NAME = 64  # what models accept
MOST_TEXT = 262_144
MOST_DESCRIPTION = 8_000  # characters that every request to a model carries along
_OTHER = re.compile(r"[^A-Za-z0-9_-]+")


class Offer(msgspec.Struct, frozen=True):
    """A tool as its server describes it."""

    name: str
    description: str
    arguments: dict[str, Any]
    returns: dict[str, Any] | None = None


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the server answered; `structured` as its own schema says."""

    text: str
    structured: dict[str, Any] | None = None
    images: tuple[Picture, ...] = ()
    omitted: str | None = None  # what was left out, and why


class Reply(msgspec.Struct, frozen=True):
    answer: Answer
    is_error: bool = False


class Given(msgspec.Struct, frozen=True):
    """Arguments that the server's own schema describes."""

    values: dict[str, Any]


Send = Callable[[str, dict[str, Any], Attempt], Awaitable[Reply]]


class Memory(msgspec.Struct, frozen=True):
    """What was approved before."""

    changed: Callable[[str, str], bool]
    keep: Callable[[str, str], None]


class McpTool(Tool[Given]):
    version = "1.0.0"
    permissions = (Permission.PROC_EXEC, Permission.NET_CONNECT)
    side_effects = ("whatever its server does",)
    arguments = Given
    returns = Answer
    remembered = Width.TOOL

    def __init__(self, server: ToolServer, offer: Offer, memory: Memory, send: Send) -> None:
        self.name = full_name(server.name, offer.name)
        self.description = offer.description[:MOST_DESCRIPTION]
        self.fingerprint = fingerprint(server, offer)
        self._offer, self._memory, self._send = offer, memory, send

    def read(self, args: dict[str, Any]) -> Given:
        try:
            wanted = self._offer.arguments
            validator = jsonschema.validators.validator_for(wanted, default=jsonschema.Draft202012Validator)
            # an empty registry: a schema's references are not fetched from anywhere
            error = jsonschema.exceptions.best_match(
                validator(wanted, registry=referencing.Registry()).iter_errors(args)
            )
        except (jsonschema.SchemaError, referencing.exceptions.Unresolvable) as broken:
            raise ToolError(f"{self.name}: its server describes its arguments wrongly: {broken}") from broken
        if error is not None:
            raise InvalidArguments(f"{self.name}: {error.message} - at `{error.json_path}`")
        return Given(args)

    def schemas(self) -> tuple[dict[str, Any], dict[str, Any]]:
        _, answer = super().schemas()
        if self._offer.returns is not None:
            answer = {**answer, "properties": {**answer["properties"], "structured": self._offer.returns}}
        return self._offer.arguments, answer

    def intent(self, arguments: Given, place: Place) -> Intent:
        """What it touches nobody knows; the rules for the tool speak, and else the default."""
        if self._memory.changed(self.name, self.fingerprint):
            reason = "its server describes this tool differently than when it was last let through"
            return Intent(self.name, Action.EXEC, (Opaque(self.name, reason),))
        return Intent(self.name, Action.EXEC)

    def approval_keys(self, arguments: Given, place: Place) -> tuple[Any, ...]:
        return ({"tool": self.name, "fingerprint": self.fingerprint},)

    async def run(self, arguments: Given, attempt: Attempt) -> Done:
        self._memory.keep(self.name, self.fingerprint)
        reply = await self._send(self._offer.name, arguments.values, attempt)
        payload = msgspec.to_builtins(reply.answer)
        if reply.is_error:
            return Done(payload=payload, failure=Failure(ToolError.code, reply.answer.text or "the tool failed"))
        return Done(payload=payload, display=_shown(reply.answer))


def full_name(server: str, tool: str) -> str:
    """`mcp__SERVER__TOOL` in letters that every model accepts; what is too long ends in a hash of the whole."""
    name = f"{PREFIX}{_OTHER.sub('_', server)}__{_OTHER.sub('_', tool)}"
    if len(name) <= LONGEST_NAME:
        return name
    tail = hashlib.sha256(f"{server}\0{tool}".encode()).hexdigest()[:8]
    return f"{name[: LONGEST_NAME - 9]}_{tail}"


def fingerprint(server: ToolServer, offer: Offer) -> str:
    """Of everything a person or a model goes by; not of secrets, which may change."""
    where = [server.command, *server.args] if isinstance(server, LocalServer) else [server.url]
    return hashlib.sha256(msgspec.json.encode([where, offer], order="sorted")).hexdigest()


def answer_of(texts: list[str], images: list[tuple[str, str]], structured: dict[str, Any] | None) -> Answer:
    """Within limits: the head of the text, and images that are not too large."""
    text = "\n".join(texts)
    kept = tuple(picture for kind, data in images for picture in pictured(kind, _base64(data)))
    omitted = []
    if len(text) > MOST_TEXT:
        omitted.append(f"{len(text) - MOST_TEXT} characters of text")
    if len(kept) < len(images):
        omitted.append(f"{len(images) - len(kept)} images")
    if structured is not None and len(msgspec.json.encode(structured)) > MOST_TEXT:
        structured = None
        omitted.append("the structured answer")
    return Answer(text[:MOST_TEXT], structured, kept, f"too large: {', '.join(omitted)}" if omitted else None)


def _base64(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except ValueError:
        return b""


def _shown(answer: Answer) -> str:
    images = [f"[{image.media_type}]" for image in answer.images]
    structured = msgspec.json.encode(answer.structured).decode() if answer.structured and not answer.text else ""
    return "\n".join(part for part in (answer.text, structured, *images, answer.omitted) if part)
