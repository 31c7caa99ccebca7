"""What an agent does, as a client is told of it. Pure: events go in, updates come out, the time is handed in.

Output of a running command is told as its last lines, at most a few times a second: an update replaces the one before, so
sending all of it each time would cost the square of it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec
from msgspec import UNSET

from signoff.acp import blocks
from signoff.agent.event import CallAnnounced, Compacted, Look, MessageDone, TurnStarted, UsageNoted
from signoff.domain.call import ToolCall
from signoff.domain.event import CallFinished, CallProgress, FileEdited, PlanEntry, PlanUpdated, Warned
from signoff.domain.visible import visible
from signoff.providers.provider import ReasoningDelta, Retrying, TextDelta
from signoff.wire import acp_schema as schema

LONGEST_TITLE = 240
LONGEST_TEXT = 32_000
LONGEST_VALUE = 16_000
LONGEST_DIFF = 512_000
TAIL = 4_000
PROGRESS_S = 0.2


class Masks(Protocol):
    def text(self, text: str) -> str: ...
    def value(self, value: Any) -> Any: ...


class Offered(msgspec.Struct, frozen=True):
    """Which updates the client said it understands."""

    notices: bool = False
    compaction: bool = False


def offered(client: schema.ClientCapabilities | None) -> Offered:
    session = client.session if client else None
    if not session:
        return Offered()
    return Offered(
        notices=isinstance(session.notices, msgspec.Struct),
        compaction=isinstance(session.compaction, msgspec.Struct),
    )


class Narration:
    """Of one session, for whoever listens to it now. Keeps the calls that run, for questions about them."""

    def __init__(self, cwd: str, masks: Masks, clock: Callable[[], float]) -> None:
        self._cwd = cwd
        self._masks = masks
        self._clock = clock
        self.offered = Offered()
        self._calls: dict[str, schema.ToolCall] = {}
        self._told: dict[str, list[schema.ToolCallContent]] = {}  # diffs and terminals of a running call
        self._tails: dict[str, tuple[float, str]] = {}
        self._prefix = ""
        self._answer = 0
        self._message = ""  # both together: the name of the answer that comes

    def _begin(self, event: TurnStarted) -> schema.SessionUpdate | None:
        self._prefix, self._answer = event.turn_id, 1
        self._message = f"{event.turn_id}-1"
        return None

    def call(self, call_id: str) -> schema.ToolCall | None:
        """A running call as it is, secrets and all: for recognising it, not for showing."""
        return self._calls.get(call_id)

    def _text(self, event: TextDelta) -> schema.SessionUpdate | None:
        return schema.AgentMessageChunk(content=schema.TextContent(text=event.text), messageId=self._message)

    def _thought(self, event: ReasoningDelta) -> schema.SessionUpdate | None:
        return schema.AgentThoughtChunk(content=blocks.text(event.text), messageId=f"{self._message}-thought")

    def _next_answer(self, _: MessageDone | Retrying) -> schema.SessionUpdate | None:
        """Where the model tries again, what was streamed of the answer so far is void; the next one is another."""
        self._answer += 1
        self._message = f"{self._prefix}-{self._answer}"
        return None

    def _edited(self, event: FileEdited) -> schema.SessionUpdate | None:
        self._told.setdefault(event.call_id, []).extend(_diff(event))
        return None

    def _usage(self, event: UsageNoted) -> schema.SessionUpdate | None:
        spent = event.total.cost_usd
        cost = UNSET if spent is None else schema.Cost(amount=spent, currency="USD")
        return schema.UsageUpdate(used=event.context_tokens, size=event.context_limit, cost=cost)

    def _warned(self, event: Warned) -> schema.SessionUpdate | None:
        if not self.offered.notices:
            return None
        return schema.Notice(severity="warning", title=visible(self._masks.text(event.message)))

    def _compacted(self, event: Compacted) -> schema.SessionUpdate | None:
        if not self.offered.compaction:
            return None
        says = f"The conversation was condensed from {event.before_tokens} to {event.after_tokens} tokens."
        told, name = schema.TextContent(text=says), f"{self._message}-condensed"
        return schema.CompactionUpdate(compactionId=name, status="completed", summary=[told])

    def terminal(self, call_id: str, terminal_id: str) -> schema.SessionUpdate:
        """The call runs in a terminal of the client's."""
        shown = self._told.setdefault(call_id, [])
        shown.append(schema.Terminal(terminalId=terminal_id))
        return schema.ToolCallProgress(toolCallId=call_id, content=list(shown))

    def _announced(self, event: CallAnnounced) -> schema.SessionUpdate | None:
        call = event.call
        exact = self._calls[call.tool_call_id] = described(call, event.look, self._cwd)
        title, args = self._masks.text(exact.title), bounded(self._masks.value(call.args))
        return msgspec.structs.replace(exact, title=title, rawInput=args)

    def _progress(self, event: CallProgress) -> schema.SessionUpdate | None:
        call_id, text = event.call_id, event.text
        due, tail = self._tails.get(call_id, (0.0, ""))
        tail, now = (tail + text)[-TAIL:], self._clock()
        if now < due or call_id not in self._calls:
            self._tails[call_id] = (due, tail)
            return None
        self._tails[call_id] = (now + PROGRESS_S, tail)
        content = [*self._told.get(call_id, ()), schema.Content(content=blocks.text(self._masks.text(tail)))]
        return schema.ToolCallProgress(toolCallId=call_id, content=content)

    def _finished(self, event: CallFinished) -> schema.SessionUpdate | None:
        result = event.result
        call = self._calls.pop(result.tool_call_id, None)
        told = self._told.pop(result.tool_call_id, [])
        self._tails.pop(result.tool_call_id, None)
        if call is None:  # a question of the sandbox about a host, not a call anybody was told of
            return None
        output = result.payload if result.error is None else {"error": msgspec.to_builtins(result.error)}
        words = result.display if result.error is None else result.error.message
        if words and not told:
            told = [schema.Content(content=blocks.text(cut(self._masks.text(words), LONGEST_TEXT)))]
        return schema.ToolCallProgress(
            toolCallId=result.tool_call_id,
            status="completed" if result.ok else "failed",
            content=told or UNSET,
            rawOutput=UNSET if output is None else bounded(self._masks.value(output)),
        )


