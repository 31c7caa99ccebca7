"""What another agent asks permission for, as a question to our person: its words, its differences, its input. Pure."""

import difflib
from typing import Any

from signoff.approvals.request import ReviewRequest
from signoff.domain.intent import Action
from signoff.domain.review import (
    AddFile,
    ApplyPatchApprovalRequestEvent,
    ApprovalRequestEvent,
    FileChange,
    ToolApprovalRequestEvent,
    UpdateFile,
)
from signoff.wire import acp_schema as schema


def requested(
    request: schema.RequestPermissionRequest, call_id: str, tool: str, action: Action, args: dict[str, Any]
) -> ReviewRequest:
    """Everything in it is the agent's claim. Files are shown as their differences, and the rest as it came."""
    content = request.toolCall.content if isinstance(request.toolCall.content, list) else []
    changes = _changes([each for each in content if isinstance(each, schema.Diff)])
    said = " · ".join(_said(request.toolCall.title, content, args))
    event: ApprovalRequestEvent
    if changes:
        event = ApplyPatchApprovalRequestEvent(call_id, request.sessionId, changes, said or None)
    else:
        event = ToolApprovalRequestEvent(call_id, request.sessionId, tool, action.value, args, said or None)
    return ReviewRequest(event=event, tool=tool, action=action, claimed=True)


def _said(title: object, content: list[schema.ToolCallContent], args: dict[str, Any]) -> list[str]:
    """The title, unless it only repeats the input, and every line of text beside it."""
    words = [str(title)] if title and not any(_repeats(str(title), value) for value in args.values()) else []
    blocks = (each.content for each in content if isinstance(each, schema.Content))
    texts = (block.text for block in blocks if isinstance(block, schema.TextContent))
    return [*words, *(line for text in texts for line in text.split("\n") if line.strip())]


def _repeats(title: str, value: object) -> bool:
    return title in (value if isinstance(value, list | tuple) else (value,))


def _changes(differing: list[schema.Diff]) -> dict[str, FileChange]:
    """A file may come in several stretches."""
    old: dict[str, list[str]] = {}
    new: dict[str, list[str]] = {}
    for diff in differing:
        old.setdefault(diff.path, []).append(diff.oldText if isinstance(diff.oldText, str) else "")
        new.setdefault(diff.path, []).append(diff.newText)
    return {path: _change(old[path], new[path]) for path in old}


def _change(old: list[str], new: list[str]) -> FileChange:
    if not any(old):
        return AddFile("".join(new))
    stretches = (
        "\n".join([*difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="")][2:])
        for before, after in zip(old, new, strict=True)
    )
    return UpdateFile("\n".join(stretches))
