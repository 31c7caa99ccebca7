"""Tool events: what a child says about its tools, one JSON object a line. `docs/protocol.md` describes them for others.

Reading never raises: a line is an event, a failure with its kind, or plain text (None). Events hold no cycles, so the
garbage collector need not look at them (gc=False): in a flood it would look at little else.
"""

import re
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from signoff.domain.errors import InvalidJson, MissingField, ParseError, SchemaMismatch, UnknownType
from signoff.domain.intent import Action
from signoff.domain.late import late, late_pattern
from signoff.wire import strict_json

if TYPE_CHECKING:
    import json
else:
    json = late("json")

PREFIX = b"@@MEM_TOOL_EVENT@@ "
MAX_ID = 256

Time = str | int | float


class ToolRequest(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="tool.request"):
    v: Literal[1]
    ts: Time
    id: str
    tool: str
    action: str  # as the child spells it; `judged_action` is what it counts as
    args: Any
    rationale: str | None = None
    requires_policy: bool = False
    run_id: str | None = None
    trace: dict[str, Any] | None = None
    nonce: str | None = None

    @property
    def judged_action(self) -> Action:
        """Unknown is never milder than exec."""
        return _ACTIONS.get(self.action, _STRICTEST)


class ToolResult(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="tool.result"):
    v: Literal[1]
    ts: Time
    id: str
    ok: bool
    output: Any
    error: str | None = None
    run_id: str | None = None
    trace: dict[str, Any] | None = None
    nonce: str | None = None


class ToolProgress(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="tool.progress"):
    v: Literal[1]
    ts: Time
    id: str
    stage: str
    message: str | None = None
    percent: Annotated[float, msgspec.Meta(ge=0, le=100)] | None = None
    run_id: str | None = None
    trace: dict[str, Any] | None = None
    nonce: str | None = None


class PolicyAck(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="policy.ack"):
    """A child's word that it heard a ping (the id of the ping) or a decision."""

    v: Literal[1]
    ts: Time
    id: str
    decision: str | None = None
    run_id: str | None = None
    trace: dict[str, Any] | None = None
    nonce: str | None = None


ToolEvent = ToolRequest | ToolResult | ToolProgress | PolicyAck
TYPES = ("tool.request", "tool.result", "tool.progress", "policy.ack")

_ACTIONS: dict[str, Action] = {action.value: action for action in Action}
_STRICTEST = Action.EXEC
_RFC3339 = late_pattern(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)", re.ASCII)
_MISSING = late_pattern(r"missing required field `(\w+)`")
_PREFIXED_LINE = b"\n" + PREFIX
_progress: msgspec.json.Decoder[ToolProgress] = msgspec.json.Decoder(ToolProgress)
_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[ToolEvent] = msgspec.json.Decoder(ToolEvent)


class Failure(msgspec.Struct, frozen=True):
    """A line that wanted to be an event and is none. It stays text; it is counted."""

    kind: str  # the code of the error: parse.invalid_json, parse.missing_field …
    message: str
    line: str  # cut to something a person can look at


def read_prefixed(payload: bytes) -> ToolEvent | Failure:
    """The rest of a line after the prefix: an event, or a failure."""
    try:
        return _decode(payload)
    except ParseError as error:
        return _failure(error, payload)


def read_bare(line: bytes) -> ToolEvent | Failure | None:
    """A line that starts with `{`: an event only if it is an object with both `v` and `type`; otherwise text."""
    try:
        return _decode(line)
    except ParseError as error:
        return _failure(error, line) if _claims_to_be_event(line) else None


def read_few(block: bytes) -> list[ToolEvent] | None:
    """Bare lines that came together, a result and the next request, say, as `read_bare` reads each of them. None where any
    needs a closer look."""
    if block.count(b"}\n{") + 1 != block.count(b"\n"):  # so that no object goes over the end of a line
        return None
    try:
        events = _decoder.decode_lines(block)
        for event in events:
            _check_time(event.ts)
            _check_id(event.id)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ParseError):
        return None
    return events if len(events) == block.count(b"\n") and _plainly_strict(block, events) else None


def read_block(block: bytes, prefixed: bool, bare: bool) -> list[ToolEvent] | None:
    """Many whole lines at once, at the speed of the decoder. None where any of them needs a closer look.

    Only progress is read this way: nothing is decided by it, and it is what comes in floods.
    """
    lines = block.count(b"\n")
    if block.startswith(PREFIX):
        if not prefixed or block.count(_PREFIXED_LINE) != lines - 1:
            return None
        block = block[len(PREFIX) :].replace(_PREFIXED_LINE, b"\n")
    elif not bare:
        return None
    if not block.startswith(b"{") or not block.endswith(b"}\n") or block.count(b"}\n{") != lines - 1:
        return None  # the decoder goes by objects, not by lines: two on one line would make up for one on two
    try:
        events = _progress.decode_lines(block)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if len(events) != lines or not _each_key_once(events, block.count(b'":')):
        return None
    try:
        for stamp in {event.ts for event in events}:
            _check_time(stamp)
        for name in {event.id for event in events}:
            _check_id(name)
    except ParseError:
        return None
    return list(events)


