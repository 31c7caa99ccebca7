"""Whatever a server says, a reading ends in events or in Trouble, never in anything else."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as some

from signoff.providers.anthropic import Anthropic
from signoff.providers.dialect import Dialect, Trouble
from signoff.providers.openai_chat import OpenAIChat
from signoff.providers.openai_responses import OpenAIResponses
from signoff.providers.provider import Stopped

NAMES = (
    "type", "index", "delta", "text", "content", "content_block", "message", "usage", "choices", "tool_calls", "function",
    "name", "arguments", "id", "finish_reason", "error", "code", "response", "output", "item", "output_index", "status",
    "call_id", "stop_reason", "input", "partial_json", "input_tokens", "cost", "extra_content", "incomplete_details", "reason",
)  # fmt: skip
WORDS = (
    "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop",
    "error", "text_delta", "input_json_delta", "thinking_delta", "signature_delta", "tool_use", "thinking", "text",
    "response.output_item.done", "response.completed", "response.incomplete", "response.failed", "function_call",
    "response.output_text.delta", "incomplete", "stop", "length", "tool_calls", "content_filter", "end_turn",
)  # fmt: skip
leaves = some.one_of(
    some.none(),
    some.booleans(),
    some.integers(),
    some.floats(allow_nan=False, allow_infinity=False),
    some.sampled_from(WORDS),
)
values = some.recursive(
    leaves, lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.sampled_from(NAMES), inner, max_size=5)
)
told = some.lists(some.tuples(some.sampled_from(["message", *WORDS]), values), max_size=8)


@pytest.mark.parametrize("dialect", [OpenAIChat, OpenAIResponses, Anthropic])
@given(events=told)
def test_a_reading_ends_in_events_or_in_trouble(dialect: Callable[[], Dialect], events: list[tuple[str, Any]]) -> None:
    reading = dialect().reading()
    try:
        for name, value in events:
            list(reading.feed(name, msgspec.json.encode(value).decode()))
        ending = list(reading.finish())
    except Trouble as trouble:
        assert trouble.error.message
        return
    assert isinstance(ending[-1], Stopped)
    assert [isinstance(event, Stopped) for event in ending].count(True) == 1
