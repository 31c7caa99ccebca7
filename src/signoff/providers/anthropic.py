"""The Messages API of Anthropic. What is the same from turn to turn is marked, so that it is read from the cache."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from signoff.domain.late import late
from signoff.providers import dialect
from signoff.providers.dialect import string, table
from signoff.providers.provider import (
    Image,
    Message,
    ModelEvent,
    ModelRequest,
    ReasoningDelta,
    StopReason,
    Text,
    TextDelta,
    ToolRequest,
    Usage,
)

if TYPE_CHECKING:
    from signoff.providers import failures
else:
    failures = late("signoff.providers.failures")

CARRY = "anthropic"
MAX_OUTPUT_TOKENS = 16_384  # the API wants a number
REASONS: dict[str, StopReason] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
    "tool_use": "tool_calls",
}
CACHED = {"cache_control": {"type": "ephemeral"}}


class Anthropic:
    path = "/v1/messages"
    models_path = "/v1/models?limit=1000"

    def __init__(self, *, bearer: bool = False) -> None:
        self._bearer = bearer  # a token of a gateway instead of a key

    def headers(self, key: str) -> dict[str, str]:
        version = {"anthropic-version": "2023-06-01"}
        if not key:
            return version
        return {**version, **({"authorization": f"Bearer {key}"} if self._bearer else {"x-api-key": key})}

    def body(self, request: ModelRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": request.model,
            "max_tokens": request.max_output_tokens or MAX_OUTPUT_TOKENS,
            "messages": _messages(request.messages),
            "stream": True,
        }
        if system := _system(request):
            body["system"] = [{"type": "text", "text": system, **CACHED}]
        if request.tools:
            body["tools"] = [
                {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
                for tool in request.tools
            ]
        return body

    def reading(self) -> "MessagesReading":
        return MessagesReading()


class MessagesReading:
    def __init__(self) -> None:
        self.whole = False
        self._blocks: dict[int, dict[str, Any]] = {}
        self._arguments: dict[int, str] = {}
        self._closed: set[int] = set()
        self._counted: dict[str, int] = {}
        self._reason: StopReason | None = None

    def feed(self, event: str, data: str) -> Iterator[ModelEvent]:
        told = dialect.member(data)
        place = told.get("index")
        index = place if isinstance(place, int) else 0
        match string(told.get("type")) or event:
            case "message_start":
                self._count(table(told.get("message")).get("usage"))
            case "content_block_start":
                self._blocks[index] = table(told.get("content_block"))
                if text := string(self._blocks[index].get("text")):
                    yield TextDelta(text)
            case "content_block_delta":
                yield from self._delta(index, table(told.get("delta")))
            case "content_block_stop":
                self._closed.add(index)
            case "message_delta":
                self._count(told.get("usage"))
                if reason := string(table(told.get("delta")).get("stop_reason")):
                    self._reason = REASONS.get(reason, "end")
            case "message_stop":
                self.whole = True
            case "error":
                raise failures.judge_event(table(told.get("error")))

    def finish(self) -> Iterator[ModelEvent]:
        if self._reason is None:
            raise dialect.cut()
        requests = [
            ToolRequest(string(block.get("id")), string(block.get("name")), self._written(index))
            for index, block in sorted(self._blocks.items())
            if block.get("type") == "tool_use" and index in self._closed
        ]
        return dialect.ending(requests, self._usage(), self._reason, self._carry())

    def _delta(self, index: int, delta: dict[str, Any]) -> Iterator[ModelEvent]:
        block = self._blocks.setdefault(index, {"type": "text", "text": ""})
        match delta.get("type"):
            case "text_delta":
                text = string(delta.get("text"))
                block["text"] = string(block.get("text")) + text
                yield TextDelta(text)
            case "thinking_delta":
                thought = string(delta.get("thinking"))
                block["thinking"] = string(block.get("thinking")) + thought
                yield ReasoningDelta(thought)
            case "signature_delta":
                block["signature"] = string(block.get("signature")) + string(delta.get("signature"))
            case "input_json_delta":
                self._arguments[index] = self._arguments.get(index, "") + string(delta.get("partial_json"))

    def _written(self, index: int) -> str:
        if text := self._arguments.get(index):
            return text
        return msgspec.json.encode(table(self._blocks[index].get("input"))).decode()

    def _carry(self) -> str:
        """Signed thoughts must come back as they were, and in their places among the rest."""
        if not any(string(block.get("type")).endswith("thinking") for block in self._blocks.values()):
            return ""
        blocks = [
            {**block, "input": dialect.arguments_object(self._written(index))}
            if block.get("type") == "tool_use"
            else block
            for index, block in sorted(self._blocks.items())
            if block.get("type") != "text" or block.get("text")
        ]
        return msgspec.json.encode({CARRY: blocks}).decode()

    def _count(self, usage: object) -> None:
        """The numbers are totals; a gateway may know some of them only at the end."""
        for name in ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"):
            self._counted[name] = max(self._counted.get(name, 0), dialect.count(usage, name))

    def _usage(self) -> Usage:
        told = self._counted
        cached = told.get("cache_read_input_tokens", 0)
        read = told.get("input_tokens", 0) + cached + told.get("cache_creation_input_tokens", 0)
        return Usage(read, told.get("output_tokens", 0), cached)


def _system(request: ModelRequest) -> str:
    parts = [message.text for message in request.messages if message.role == "system"]
    if request.response_schema is not None:
        schema = msgspec.json.encode(request.response_schema).decode()
        parts.append(f"Your final answer is one JSON value and nothing else. It fits this JSON Schema:\n{schema}")
    return "\n\n".join(part for part in parts if part)


def _messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The roles take turns here: what tools answered and what the person said next is one message."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        if message.role == "system":
            continue
        role = "assistant" if message.role == "assistant" else "user"
        blocks = list(_blocks(message))
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        elif blocks:
            turns.append({"role": role, "content": blocks})
    if turns and turns[-1]["role"] == "user":
        turns[-1]["content"][-1] = {**turns[-1]["content"][-1], **CACHED}
    return turns


def _blocks(message: Message) -> Iterator[dict[str, Any]]:
    match message.role:
        case "tool":
            block = {"type": "tool_result", "tool_use_id": message.tool_request_id, "content": list(_parts(message))}
            yield {**block, "is_error": True} if message.is_error else block
        case "assistant":
            yield from dialect.carried(message.carry, CARRY) or _answer(message)
        case "system" | "user":
            yield from _parts(message)


def _answer(message: Message) -> Iterator[dict[str, Any]]:
    yield from _parts(message)
    for request in message.tool_requests:
        arguments = dialect.arguments_object(request.arguments)
        yield {"type": "tool_use", "id": request.id, "name": request.name, "input": arguments}


def _parts(message: Message) -> Iterator[dict[str, Any]]:
    for part in message.content:
        if isinstance(part, Image):
            source = {"type": "base64", "media_type": part.media_type, "data": part.data_base64}
            yield {"type": "image", "source": source}
        elif isinstance(part, Text) and part.text.strip():  # an empty block is refused
            yield {"type": "text", "text": part.text}