def _decode(payload: bytes) -> ToolEvent:
    try:
        event = _decoder.decode(payload)
    except msgspec.ValidationError as error:
        strict_json.loads(payload)  # broken JSON is the better reason
        raise _mismatch(str(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        strict_json.loads(payload)
        raise InvalidJson(str(error)) from error
    except RecursionError as error:
        raise InvalidJson("nested too deeply") from error
    if not _plainly_strict(payload, [event]):
        strict_json.loads(payload)
    _check_time(event.ts)
    _check_id(event.id)
    return event


def _plainly_strict(payload: bytes, events: list[ToolEvent]) -> bool:
    """True where the strict reader could find nothing more to refuse; False says nothing.

    Short, ASCII, no escapes: no endless number, no surrogate. No blank before a colon: then every key in the line shows as
    `":`, and as many of them as there are keys in what was decoded means that none was given twice.
    """
    if len(payload) > strict_json.MAX_DIGITS or not payload.isascii() or b"\\" in payload:
        return False
    if b" :" in payload or b"\t:" in payload or b"\r:" in payload:
        return False
    shallow = payload.count(b"{") + payload.count(b"[") <= strict_json.MAX_DEPTH
    return shallow and payload.count(b'":') == sum(map(_keys, events))


def _keys(event: ToolEvent) -> int:
    """How many keys its line has if no default was spelled out."""
    free: Any = None
    match event:
        case ToolRequest():
            known, free = 7, event.args
            given: tuple[Any, ...] = (event.rationale, event.requires_policy or None)
        case ToolResult():
            known, given, free = 6, (event.error,), event.output
        case ToolProgress():
            known, given = 5, (event.message, event.percent)
        case PolicyAck():
            known, given = 4, (event.decision,)
    given += (event.run_id, event.trace, event.nonce)
    within = (_keys_within(free) if free else 0) + (_keys_within(event.trace) if event.trace else 0)
    return known + len(given) - given.count(None) + within


def _keys_within(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(map(_keys_within, value.values()))
    return sum(map(_keys_within, value)) if isinstance(value, list) else 0


def _each_key_once(events: list[ToolProgress], keys: int) -> bool:
    """Whether flat progress lines have only keys that were read, and none twice; any other takes the slow, strict road.

    As soon as what is known to be there makes up all the keys, there is nothing else to look for.
    """
    known = 5 * len(events)
    for found in (
        lambda: [event.percent for event in events],
        lambda: [event.message for event in events],
        lambda: [event.nonce for event in events],
        lambda: [event.run_id for event in events],
    ):
        if known == keys:
            return True
        known += len(events) - found().count(None)
    return known == keys


def _check_id(name: str) -> None:
    if not name or len(name) > MAX_ID or not name.isprintable():
        raise SchemaMismatch("`id` must be 1 to 256 printable characters")


def _check_time(stamp: Time) -> None:
    if isinstance(stamp, str) and not (_RFC3339.fullmatch(stamp) or (stamp.isascii() and stamp.isdigit())):
        raise SchemaMismatch("`ts` must be RFC 3339 or epoch milliseconds")


def _mismatch(text: str) -> ParseError:
    missing = _MISSING.search(text)
    if missing:
        return MissingField(f"`{missing[1]}` is missing")
    return UnknownType(text) if text.endswith("`$.type`") else SchemaMismatch(text)


def _claims_to_be_event(line: bytes) -> bool:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and "v" in value and "type" in value


def _failure(error: ParseError, line: bytes) -> Failure:
    return Failure(error.code, error.message, line[:200].decode("utf-8", "backslashreplace"))


def encode(event: ToolEvent, *, prefix: bool = True) -> bytes:
    """One line, with the documented order of fields: v, type, ts, then the rest; what is not set is left out."""
    return (PREFIX if prefix else b"") + encode_line(event)


def encode_line(message: msgspec.Struct) -> bytes:
    fields = {"v": 1, "type": message.__struct_config__.tag}
    for name in message.__struct_fields__:
        value = getattr(message, name)
        if value is not None or name in ("args", "output"):
            fields[name] = value
    return _encoder.encode(fields) + b"\n"


def replace(event: ToolEvent, fields: dict[str, str]) -> ToolEvent:
    return msgspec.structs.replace(event, **fields)
