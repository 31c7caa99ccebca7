"""What a vendor's API is made of, without any network: a request as JSON one way, events as text the other way.

A dialect is pure. It never sees a key apart from building the headers, and it never raises anything but `Trouble`.
"""

from collections.abc import Iterator
from typing import Any, Protocol

import msgspec

from signoff.domain.errors import ModelBadResponse, ModelCut, ModelError
from signoff.domain.unreadable import UNREADABLE
from signoff.providers.provider import ModelEvent, ModelRequest, Stopped, StopReason, ToolRequest, ToolRequested, Usage

PREVIEW = 200  # characters of something unreadable that are shown


class Trouble(Exception):
    """One attempt failed. `again`: another one may succeed, not before `after_s` seconds if the vendor said so."""

    def __init__(self, error: ModelError, *, again: bool = False, after_s: float | None = None) -> None:
        super().__init__(error.message)
        self.error = error
        self.again = again
        self.after_s = after_s


class Reading(Protocol):
    """One answer while it arrives."""

    whole: bool  # the vendor said that this was all

    def feed(self, event: str, data: str) -> Iterator[ModelEvent]:
        """What one server-sent event says."""
        ...

    def finish(self) -> Iterator[ModelEvent]:
        """What can be said only at the end. Raises Trouble where the answer is not whole."""
        ...


class Dialect(Protocol):
    path: str
    models_path: str

    def headers(self, key: str) -> dict[str, str]: ...

    def body(self, request: ModelRequest) -> dict[str, Any]: ...

    def reading(self) -> Reading: ...


def member(data: str) -> dict[str, Any]:
    """The object in an event. Raises Trouble where there is none."""
    try:
        return msgspec.json.decode(data, type=dict[str, Any])
    except UNREADABLE as error:
        shown = " ".join(data[:PREVIEW].split())
        raise Trouble(ModelBadResponse(f"the model's answer cannot be read: {shown!r}")) from error


def cut() -> Trouble:
    return Trouble(ModelCut("the answer was cut off before its end"), again=True)


def ending(
    requests: list[ToolRequest], usage: Usage | None, reason: StopReason, carry: str = ""
) -> Iterator[ModelEvent]:
    """The last events of every answer. What the length limit cut off is no request; nothing is run after a refusal."""
    kept = requests if reason in ("end", "tool_calls") else []
    for request in kept:
        yield ToolRequested(request)
    if usage is not None:
        yield usage
    yield Stopped("tool_calls" if kept else "end" if reason == "tool_calls" else reason, carry)


def arguments_object(text: str) -> dict[str, Any]:
    """Arguments as an object even where the model wrote none: no API takes back what is not JSON."""
    try:
        return msgspec.json.decode(text or "{}", type=dict[str, Any])
    except UNREADABLE:
        return {"malformed_arguments": text}


def count(table: object, *path: str) -> int:
    """A number somewhere inside what a vendor counted; 0 where it is not told."""
    for name in path:
        table = table.get(name) if isinstance(table, dict) else None
    return int(table) if isinstance(table, int | float) and table == table and 0 <= table < 2**53 else 0


def string(value: object) -> str:
    return value if isinstance(value, str) else ""


def table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def rows(value: object) -> list[dict[str, Any]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def carried(carry: str, dialect: str) -> list[dict[str, Any]]:
    """What this dialect put into `carry`; nothing where another one did."""
    if not carry:
        return []
    try:
        held = msgspec.json.decode(carry)
    except UNREADABLE:
        return []
    return rows(table(held).get(dialect))
