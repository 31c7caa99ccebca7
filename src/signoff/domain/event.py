"""What happens during a run, as it happens: one union, many readers (terminal, ACP, stream-json, live view)."""

from typing import Literal

import msgspec

from signoff.domain.call import ToolCall, ToolResult
from signoff.domain.review import ApprovalRequestEvent, ReviewDecision
from signoff.domain.verdict import Verdict


class CallStarted(msgspec.Struct, frozen=True, tag="call_started"):
    call: ToolCall


class CallJudged(msgspec.Struct, frozen=True, tag="call_judged"):
    call_id: str
    verdict: Verdict


class ReviewAsked(msgspec.Struct, frozen=True, tag="review_asked"):
    request: ApprovalRequestEvent


class ReviewAnswered(msgspec.Struct, frozen=True, tag="review_answered"):
    call_id: str
    decision: ReviewDecision


class CallProgress(msgspec.Struct, frozen=True, tag="call_progress"):
    call_id: str
    text: str
    stream: str = "stdout"


class FileEdited(msgspec.Struct, frozen=True, tag="file_edited"):
    """A call changed a file: the whole text before and after; None where there was no file, or is none now."""

    call_id: str
    path: str  # absolute
    before: str | None
    after: str | None


class CallFinished(msgspec.Struct, frozen=True, tag="call_finished"):
    result: ToolResult


class Display(msgspec.Struct, frozen=True, tag="display"):
    """What the agent shows the person of its own accord."""

    content: str
    level: str = "info"
    title: str | None = None
    thought: str | None = None
    evidence: tuple[str, ...] = ()


class PlanEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    content: str
    status: Literal["pending", "in_progress", "completed"] = "pending"
    priority: Literal["high", "medium", "low"] = "medium"


class PlanUpdated(msgspec.Struct, frozen=True, tag="plan"):
    """What the agent means to do, all of it anew."""

    entries: tuple[PlanEntry, ...]


class Warned(msgspec.Struct, frozen=True, tag="warning"):
    message: str


class DeveloperMessage(msgspec.Struct, frozen=True, tag="developer_message"):
    """Something the agent has to be told that is no tool's result."""

    text: str


RunEvent = (
    CallStarted
    | CallJudged
    | ReviewAsked
    | ReviewAnswered
    | CallProgress
    | FileEdited
    | CallFinished
    | Display
    | PlanUpdated
    | Warned
    | DeveloperMessage
)
