"""Put one answer of the model together from its stream, showing it as it comes. Pure but for what it shows."""

from collections.abc import Callable
from typing import assert_never

import msgspec

from signoff.agent.event import AgentEvent
from signoff.agent.text_calls import may_become_a_call, read_call
from signoff.domain.errors import ModelError
from signoff.providers.provider import (
    Message,
    ModelEvent,
    ReasoningDelta,
    Retrying,
    Stopped,
    StopReason,
    Text,
    TextDelta,
    ToolRequest,
    ToolRequested,
    Usage,
)


class Answer(msgspec.Struct, frozen=True):
    message: Message
    stop: StopReason
    usage: Usage
    text: str  # of the message


class Listening(msgspec.Struct):
    """`tools` are those a text can call. Text that may be such a call is held back until it is known not to be one."""

    _show: Callable[[AgentEvent], object]
    _tools: frozenset[str]
    _text: list[str] = []
    _reasoning: list[str] = []
    _requests: list[ToolRequest] = []
    _usage: Usage = Usage(0, 0)
    _stopped: Stopped | None = None
    _held: str | None = ""  # None: it is plain text and goes straight out

    def hear(self, event: ModelEvent) -> None:
        if isinstance(event, TextDelta):  # for every word of a model: a match would take several times as long
            self._text.append(event.text)
            if self._held is None:
                self._show(event)
            else:
                self._hold(self._held + event.text)
        elif isinstance(event, Usage):
            self._usage = event
        elif isinstance(event, Stopped):
            self._stopped = event
        elif isinstance(event, ReasoningDelta):
            self._reasoning.append(event.text)
            self._show(event)
        elif isinstance(event, ToolRequested):
            self._requests.append(event.request)
        elif isinstance(event, Retrying):
            self._text, self._reasoning, self._requests = [], [], []
            self._usage, self._stopped, self._held = Usage(0, 0), None, ""
            self._show(event)
        else:
            assert_never(event)

    def answer(self) -> Answer:
        """The whole answer. A call written as text becomes a request like any other."""
        if self._stopped is None:
            raise ModelError("the model's answer ended without an end")
        text = "".join(self._text)
        written = None
        if self._held is not None:  # what was shown is no call
            written = None if self._requests else read_call(text, self._tools)
            if written is None:
                self._release(self._held)
        requests, carry = tuple(self._requests), self._stopped.carry
        if written is not None:
            text, requests, carry = (
                "",
                (written,),
                "",
            )  # what there is to carry belongs to the text, which is now a call
        parts, reasoning = (Text(text),) if text else (), "".join(self._reasoning)
        message = Message("assistant", parts, reasoning=reasoning, tool_requests=requests, carry=carry)
        return Answer(message, self._stopped.reason, self._usage, text)

    def cut_short(self) -> Message | None:
        """What was said before the answer was cancelled; its requests are void."""
        self._release(self._held)
        text = "".join(self._text)
        return Message("assistant", (Text(text),)) if text else None

    def _hold(self, text: str) -> None:
        """Until it is known not to be a call."""
        if not text or text.isspace() or (self._tools and may_become_a_call(text)):
            self._held = text
        else:
            self._release(text)

    def _release(self, text: str | None) -> None:
        self._held = None
        if text:
            self._show(TextDelta(text))
