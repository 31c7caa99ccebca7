"""Where each call of the child stands. A table of transitions; what is not in it does not happen."""

import enum
from collections import OrderedDict

import msgspec

from signoff.wire.tool_events import ToolEvent, ToolRequest, ToolResult

MOST_WAITING = 10_000
MOST_DECIDED = 10_000  # calls whose result has not come; a child that never reports must not cost memory


class State(enum.StrEnum):
    NEW = "New"
    PENDING_DECISION = "PendingDecision"
    ALLOWED = "Allowed"
    DENIED = "Denied"
    DENIED_TIMEOUT = "DeniedTimeout"
    FAILED_TRANSPORT = "FailedTransport"
    COMPLETED = "Completed"


class Step(enum.StrEnum):
    REQUEST = "request"
    ALLOW = "allow"
    DENY = "deny"
    TIMEOUT = "timeout"
    LOST = "lost"  # the decision cannot reach the child, or the child is gone
    RESULT = "result"


TRANSITIONS: dict[tuple[State, Step], State] = {
    (State.NEW, Step.REQUEST): State.PENDING_DECISION,
    (State.PENDING_DECISION, Step.ALLOW): State.ALLOWED,
    (State.PENDING_DECISION, Step.DENY): State.DENIED,
    (State.PENDING_DECISION, Step.TIMEOUT): State.DENIED_TIMEOUT,
    (State.PENDING_DECISION, Step.LOST): State.FAILED_TRANSPORT,
    (State.ALLOWED, Step.LOST): State.FAILED_TRANSPORT,
    (State.DENIED, Step.LOST): State.FAILED_TRANSPORT,
    (State.DENIED_TIMEOUT, Step.LOST): State.FAILED_TRANSPORT,
    (State.ALLOWED, Step.RESULT): State.COMPLETED,
    (State.DENIED, Step.RESULT): State.COMPLETED,
    (State.DENIED_TIMEOUT, Step.RESULT): State.COMPLETED,
}
_ASKED = TRANSITIONS[State.NEW, Step.REQUEST]
_ENDED = (State.COMPLETED, State.FAILED_TRANSPORT)


class Pending(msgspec.Struct):
    request: ToolRequest
    state: State
    asked_at: float  # monotonic seconds
    decided_at: float | None = None
    retries: int = 0  # how often the child repeated the request while it waited


class Table:
    """Calls that wait for a decision, and calls that wait for their result. One thread at a time."""

    def __init__(self, most_waiting: int = MOST_WAITING, most_decided: int = MOST_DECIDED) -> None:
        self._most_waiting = most_waiting
        self._most_decided = most_decided
        self.waiting: dict[str, Pending] = {}
        self.decided: OrderedDict[str, Pending] = OrderedDict()

    @property
    def full(self) -> bool:
        return len(self.waiting) >= self._most_waiting

    def open(self, request: ToolRequest, now: float) -> Pending | None:
        """A new request, or None for one whose id is known already (counted as a repeat)."""
        known = self.waiting.get(request.id) or self.decided.get(request.id)
        if known is not None:
            known.retries += 1
            return None
        entry = Pending(request, _ASKED, now)
        self.waiting[request.id] = entry
        return entry

    def advance(self, call_id: str, step: Step, now: float) -> Pending | None:
        """Take one step, or None where the table has no such step: unknown id, second decision, early result."""
        entry = self.waiting.get(call_id) or self.decided.get(call_id)
        target = None if entry is None else TRANSITIONS.get((entry.state, step))
        if entry is None or target is None:
            return None
        entry.state = target
        self.waiting.pop(call_id, None)
        if target in _ENDED:
            self.decided.pop(call_id, None)
        else:
            entry.decided_at = now
            self.decided[call_id] = entry
            if len(self.decided) > self._most_decided:
                self.decided.popitem(last=False)
        return entry

    def overdue(self, now: float, limit: float) -> list[str]:
        """Ids that have waited longer than `limit` seconds. Requests wait in the order they came."""
        late = []
        for call_id, entry in self.waiting.items():
            if now - entry.asked_at < limit:
                break
            late.append(call_id)
        return late


def answers_first(events: list[ToolEvent]) -> tuple[list[ToolEvent], list[ToolResult]]:
    """What to hear at once, and what can be written down after a child that waits has its answer: the results, unless the
    same id is asked about again."""
    if len(events) < 2 or type(events[-1]) is not ToolRequest:
        return events, []
    asked = {event.id for event in events if type(event) is ToolRequest}
    later = [event for event in events if type(event) is ToolResult and event.id not in asked]
    return [event for event in events if type(event) is not ToolResult or event.id in asked], later


class Tally(msgspec.Struct):
    requests: int = 0
    allowed: int = 0
    denied: int = 0
    timed_out: int = 0
    duplicates: int = 0
    mismatches: int = 0
    parse_errors: int = 0
    results: int = 0
    failed_results: int = 0
    acknowledged: bool = False
    waited: int = 0  # requests that said they wait: proof that the child is held

    @property
    def spoke(self) -> bool:
        """The child announced something; before that nothing is lost with it: mostly it has just ended."""
        return bool(self.requests or self.acknowledged)
