"""What every model looks like from inside: a conversation goes in, a stream of events comes out.

The order of a stream is: deltas of text and reasoning, then complete tool requests, `Usage` where it is known, and as the
last event exactly one `Stopped`. A stream without `Stopped` ends in an error (`domain/errors.py`, codes `model.…`).
`Retrying` voids what was streamed of this answer so far: the answer begins anew. Tool requests come only after the whole
answer has arrived, so what is asked for in a `ToolRequested` is never cut and never void.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

# Messages and what they are made of hold no references back (gc=False), so that the collector need not walk through every
# conversation of a server.
Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
StopReason: TypeAlias = Literal["end", "tool_calls", "length", "refused"]


class ToolSpec(msgspec.Struct, frozen=True):
    name: str
    description: str
    parameters: dict[str, Any]  # JSON Schema of the arguments


class Text(msgspec.Struct, frozen=True, gc=False, tag="text"):
    text: str


class Image(msgspec.Struct, frozen=True, gc=False, tag="image"):
    media_type: str
    data_base64: str


class ToolRequest(msgspec.Struct, frozen=True, gc=False):
    id: str
    name: str
    arguments: str  # JSON as the model wrote it, which may be broken: whoever runs it says so to the model


class Message(msgspec.Struct, frozen=True, gc=False):
    """One contribution. `tool_request_id` and `is_error` belong to the role `tool`."""

    role: Role
    content: tuple[Text | Image, ...] = ()
    reasoning: str = ""
    tool_requests: tuple[ToolRequest, ...] = ()
    tool_request_id: str = ""
    is_error: bool = False
    carry: str = ""  # the `carry` of the answer's `Stopped`, given back unread

    @property
    def text(self) -> str:
        if len(self.content) == 1 and isinstance(only := self.content[0], Text):  # nearly always
            return only.text
        return "".join(part.text for part in self.content if isinstance(part, Text))


class ModelRequest(msgspec.Struct, frozen=True):
    model: str
    messages: Sequence[Message]
    tools: tuple[ToolSpec, ...] = ()
    max_output_tokens: int | None = None
    response_schema: dict[str, Any] | None = None


class TextDelta(msgspec.Struct, frozen=True, gc=False, tag="text"):
    text: str


class ReasoningDelta(msgspec.Struct, frozen=True, gc=False, tag="reasoning"):
    text: str


class ToolRequested(msgspec.Struct, frozen=True, gc=False, tag="tool_request"):
    request: ToolRequest


class Usage(msgspec.Struct, frozen=True, gc=False, tag="usage"):
    """`input_tokens` counts cached ones too, `output_tokens` counts reasoning; `cost_usd` only where somebody said it."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float | None = None


class Retrying(msgspec.Struct, frozen=True, gc=False, tag="retrying"):
    attempt: int  # the number of the attempt that comes; the first was 1
    delay_s: float
    reason: str


class Stopped(msgspec.Struct, frozen=True, gc=False, tag="stopped"):
    reason: StopReason
    carry: str = (
        ""  # what the vendor wants to see again with this answer (signed reasoning); keep it in `Message.carry`
    )


ModelEvent: TypeAlias = TextDelta | ReasoningDelta | ToolRequested | Usage | Retrying | Stopped


class Provider(Protocol):
    """Closing the iterator of `stream` ends the exchange at once."""

    name: str

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]: ...

    async def models(self) -> tuple[str, ...]: ...

    async def aclose(self) -> None: ...
