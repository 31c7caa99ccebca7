"""What a person is asked, and what they can say. Field names and words are those of the approval events on the wire."""

import enum
from typing import Literal

import msgspec


class Scope(enum.StrEnum):
    """How far a yes reaches."""

    ONCE = "once"
    SESSION = "session"
    PROJECT = "project"
    USER = "user"


class Approved(msgspec.Struct, frozen=True, tag="approved"):
    """Yes, this once."""


class ApprovedForSession(msgspec.Struct, frozen=True, tag="approved_for_session"):
    """Yes, and do not ask again in this session for the same approval keys."""


class ToolRule(msgspec.Struct, frozen=True, omit_defaults=True):
    """Allow calls of one tool that is no command: everywhere, or where it touches these places only."""

    tool: str
    action: str | None = None
    paths: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


class ApprovedExecpolicyAmendment(msgspec.Struct, frozen=True, tag="approved_execpolicy_amendment", omit_defaults=True):
    """Yes, and save this prefix as a rule. What the person sends back counts, not what was proposed.

    `scope`, `expires_in_ms` and `rule` are ours; left at their defaults they do not appear on the wire. `rule` is saved
    instead for a call that is no command; it has no prefix.
    """

    proposed_execpolicy_amendment: tuple[str, ...] = ()
    scope: Scope = Scope.USER
    expires_in_ms: int | None = None
    rule: ToolRule | None = None


class Denied(msgspec.Struct, frozen=True, tag="denied"):
    """No; the agent goes on. `rejection` is the person's reason, for the agent."""

    rejection: str | None = None


class Abort(msgspec.Struct, frozen=True, tag="abort"):
    """No, and stop the whole turn."""


class TimedOut(msgspec.Struct, frozen=True, tag="timed_out"):
    """Nobody answered in time: as good as a no."""


ReviewDecision = Approved | ApprovedForSession | ApprovedExecpolicyAmendment | Denied | Abort | TimedOut


class ReadCommand(msgspec.Struct, frozen=True, tag="read"):
    cmd: str
    name: str
    path: str


class ListCommand(msgspec.Struct, frozen=True, tag="list_files", omit_defaults=True):
    cmd: str
    path: str | None = None


class SearchCommand(msgspec.Struct, frozen=True, tag="search", omit_defaults=True):
    cmd: str
    query: str | None = None
    path: str | None = None


class UnknownCommand(msgspec.Struct, frozen=True, tag="unknown"):
    cmd: str


ParsedCommand = ReadCommand | ListCommand | SearchCommand | UnknownCommand
"""What a command looks like to a reader. For display only; nothing is decided by it."""


class AddFile(msgspec.Struct, frozen=True, tag="add"):
    content: str


class DeleteFile(msgspec.Struct, frozen=True, tag="delete"):
    content: str


class UpdateFile(msgspec.Struct, frozen=True, tag="update"):
    unified_diff: str
    move_path: str | None = None


FileChange = AddFile | DeleteFile | UpdateFile


class ExecApprovalRequestEvent(msgspec.Struct, frozen=True, tag="exec_approval_request", omit_defaults=True):
    call_id: str
    turn_id: str
    command: tuple[str, ...]
    cwd: str
    parsed_cmd: tuple[ParsedCommand, ...]
    reason: str | None = None
    proposed_execpolicy_amendment: tuple[str, ...] | None = None


class ApplyPatchApprovalRequestEvent(
    msgspec.Struct, frozen=True, tag="apply_patch_approval_request", omit_defaults=True
):
    call_id: str
    turn_id: str
    changes: dict[str, FileChange]
    reason: str | None = None
    grant_root: str | None = None


class ToolApprovalRequestEvent(msgspec.Struct, frozen=True, tag="tool_approval_request", omit_defaults=True):
    """Any other call: an MCP tool, a foreign agent's request, a network host."""

    call_id: str
    turn_id: str
    tool: str
    action: Literal["read", "write", "net", "exec"]
    args: dict[str, object]
    reason: str | None = None
    rationale: str | None = None


ApprovalRequestEvent = ExecApprovalRequestEvent | ApplyPatchApprovalRequestEvent | ToolApprovalRequestEvent
