"""What can be seen of an agent at work, as it happens: one union for the terminal, stream-json and every editor.

Between `TurnStarted` and `TurnEnded` come the model's own deltas, a `CallAnnounced` for each call, what the gate says of it
(`CallStarted`, `CallJudged`, perhaps a review, `CallProgress`, always one `CallFinished`), and word of plan and usage.
"""

import enum

import msgspec

from signoff.domain.call import Failure, ToolCall
from signoff.domain.event import RunEvent
from signoff.domain.review import FileChange
from signoff.providers.provider import ReasoningDelta, Retrying, TextDelta, Usage


class Kind(enum.StrEnum):
    """What a call does, in the words editors have for it."""

    READ = "read"
    EDIT = "edit"
    DELETE = "delete"
    MOVE = "move"
    SEARCH = "search"
    EXECUTE = "execute"
    THINK = "think"
    FETCH = "fetch"
    OTHER = "other"


class Location(msgspec.Struct, frozen=True, omit_defaults=True):
    path: str
    line: int | None = None


class Look(msgspec.Struct, frozen=True):
    """A call as a person would want to see it before it runs. `changes` are as written: what the files will show."""

    kind: Kind = Kind.OTHER
    title: str = ""
    locations: tuple[Location, ...] = ()
    changes: dict[str, FileChange] = {}
    read_only: bool = False


class Reason(enum.StrEnum):
    """Why a turn ended."""

    END = "end"
    CANCELLED = "cancelled"
    ABORTED = "aborted"  # a person, or the rule for nobody being there, said no and stop
    BUDGET = "budget"
    LOOP = "loop"
    LENGTH = "length"  # the model's answer was cut at its limit
    REFUSED = "refused"  # by the model
    ERROR = "error"


class Spent(msgspec.Struct, frozen=True):
    """`cost_usd` is None until a provider has said what something cost."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float | None = None

    def plus(self, usage: Usage) -> "Spent":
        cost = self.cost_usd if usage.cost_usd is None else (self.cost_usd or 0.0) + usage.cost_usd
        return Spent(
            requests=self.requests + 1,
            input_tokens=self.input_tokens + usage.input_tokens,
            output_tokens=self.output_tokens + usage.output_tokens,
            cached_tokens=self.cached_tokens + usage.cached_tokens,
            reasoning_tokens=self.reasoning_tokens + usage.reasoning_tokens,
            cost_usd=cost,
        )

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


class Denial(msgspec.Struct, frozen=True):
    """A call that was not allowed to happen. `code` says by whom: policy.denied, review.denied, review.timeout …"""

    call_id: str
    tool: str
    title: str
    code: str
    rule_id: str | None
    reason: str


class TurnStarted(msgspec.Struct, frozen=True, tag="turn_started"):
    turn_id: str
    text: str


class CallAnnounced(msgspec.Struct, frozen=True, tag="call_announced"):
    call: ToolCall
    look: Look


class MessageDone(msgspec.Struct, frozen=True, tag="message"):
    """All the text of one answer of the model."""

    text: str


class UsageNoted(msgspec.Struct, frozen=True, tag="usage_noted"):
    """After each answer: what it took, what the session took so far, and how full the context is."""

    last: Usage
    total: Spent
    context_tokens: int
    context_limit: int


class Compacted(msgspec.Struct, frozen=True, tag="compacted"):
    before_tokens: int
    after_tokens: int


class TurnEnd(msgspec.Struct, frozen=True):
    """How a turn ended. `text` is the last answer; `error` is set where the reason is an error."""

    reason: Reason
    text: str = ""
    spent: Spent = Spent()
    calls: int = 0
    denials: tuple[Denial, ...] = ()
    error: Failure | None = None


class TurnEnded(msgspec.Struct, frozen=True, tag="turn_ended"):
    turn_id: str
    end: TurnEnd


AgentEvent = (
    RunEvent
    | TurnStarted
    | TextDelta
    | ReasoningDelta
    | Retrying
    | CallAnnounced
    | MessageDone
    | UsageNoted
    | Compacted
    | TurnEnded
)
