"""What a person is shown holds no secrets; what they decide about does not change."""

from typing import Any, Protocol, assert_never

import msgspec

from signoff.approvals.request import ReviewRequest
from signoff.approvals.review import Reviewer
from signoff.domain.review import (
    AddFile,
    ApplyPatchApprovalRequestEvent,
    ApprovalRequestEvent,
    DeleteFile,
    ExecApprovalRequestEvent,
    FileChange,
    ReviewDecision,
    ToolApprovalRequestEvent,
    UpdateFile,
)


class Masks(Protocol):
    def text(self, text: str) -> str: ...
    def value(self, value: Any) -> Any: ...


class Masked:
    """A reviewer that gets every question with its secrets masked."""

    def __init__(self, reviewer: Reviewer, masks: Masks) -> None:
        self._reviewer = reviewer
        self._masks = masks
        self.name = reviewer.name
        self.is_person = reviewer.is_person

    async def review(self, request: ReviewRequest) -> ReviewDecision:
        return await self._reviewer.review(masked(request, self._masks))


def masked(request: ReviewRequest, masks: Masks) -> ReviewRequest:
    offers = tuple(msgspec.structs.replace(offer, rule=masks.text(offer.rule)) for offer in request.offers)
    return msgspec.structs.replace(request, event=_event(request.event, masks), offers=offers)


def _event(event: ApprovalRequestEvent, masks: Masks) -> ApprovalRequestEvent:
    reason = None if event.reason is None else masks.text(event.reason)
    match event:
        case ExecApprovalRequestEvent():
            parsed = tuple(
                msgspec.convert(masks.value(msgspec.to_builtins(each)), type(each)) for each in event.parsed_cmd
            )
            command = tuple(masks.value(list(event.command)))
            return msgspec.structs.replace(event, command=command, parsed_cmd=parsed, reason=reason)
        case ApplyPatchApprovalRequestEvent():
            changes = {path: _change(change, masks) for path, change in event.changes.items()}
            return msgspec.structs.replace(event, changes=changes, reason=reason)
        case ToolApprovalRequestEvent():
            rationale = None if event.rationale is None else masks.text(event.rationale)
            return msgspec.structs.replace(event, args=masks.value(event.args), reason=reason, rationale=rationale)
        case _:
            assert_never(event)


def _change(change: FileChange, masks: Masks) -> FileChange:
    match change:
        case AddFile(content=content) | DeleteFile(content=content):
            return msgspec.structs.replace(change, content=masks.text(content))
        case UpdateFile(unified_diff=diff):
            return msgspec.structs.replace(change, unified_diff=masks.text(diff))
        case _:
            assert_never(change)
