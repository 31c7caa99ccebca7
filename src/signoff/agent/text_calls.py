"""Calls of a model that has none of its own: one JSON object `{"tool": …, "args": {…}}` as its whole answer. Pure."""

import uuid
from collections.abc import Collection, Iterable
from typing import Any

import msgspec

from signoff.domain.unreadable import UNREADABLE
from signoff.providers.provider import Message, Text, ToolRequest, ToolSpec

_FENCE, _LANGUAGE = "```", "json"


class _Call(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tool: str
    args: dict[str, Any] = {}


def may_become_a_call(text: str) -> bool:
    """Is what came so far the beginning of such an object? Then it is not shown yet."""
    start = text.lstrip()
    if not start.startswith("`"):
        return start.startswith("{")
    if not start.startswith(_FENCE):
        return _FENCE.startswith(start)
    fenced = start.removeprefix(_FENCE)
    body = fenced.removeprefix(_LANGUAGE).lstrip()
    return _LANGUAGE.startswith(fenced) or not body or body.startswith("{")


def read_call(text: str, tools: Collection[str]) -> ToolRequest | None:
    """The call an answer is, if it is nothing but a call of a tool that there is."""
    body = text.strip()
    if body.startswith(_FENCE) and body.endswith(_FENCE) and len(body) > 2 * len(_FENCE):
        body = body[len(_FENCE) : -len(_FENCE)].removeprefix(_LANGUAGE).strip()
    if not body.startswith("{"):
        return None
    try:
        call = msgspec.json.decode(body.encode(), type=_Call)
    except UNREADABLE:
        return None
    if call.tool not in tools:
        return None
    return ToolRequest(f"text_{uuid.uuid4().hex[:12]}", call.tool, msgspec.json.encode(call.args).decode())


def manual(specs: tuple[ToolSpec, ...]) -> str:
    """How the model is told about its tools."""
    lines = [
        "To use a tool, answer with one JSON object and nothing else: "
        '{"tool": "NAME", "args": {…}}. You are then told its result. Example:',
        '{"tool": "display", "args": {"content": "Reading the tests first.", "level": "info"}}',
        "The tools, each with the JSON Schema of its args:",
    ]
    lines += [f"- {one.name}: {one.description} {msgspec.json.encode(one.parameters).decode()}" for one in specs]
    return "\n".join(lines)


def as_text(messages: Iterable[Message]) -> tuple[Message, ...]:
    """The conversation without calls: each is the object it would be, each result something the person says."""
    return tuple(map(_as_text, messages))


def _as_text(message: Message) -> Message:
    if message.role == "tool":
        return Message("user", (Text(f"Result:\n{message.text}"),))
    if not message.tool_requests:
        return message
    written = [
        f'{{"tool": {msgspec.json.encode(one.name).decode()}, "args": {one.arguments}}}'
        for one in message.tool_requests
    ]
    return Message("assistant", (Text("\n".join([message.text, *written]).strip()),))
