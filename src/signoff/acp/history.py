"""A session's log as the updates its client would have seen. Pure."""

from collections.abc import Iterable, Iterator

from msgspec import UNSET

from signoff.acp import blocks
from signoff.acp.updates import LONGEST_TEXT, Masks, bounded, cut, described, plan
from signoff.agent.session_log import CallBegan, Entry, Planned, Said
from signoff.providers.provider import Image, Message, Text
from signoff.wire import acp_schema as schema


def replayed(entries: Iterable[Entry], cwd: str, masks: Masks) -> Iterator[schema.SessionUpdate]:
    """Everything that was said and done, in its order; what the model was shown instead of it later plays no part."""
    calls: dict[str, str] = {}
    for number, entry in enumerate(entries):
        match entry.what:
            case Said(message=Message(role="tool") as message):
                call_id = calls.pop(message.tool_request_id, None)
                if call_id is not None:
                    yield _result(call_id, message, masks)
            case Said(message=message):
                yield from _said(message, f"m{number}")
            case CallBegan(request_id=request_id, call=call, look=look):
                calls[request_id] = call.tool_call_id
                exact = described(call, look, cwd)
                yield schema.ToolCall(
                    toolCallId=exact.toolCallId,
                    title=masks.text(exact.title),
                    name=exact.name,
                    kind=exact.kind,
                    status="in_progress",
                    locations=exact.locations,
                    rawInput=bounded(masks.value(call.args)),
                )
            case Planned(entries=planned):
                yield plan(planned)
            case _:
                pass


def _said(message: Message, name: str) -> Iterator[schema.SessionUpdate]:
    if message.reasoning:
        yield schema.AgentThoughtChunk(content=blocks.text(message.reasoning), messageId=f"{name}-thought")
    chunk = schema.UserMessageChunk if message.role == "user" else schema.AgentMessageChunk
    for part in message.content if message.role in ("user", "assistant") else ():
        yield chunk(content=_block(part), messageId=name)


def _block(part: Text | Image) -> schema.ContentBlock:
    if isinstance(part, Text):
        return blocks.text(part.text)
    return blocks.image(part.data_base64, part.media_type)


def _result(call_id: str, message: Message, masks: Masks) -> schema.ToolCallProgress:
    text = cut(masks.text(message.text), LONGEST_TEXT)
    return schema.ToolCallProgress(
        toolCallId=call_id,
        status="failed" if message.is_error else "completed",
        content=[schema.Content(content=blocks.text(text))] if text else UNSET,
    )
