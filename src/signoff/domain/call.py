"""A tool call and its result: one uniform shape for every tool."""

from typing import Any

import msgspec


class ToolCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request to run a tool. `timestamp` is in milliseconds since the epoch."""

    tool_call_id: str
    name: str
    version: str
    args: dict[str, Any]
    trace_id: str
    timestamp: int
    requested_permissions: tuple[str, ...] = ()


class Failure(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    code: str
    message: str
    details: dict[str, Any] | None = None


class Artifacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the record keeps of a call's effects."""

    files_changed: tuple[str, ...] = ()
    commands_run: tuple[str, ...] = ()
    exit_status: int | None = None  # of the command, where one ran to its end


class ToolResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What came of a call. `payload` is for the model, `display` for the person, `artifacts` for the record."""

    tool_call_id: str
    ok: bool
    payload: dict[str, Any] | None
    error: Failure | None
    duration_ms: int
    artifacts: Artifacts = Artifacts()
    display: str | None = None
