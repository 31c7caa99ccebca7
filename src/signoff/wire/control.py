"""Control messages: what the supervisor says to a child, one JSON object a line on the child's stdin."""

from typing import Any, Literal

import msgspec

from signoff.domain.errors import InvalidJson, SchemaMismatch, UnknownType
from signoff.wire import strict_json
from signoff.wire.tool_events import Time, encode_line


class PolicyDecision(msgspec.Struct, frozen=True, tag_field="type", tag="policy.decision"):
    v: Literal[1]
    ts: Time
    run_id: str | None
    id: str
    decision: Literal["allow", "deny", "ask"]
    reason: str
    rule_id: str | None = None
    constraints: dict[str, Any] | None = None
    expires_in_ms: int | None = None
    trace: dict[str, Any] | None = None
    nonce: str | None = None


class PolicyPing(msgspec.Struct, frozen=True, tag_field="type", tag="policy.ping"):
    v: Literal[1]
    ts: Time
    run_id: str | None
    id: str
    capabilities: tuple[str, ...] = ()
    timeout_ms: int | None = None
    trace: dict[str, Any] | None = None
    nonce: str | None = None


class PolicyAbort(msgspec.Struct, frozen=True, tag_field="type", tag="policy.abort"):
    v: Literal[1]
    ts: Time
    run_id: str | None
    id: str
    reason: str
    code: Literal["user_cancel", "policy_violation", "fatal_error"] | None = None
    trace: dict[str, Any] | None = None
    nonce: str | None = None


ControlMessage = PolicyDecision | PolicyPing | PolicyAbort

_TYPES: dict[str, type[ControlMessage]] = {
    "policy.decision": PolicyDecision,
    "policy.ping": PolicyPing,
    "policy.abort": PolicyAbort,
}


def encode(message: ControlMessage) -> bytes:
    """One line; fields in the documented order, what is not set left out."""
    return encode_line(message)


def decode(line: bytes) -> ControlMessage:
    """Read one line, or raise a ParseError; the reader drops such a line and goes on waiting."""
    fields = strict_json.loads(line)
    if not isinstance(fields, dict):
        raise InvalidJson("a control message is a JSON object")
    kind = fields.get("type")
    if kind not in _TYPES:
        raise UnknownType(f"no such control message: {kind!r}")
    fields.setdefault("run_id", None)
    fields.setdefault("reason", "")
    fields.setdefault("ts", 0)
    try:
        return msgspec.convert(fields, _TYPES[kind])
    except msgspec.ValidationError as error:
        raise SchemaMismatch(str(error)) from error
