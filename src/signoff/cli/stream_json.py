"""What `--output-format stream-json` writes: one JSON object a line, each with v, type, ts, session_id and seq; the last is
`result`. docs/run.schema.json is made from these types, and a test compares them."""

import datetime
from collections.abc import Callable
from typing import Any

import msgspec

from signoff.agent.event import (
    AgentEvent,
    CallAnnounced,
    Compacted,
    Denial,
    Location,
    MessageDone,
    Spent,
    TurnEnded,
    TurnStarted,
    UsageNoted,
)
from signoff.domain.call import Failure
from signoff.domain.event import (
    CallFinished,
    CallJudged,
    CallProgress,
    Display,
    PlanEntry,
    PlanUpdated,
    ReviewAnswered,
    ReviewAsked,
    Warned,
)
from signoff.providers.provider import ReasoningDelta, Retrying, TextDelta

VERSION = 1


class Line(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    v: int = VERSION
    ts: str = ""  # RFC 3339
    session_id: str = ""
    seq: int = 0  # from 1, without gaps


class SessionLine(Line, frozen=True, kw_only=True, tag="session"):
    model: str
    mode: str
    cwd: str
    run_id: str
    resumed: bool


class TurnLine(Line, frozen=True, kw_only=True, tag="turn"):
    turn_id: str
    prompt: str


class TextLine(Line, frozen=True, kw_only=True, tag="text"):
    text: str


class ReasoningLine(Line, frozen=True, kw_only=True, tag="reasoning"):
    text: str


class MessageLine(Line, frozen=True, kw_only=True, tag="message"):
    """A whole answer, after its `text` pieces."""

    text: str


class StartedLine(Line, frozen=True, kw_only=True, tag="tool.started"):
    call_id: str
    tool: str
    kind: str
    title: str
    args: dict[str, Any]
    locations: tuple[Location, ...]


class JudgedLine(Line, frozen=True, kw_only=True, tag="tool.judged"):
    call_id: str
    decision: str
    rule_id: str | None


class AskedLine(Line, frozen=True, kw_only=True, tag="approval.asked"):
    call_id: str
    reason: str | None


class AnsweredLine(Line, frozen=True, kw_only=True, tag="approval.answered"):
    call_id: str
    decision: str


class ProgressLine(Line, frozen=True, kw_only=True, tag="tool.progress"):
    call_id: str
    stream: str
    text: str


class FinishedLine(Line, frozen=True, kw_only=True, tag="tool.finished"):
    call_id: str
    ok: bool
    duration_ms: int
    error: Failure | None
    payload: dict[str, Any] | None
    files_changed: tuple[str, ...]


class PlanLine(Line, frozen=True, kw_only=True, tag="plan"):
    entries: tuple[PlanEntry, ...]


class DisplayLine(Line, frozen=True, kw_only=True, tag="display"):
    content: str
    level: str
    title: str | None
    thought: str | None
    evidence: tuple[str, ...]


class UsageLine(Line, frozen=True, kw_only=True, tag="usage"):
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost_usd: float | None
    context_tokens: int
    context_limit: int


class WarningLine(Line, frozen=True, kw_only=True, tag="warning"):
    message: str


class ResultLine(Line, frozen=True, kw_only=True, tag="result"):
    """How it ended. `status` is end, cancelled, aborted, budget, loop, length, refused or error."""

    status: str
    exit_code: int
    text: str
    usage: Spent
    cost_usd: float | None
    calls: int
    denials: tuple[Denial, ...]
    error: Failure | None
    run_id: str
    duration_ms: int


AnyLine = (
    SessionLine
    | TurnLine
    | TextLine
    | ReasoningLine
    | MessageLine
    | StartedLine
    | JudgedLine
    | AskedLine
    | AnsweredLine
    | ProgressLine
    | FinishedLine
    | PlanLine
    | DisplayLine
    | UsageLine
    | WarningLine
    | ResultLine
)


class Stream:
    """Numbers lines and stamps them. Give it as the `show` of an agent."""

    def __init__(self, session_id: str, write: Callable[[bytes], object]) -> None:
        self._session_id = session_id
        self._write = write
        self._seq = 0

    def __call__(self, event: AgentEvent) -> None:
        line = line_of(event)
        if line is not None:
            self.put(line)

    def put(self, line: AnyLine) -> None:
        self._seq += 1
        stamped = stamp(line, self._session_id, self._seq)
        self._write(msgspec.json.encode(stamped) + b"\n")


def stamp(line: AnyLine, session_id: str, seq: int) -> AnyLine:
    now = datetime.datetime.now().astimezone().isoformat(timespec="milliseconds")
    return msgspec.structs.replace(line, ts=now, session_id=session_id, seq=seq)


def line_of(event: AgentEvent) -> AnyLine | None:
    """None for what is said elsewhere or is nobody's business outside."""
    match event:
        case TurnStarted(turn_id=turn_id, text=text):
            return TurnLine(turn_id=turn_id, prompt=text)
        case TextDelta(text=text):
            return TextLine(text=text)
        case ReasoningDelta(text=text):
            return ReasoningLine(text=text)
        case MessageDone(text=text):
            return MessageLine(text=text)
        case PlanUpdated(entries=entries):
            return PlanLine(entries=entries)
        case Display():
            return DisplayLine(**msgspec.structs.asdict(event))
        case Warned(message=message):
            return WarningLine(message=message)
        case Retrying(attempt=attempt, delay_s=delay, reason=reason):
            return WarningLine(message=f"attempt {attempt} in {delay:g} s: {reason}")
        case Compacted(before_tokens=before, after_tokens=after):
            return WarningLine(message=f"the context was condensed from about {before} to {after} tokens")
        case UsageNoted(last=last):
            return UsageLine(
                input_tokens=last.input_tokens,
                output_tokens=last.output_tokens,
                cached_tokens=last.cached_tokens,
                cost_usd=last.cost_usd,
                context_tokens=event.context_tokens,
                context_limit=event.context_limit,
            )
        case TurnEnded():
            return None  # the result says it
        case _:
            return _line_of_call(event)


def _line_of_call(event: AgentEvent) -> AnyLine | None:
    match event:
        case CallAnnounced(call=call, look=look):
            return StartedLine(
                call_id=call.tool_call_id,
                tool=call.name,
                kind=look.kind,
                title=look.title,
                args=call.args,
                locations=look.locations,
            )
        case CallJudged(call_id=call_id, verdict=verdict):
            rule = verdict.winner.rule_id if verdict.winner else None
            return JudgedLine(call_id=call_id, decision=verdict.decision.word, rule_id=rule)
        case ReviewAsked(request=request):
            return AskedLine(call_id=request.call_id, reason=request.reason)
        case ReviewAnswered(call_id=call_id, decision=decision):
            return AnsweredLine(call_id=call_id, decision=str(type(decision).__struct_config__.tag))
        case CallProgress(call_id=call_id, text=text, stream=stream):
            return ProgressLine(call_id=call_id, stream=stream, text=text)
        case CallFinished(result=result):
            return FinishedLine(
                call_id=result.tool_call_id,
                ok=result.ok,
                duration_ms=result.duration_ms,
                error=result.error,
                payload=result.payload,
                files_changed=result.artifacts.files_changed,
            )
        case _:
            return None


def schema() -> dict[str, Any]:
    """The JSON Schema of one line."""
    (one,), definitions = msgspec.json.schema_components([AnyLine])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **one, "$defs": definitions}