TELLING: Mapping[type, Callable[[Narration, Any], schema.SessionUpdate | None]] = {
    TurnStarted: Narration._begin,
    TextDelta: Narration._text,
    ReasoningDelta: Narration._thought,
    MessageDone: Narration._next_answer,
    Retrying: Narration._next_answer,
    CallAnnounced: Narration._announced,
    CallProgress: Narration._progress,
    FileEdited: Narration._edited,
    CallFinished: Narration._finished,
    PlanUpdated: lambda _, event: plan(event.entries),
    UsageNoted: Narration._usage,
    Warned: Narration._warned,
    Compacted: Narration._compacted,
}  # of all other events a client is told nothing


def described(call: ToolCall, look: Look, cwd: str) -> schema.ToolCall:
    """The call as it is announced: what it says of itself, the whole workspace where it says nothing of a place."""
    named = [_location(each.path, each.line) for each in look.locations]
    return schema.ToolCall(
        toolCallId=call.tool_call_id,
        title=cut(visible(" ⏎ ".join((look.title or call.name).splitlines())), LONGEST_TITLE),
        name=call.name,
        kind=look.kind.value,
        status="in_progress",
        locations=named or [_location(cwd, None)],
        rawInput=call.args,
    )


def plan(entries: Sequence[PlanEntry]) -> schema.Plan:
    return schema.Plan(
        entries=[
            schema.PlanEntry(content=entry.content, priority=entry.priority, status=entry.status) for entry in entries
        ]
    )


def commands(known: Mapping[str, str]) -> schema.AvailableCommandsUpdate:
    return schema.AvailableCommandsUpdate(
        availableCommands=[schema.AvailableCommand(name=name, description=words) for name, words in known.items()]
    )


def cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def bounded(value: Any) -> Any:
    """The same value with no text in it longer than a client would want to hold."""
    match value:
        case str():
            return cut(value, LONGEST_VALUE)
        case dict():
            return {key: bounded(item) for key, item in value.items()}
        case list() | tuple():
            return [bounded(item) for item in value]
        case _:
            return value


def _location(path: str, line: int | None) -> schema.ToolCallLocation:
    return schema.ToolCallLocation(path=path, line=UNSET if line is None else line)


def _diff(edited: FileEdited) -> list[schema.ToolCallContent]:
    before, after = (None if text is None else printable(text) for text in (edited.before, edited.after))
    if len(before or "") + len(after or "") > LONGEST_DIFF:
        return [schema.Content(content=blocks.text(f"{edited.path} was changed; it is too large to be shown here"))]
    return [schema.Diff(path=edited.path, oldText=UNSET if before is None else before, newText=after or "")]


def printable(text: str) -> str:
    """Bytes that were no text are written out: a message is UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
