"""The Responses API of OpenAI. Nothing is stored there: what a model must see again of its reasoning travels in `carry`."""

from collections.abc import Iterator
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

CARRY = "responses"
REASONING_MODELS = ("o1", "o3", "o4", "gpt-5", "gpt-6", "codex")
ENDS = ("response.completed", "response.incomplete")
TEXT = ("response.output_text.delta", "response.refusal.delta")
THOUGHT = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")


class OpenAIResponses:
    path = "/responses"
    models_path = "/models"

    def headers(self, key: str) -> dict[str, str]:
        return {"authorization": f"Bearer {key}"} if key else {}

    def body(self, request: ModelRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": request.model,
            "input": [item for message in request.messages for item in _items(message)],
            "stream": True,
            "store": False,
        }
        if request.model.startswith(REASONING_MODELS):  # the others refuse the whole request for it
            body["include"] = ["reasoning.encrypted_content"]
        if request.tools:
            body["tools"] = [
                {"type": "function", "strict": False, **msgspec.to_builtins(tool)} for tool in request.tools
            ]
        if request.max_output_tokens is not None:
            body["max_output_tokens"] = request.max_output_tokens
        if request.response_schema is not None:
            form = {"type": "json_schema", "name": "answer", "strict": False, "schema": request.response_schema}
            body["text"] = {"format": form}
        return body

    def reading(self) -> "ResponsesReading":
        return ResponsesReading()


class ResponsesReading:
    def __init__(self) -> None:
        self.whole = False
        self._items: dict[int, dict[str, Any]] = {}  # complete ones, by their place in the answer
        self._response: dict[str, Any] = {}
        self._refused = False

    def feed(self, event: str, data: str) -> Iterator[ModelEvent]:
        if data.strip() == "[DONE]":
            return
        told = dialect.member(data)
        kind = string(told.get("type")) or event
        if kind in TEXT or kind in THOUGHT:
            self._refused |= kind == "response.refusal.delta"
            if piece := string(told.get("delta")):
                yield ReasoningDelta(piece) if kind in THOUGHT else TextDelta(piece)
        elif kind == "response.output_item.done":
            place = told.get("output_index")
            self._items[place if isinstance(place, int) else len(self._items)] = table(told.get("item"))
        elif kind in ENDS:
            self._response = table(told.get("response"))
            self.whole = True
        elif kind in ("response.failed", "error"):
            error = table(told.get("response")).get("error") or told.get("error") or told
            raise failures.judge_event(table(error))

    def finish(self) -> Iterator[ModelEvent]:
        if not self.whole:
            raise dialect.cut()
        items = [self._items[place] for place in sorted(self._items)] or rows(self._response.get("output"))
        requests = [
            ToolRequest(string(item.get("call_id")), string(item.get("name")), string(item.get("arguments")) or "{}")
            for item in items
            if item.get("type") == "function_call"
        ]
        carry = msgspec.json.encode({CARRY: [_bare(item) for item in items]}).decode() if _thought(items) else ""
        told = table(self._response.get("usage"))
        return dialect.ending(requests, _usage(told) if told else None, self._reason(), carry)

    def _reason(self) -> StopReason:
        if self._refused:
            return "refused"
        if self._response.get("status") != "incomplete":
            return "end"
        why = table(self._response.get("incomplete_details")).get("reason")
        return "refused" if why == "content_filter" else "length"


def _thought(items: list[dict[str, Any]]) -> bool:
    return any(item.get("type") == "reasoning" and item.get("encrypted_content") for item in items)


def _bare(item: dict[str, Any]) -> dict[str, Any]:
    """Without the names under which it would be stored there, which it is not."""
    return {name: value for name, value in item.items() if name not in ("id", "status")}


def _usage(told: dict[str, Any]) -> Usage:
    return Usage(
        dialect.count(told, "input_tokens"),
        dialect.count(told, "output_tokens"),
        dialect.count(told, "input_tokens_details", "cached_tokens"),
        dialect.count(told, "output_tokens_details", "reasoning_tokens"),
    )


def _items(message: Message) -> Iterator[dict[str, Any]]:
    match message.role:
        case "tool":
            output = _parts(message) if any(isinstance(part, Image) for part in message.content) else message.text
            yield {"type": "function_call_output", "call_id": message.tool_request_id, "output": output}
        case "assistant":
            yield from dialect.carried(message.carry, CARRY) or _answer(message)
        case "system" | "user":
            yield {"type": "message", "role": message.role, "content": _parts(message)}


def _answer(message: Message) -> Iterator[dict[str, Any]]:
    if message.text:
        content = [{"type": "output_text", "text": message.text}]
        yield {"type": "message", "role": "assistant", "content": content}
    for request in message.tool_requests:
        arguments = msgspec.json.encode(dialect.arguments_object(request.arguments)).decode()
        yield {"type": "function_call", "call_id": request.id, "name": request.name, "arguments": arguments}


def _parts(message: Message) -> list[dict[str, Any]]:
    return [
        {"type": "input_text", "text": part.text}
        if isinstance(part, Text)
        else {"type": "input_image", "image_url": f"data:{part.media_type};base64,{part.data_base64}"}
        for part in message.content
    ]
