"""Chat Completions: the dialect of OpenAI and of nearly everyone else, with what they do differently tolerated."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from signoff.domain.late import late
from signoff.providers import dialect
from signoff.providers.dialect import rows, string, table
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

CARRY = "chat"
REASONS: dict[str, StopReason] = {"length": "length", "content_filter": "refused", "tool_calls": "tool_calls"}


class OpenAIChat:
    path = "/chat/completions"
    models_path = "/models"

    def __init__(self, *, limit_name: str = "max_tokens") -> None:
        self._limit_name = limit_name  # OpenAI itself renamed it, the others did not

    def headers(self, key: str) -> dict[str, str]:
        return {"authorization": f"Bearer {key}"} if key else {}

    def body(self, request: ModelRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": request.model,
            "messages": list(_messages(request.messages)),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if request.tools:
            body["tools"] = [{"type": "function", "function": msgspec.to_builtins(tool)} for tool in request.tools]
        if request.max_output_tokens is not None:
            body[self._limit_name] = request.max_output_tokens
        if request.response_schema is not None:
            form = {"name": "answer", "schema": request.response_schema}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return body

    def reading(self) -> "ChatReading":
        return ChatReading()


class _Call(msgspec.Struct):
    id: str = ""
    name: str = ""
    arguments: str = ""
    extra: Any = None


class ChatReading:
    def __init__(self) -> None:
        self.whole = False
        self._calls: list[_Call] = []
        self._places: dict[int, _Call] = {}  # the call that is being received at an index
        self._usage: Usage | None = None
        self._reason: StopReason | None = None
        self._refused = False

    def feed(self, event: str, data: str) -> Iterator[ModelEvent]:
        if data.strip() == "[DONE]":
            self.whole = True
            return
        chunk = dialect.member(data)
        if error := chunk.get("error"):
            raise failures.judge_event(error if isinstance(error, dict) else {"message": str(error)})
        if usage := table(chunk.get("usage")):
            self._usage = _usage(usage)
        for choice in rows(chunk.get("choices"))[:1]:
            yield from self._delta(table(choice.get("delta")))
            if told := string(choice.get("finish_reason")):
                self._reason = REASONS.get(told, "end")

    def finish(self) -> Iterator[ModelEvent]:
        if not self.whole and self._reason is None:
            raise dialect.cut()
        requests = [
            ToolRequest(call.id or f"call_{number}", call.name, call.arguments or "{}")
            for number, call in enumerate(self._calls)
        ]
        extras = [{"id": request.id, "extra": call.extra} for request, call in zip(requests, self._calls, strict=True)]
        kept = [extra for extra in extras if extra["extra"] is not None]
        carry = msgspec.json.encode({CARRY: kept}).decode() if kept else ""
        return dialect.ending(requests, self._usage, "refused" if self._refused else self._reason or "end", carry)

    def _delta(self, delta: dict[str, Any]) -> Iterator[ModelEvent]:
        if thought := string(delta.get("reasoning_content")) or string(delta.get("reasoning")):
            yield ReasoningDelta(thought)
        if text := string(delta.get("content")):
            yield TextDelta(text)
        if refusal := string(delta.get("refusal")):
            self._refused = True
            yield TextDelta(refusal)
        for part in rows(delta.get("tool_calls")):
            self._take(part)

    def _take(self, part: dict[str, Any]) -> None:
        """Parts of one call share an index; some servers give none, or give every call the same one with a new id."""
        index, id_ = part.get("index"), string(part.get("id"))
        place = index if isinstance(index, int) else -1
        call = self._places.get(place)
        function = table(part.get("function"))
        begins = bool(string(function.get("name")))
        if call is None or (begins and id_ and call.id and id_ != call.id):
            call = _Call()
            self._calls.append(call)
            self._places[place] = call
        call.id = call.id or id_
        call.name = call.name or string(function.get("name"))
        written = function.get("arguments")
        call.arguments += msgspec.json.encode(written).decode() if isinstance(written, dict) else string(written)
        call.extra = part.get("extra_content", call.extra)


def _usage(told: dict[str, Any]) -> Usage:
    cost = told.get("cost")
    return Usage(
        dialect.count(told, "prompt_tokens"),
        dialect.count(told, "completion_tokens"),
        dialect.count(told, "prompt_tokens_details", "cached_tokens"),
        dialect.count(told, "completion_tokens_details", "reasoning_tokens"),
        float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None,
    )


def _messages(messages: Sequence[Message]) -> Iterator[dict[str, Any]]:
    """Tools cannot answer with images here: they follow in the person's name, after all answers of tools."""
    pictures: list[Text | Image] = []
    for message in messages:
        if pictures and message.role != "tool":
            yield {"role": "user", "content": _parts(pictures)}
            pictures = []
        match message.role:
            case "system":
                yield {"role": "system", "content": message.text}
            case "user":
                yield {"role": "user", "content": _content(message)}
            case "assistant":
                yield _answer(message)
            case "tool":
                yield {"role": "tool", "tool_call_id": message.tool_request_id, "content": message.text}
                pictures += [part for part in message.content if isinstance(part, Image)]
    if pictures:
        yield {"role": "user", "content": _parts(pictures)}


def _content(message: Message) -> str | list[dict[str, Any]]:
    return _parts(message.content) if any(isinstance(part, Image) for part in message.content) else message.text


def _parts(content: tuple[Text | Image, ...] | list[Text | Image]) -> list[dict[str, Any]]:
    return [
        {"type": "text", "text": part.text}
        if isinstance(part, Text)
        else {"type": "image_url", "image_url": {"url": f"data:{part.media_type};base64,{part.data_base64}"}}
        for part in content
    ]


def _answer(message: Message) -> dict[str, Any]:
    answer: dict[str, Any] = {"role": "assistant", "content": message.text or None}
    extras = {row.get("id"): row.get("extra") for row in dialect.carried(message.carry, CARRY)}
    calls = []
    for request in message.tool_requests:
        arguments = msgspec.json.encode(dialect.arguments_object(request.arguments)).decode()
        call: dict[str, Any] = {"id": request.id, "type": "function"}
        call["function"] = {"name": request.name, "arguments": arguments}
        if request.id in extras:
            call["extra_content"] = extras[request.id]
        calls.append(call)
    return {**answer, "tool_calls": calls} if calls else {**answer, "content": message.text}
