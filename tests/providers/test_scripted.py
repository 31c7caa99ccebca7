"""The models that ship: a file of turns, and an echo."""

import asyncio
import pathlib

import msgspec
import pytest

from signoff.domain.errors import ConfigError, ConfigUnreadable, ModelBadResponse, ModelRateLimited, UsageError
from signoff.providers import names, script
from signoff.providers.echo import Echo
from signoff.providers.provider import (
    Message,
    ModelEvent,
    ModelRequest,
    Provider,
    ReasoningDelta,
    Stopped,
    Text,
    TextDelta,
    ToolRequest,
    ToolRequested,
    Usage,
)
from signoff.providers.scripted import Scripted


def said(role: str, text: str, **more: object) -> Message:
    return msgspec.convert({"role": role, "content": [{"type": "text", "text": text}], **more}, Message)


def events(provider: Provider, *messages: Message) -> list[ModelEvent]:
    async def collect() -> list[ModelEvent]:
        return [event async for event in provider.stream(ModelRequest("any", messages))]

    return asyncio.run(asyncio.wait_for(collect(), 60))


def text_of(stream: list[ModelEvent]) -> str:
    return "".join(event.text for event in stream if isinstance(event, TextDelta))


def written(path: pathlib.Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_echo_says_again_what_the_person_said_last() -> None:
    stream = events(Echo(), said("user", "first"), said("assistant", "first"), said("user", "hello  wide\nworld"))
    assert text_of(stream) == "hello  wide\nworld"
    assert stream[-2:] == [Usage(3, 3, cost_usd=0.0), Stopped("end")]


def test_a_turn_comes_as_reasoning_text_tool_requests_usage_and_an_end(tmp_path: pathlib.Path) -> None:
    turn = '{"text": "I look", "reasoning": "hm", "tools": [{"name": "read_file", "args": {"path": "a"}}, {"name": "x", "args": "{broken", "id": "own"}], "usage": {"input_tokens": 7, "output_tokens": 2}}'
    assert events(Scripted.read(written(tmp_path / "s.jsonl", turn)), said("user", "go")) == [
        ReasoningDelta("hm"),
        TextDelta("I "),
        TextDelta("look"),
        ToolRequested(ToolRequest("call_1_1", "read_file", '{"path":"a"}')),
        ToolRequested(ToolRequest("own", "x", "{broken")),
        Usage(7, 2),
        Stopped("tool_calls"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        '{"text": "one"}\n\n{"text": "two"}\n',
        '[{"text": "one"}, {"text": "two"}]',
        '{"turns": [{"text": "one"},\n {"text": "two"}]}',
    ],
)
def test_turns_are_lines_a_list_or_a_member_and_come_in_order(tmp_path: pathlib.Path, text: str) -> None:
    provider = Scripted.read(written(tmp_path / "script", text))
    assert [text_of(events(provider, said("user", "go"))) for _ in range(2)] == ["one", "two"]
    with pytest.raises(ModelBadResponse, match="no turn left: it holds 2"):
        events(provider, said("user", "go"))


def test_a_turn_can_be_repeated() -> None:
    provider = Scripted(script.parse(b'{"text": "again", "repeat": 3}', "s"))
    assert [text_of(events(provider, said("user", "go"))) for _ in range(3)] == ["again"] * 3


def test_expect_is_about_what_was_said_since_the_last_turn() -> None:
    provider = Scripted(script.parse(b'{"text": "a", "expect": "go"}\n{"text": "b", "expect": ["go", "x"]}', "s.jsonl"))
    assert text_of(events(provider, said("user", "go"))) == "a"
    with pytest.raises(ModelBadResponse, match=r"turn 2 of s.jsonl|expected to hear 'go'"):
        events(provider, said("user", "go"), said("assistant", "a"), said("tool", "x"))


def test_a_turn_whose_condition_does_not_hold_is_left_out() -> None:
    turns = script.parse(b'{"text": "sorry", "when": "denied"}\n{"text": "done"}', "s")
    assert text_of(events(Scripted(turns), said("tool", "it was denied"))) == "sorry"
    assert text_of(events(Scripted(turns), said("tool", "fine"))) == "done"


def test_a_script_goes_on_after_the_answers_a_conversation_already_ends_with() -> None:
    turns = script.parse(b'{"text": "one", "tools": [{"name": "t", "args": {"a": 1}}]}\n{"text": "two"}', "s")
    answer = Message("assistant", (Text("one"),), tool_requests=(ToolRequest("id", "t", '{"a":1}'),))
    assert text_of(events(Scripted(turns), said("user", "go"), answer, said("tool", "ok"))) == "two"
    assert text_of(events(Scripted(turns), said("user", "go"), said("assistant", "of another script"))) == "one"


def test_a_script_can_fail_as_a_model_does() -> None:
    turns = script.parse(b'{"error": {"code": "model.rate_limited", "message": "slow down"}}', "s")
    with pytest.raises(ModelRateLimited, match="slow down"):
        events(Scripted(turns), said("user", "go"))


def test_a_script_that_hangs_can_be_left() -> None:
    async def leave() -> list[ModelEvent]:
        stream = Scripted(script.parse(b'{"text": "wait", "hang": true}', "s")).stream(ModelRequest("m", ()))
        seen = [await anext(stream)]
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return seen

    assert asyncio.run(leave()) == [TextDelta("wait")]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"text": "a"}\n{"txt": "b"}', r"s.jsonl:2: .*unknown field `txt`"),
        ('{"text": "a"}\nnonsense', r"s.jsonl:2: "),
        ('[{"text": 1}]', r"s.jsonl: this is no script: .*\$\[0\].text"),
        ('{"turns": 3}', r"s.jsonl: this is no script"),
        ('{"repeat": 0}', r"s.jsonl:1: "),
        ("[" * 10_000, r"s.jsonl"),
    ],
)
def test_a_mistake_in_a_script_is_named_with_its_place(tmp_path: pathlib.Path, text: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        Scripted.read(written(tmp_path / "s.jsonl", text))


def test_a_script_that_is_not_there_is_said_so(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ConfigUnreadable, match=r"nowhere.json cannot be read: No such file"):
        Scripted.read(str(tmp_path / "nowhere.json"))


@pytest.mark.parametrize(
    ("text", "provider", "model"),
    [
        ("anthropic/claude-sonnet-4-5", "anthropic", "claude-sonnet-4-5"),
        ("OpenRouter/meta/llama:free", "openrouter", "meta/llama:free"),
        ("scripted//tmp/a.json", "scripted", "/tmp/a.json"),
        ("scripted/./a b.json", "scripted", "./a b.json"),
    ],
)
def test_a_model_is_named_by_its_provider_and_the_providers_own_name(text: str, provider: str, model: str) -> None:
    assert names.parse(text) == names.ModelName(provider, model)


@pytest.mark.parametrize("text", ["", "gpt", "/gpt", "openai/", " / "])
def test_what_names_no_model_is_refused_with_the_way_to_write_it(text: str) -> None:
    with pytest.raises(UsageError, match="names no model"):
        names.parse(text)
