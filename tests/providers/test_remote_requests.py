"""What is sent to a model, over which connection, and what of an answer goes back with the next question."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from signoff.domain.errors import (
    ModelBadResponse,
)
from signoff.providers.endpoint import Endpoint
from signoff.providers.provider import (
    Image,
    Message,
    ModelEvent,
    ModelRequest,
    Stopped,
    Text,
    TextDelta,
    ToolRequest,
    ToolRequested,
    ToolSpec,
)
from signoff.providers.remote import Remote
from signoff.providers.script import Turn
from tests.fakes.model_server import ModelServer, Reply, event, in_turn, played
from tests.providers.exchange import ALL, HELLO, TURN, ask, each, plain, said, text_of, whole

pytestmark = pytest.mark.usefixtures("way")


@each
def test_the_connection_is_used_again(dialect: str) -> None:
    events, server = ask(dialect, played([Turn(text="a"), Turn(text="b")]), rounds=2)
    assert (text_of(events), len(server.asked), server.connections) == ("ab", 2, 1)


@each
def test_leaving_a_stream_ends_the_exchange(dialect: str) -> None:
    async def leave(url: str) -> ModelEvent:
        remote = Remote(dialect, ALL[dialect][0](), Endpoint(url if dialect == "messages" else f"{url}/v1"))
        stream = remote.stream(HELLO)
        first = await anext(stream)
        await stream.aclose()
        await remote.aclose()
        return first

    stalled = Reply(said(dialect, Turn(text="first")).pieces[:-2], then="stall")
    with ModelServer(in_turn(stalled)) as server:
        assert asyncio.run(asyncio.wait_for(leave(server.url), 30)) == TextDelta("first")


@each
def test_models_are_listed(dialect: str) -> None:
    async def listed(url: str) -> tuple[str, ...]:
        remote = Remote(dialect, ALL[dialect][0](), Endpoint(url if dialect == "messages" else f"{url}/v1"))
        try:
            return await remote.models()
        finally:
            await remote.aclose()

    with ModelServer(played([TURN])) as server:
        assert asyncio.run(listed(server.url)) == ("large", "small")
    page = Reply((b"<html>",), content_type="text/html")
    with ModelServer(in_turn(page)) as server, pytest.raises(ModelBadResponse, match="list of models"):
        asyncio.run(listed(server.url))


def test_calls_that_arrive_interleaved_are_put_together_by_their_index() -> None:
    def part(index: int | None, **function: str) -> dict[str, Any]:
        call: dict[str, Any] = {"function": function}
        if index is not None:
            call["index"] = index
        if "name" in function:
            call["id"] = f"id_{function['name']}"
        return call

    def chunk(*parts: dict[str, Any], finish: str | None = None) -> bytes:
        return event({"choices": [{"delta": {"tool_calls": list(parts)}, "finish_reason": finish}]})

    interleaved = (
        chunk(part(0, name="a", arguments=""), part(1, name="b", arguments='{"y"')),
        chunk(part(1, arguments=":")), chunk(part(0, arguments='{"x":')), chunk(part(1, arguments="2}")),
        chunk(part(0, arguments="1}"), finish="stop"), b"data: [DONE]\n\n",
    )  # fmt: skip
    same_index = (
        chunk(part(0, name="a", arguments='{"x":1}')),
        chunk(part(0, name="b", arguments='{"y":2}'), finish="tool_calls"),
    )
    no_index = (
        chunk(part(None, name="a", arguments='{"x":1}')),
        chunk(part(None, name="b", arguments='{"y":2}'), finish="tool_calls"),
    )
    for pieces in (interleaved, same_index, no_index):
        assert whole(ask("chat", in_turn(Reply(pieces)))[0]) == [
            ToolRequested(ToolRequest("id_a", "a", '{"x":1}')),
            ToolRequested(ToolRequest("id_b", "b", '{"y":2}')),
            Stopped("tool_calls"),
        ]


CONVERSATION = ModelRequest(
    "small",
    (
        Message("system", (Text("be brief"),)),
        Message("user", (Text("look"), Image("image/png", "aGk="))),
        Message("assistant", (Text("yes"),), tool_requests=(ToolRequest("a", "t", '{"x":1}'), ToolRequest("b", "t", "{bad"))),
        Message("tool", (Text("fine"), Image("image/png", "aGk=")), tool_request_id="a"),
        Message("tool", (Text("not JSON"),), tool_request_id="b", is_error=True),
        Message("user", (Text("go on"),)),
    ),
    (ToolSpec("t", "does it", {"type": "object"}),),
    max_output_tokens=99,
    response_schema={"type": "object"},
)  # fmt: skip


@each
def test_what_is_sent_is_what_the_api_wants(dialect: str, golden: Callable[[str, bytes], None]) -> None:
    _, server = ask(dialect, played([TURN]), CONVERSATION)
    golden(f"providers/{dialect}.json", msgspec.json.format(server.asked[0].body, indent=2) + b"\n")


@each
def test_signed_reasoning_goes_back_as_it_came_and_only_to_whom_it_came_from(dialect: str) -> None:
    stopped = plain(dialect, TURN)[-1]
    assert isinstance(stopped, Stopped)
    answer = Message(
        "assistant",
        (Text(TURN.text),),
        tool_requests=(ToolRequest("call_1_1", "read_file", "{}"),),
        carry=stopped.carry,
    )
    request = ModelRequest(
        "gpt-5", (*HELLO.messages, answer, Message("tool", (Text("ok"),), tool_request_id="call_1_1"))
    )
    sent = {name: ask(name, played([TURN]), request)[1].asked[0].body for name in ALL}
    marks = {"chat": b"nothing is signed", "responses": b"c2VhbGVk", "messages": b'"signature":"sig"'}
    assert [name for name, body in sent.items() if marks[dialect] in body] == ([] if dialect == "chat" else [dialect])


def test_what_a_vendor_hangs_on_a_tool_call_goes_back_with_it() -> None:
    call = {
        "index": 0,
        "id": "i",
        "function": {"name": "t", "arguments": "{}"},
        "extra_content": {"google": {"thought": "s"}},
    }
    pieces = (event({"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}),)
    stopped = ask("chat", in_turn(Reply(pieces)))[0][-1]
    assert isinstance(stopped, Stopped)
    answer = Message("assistant", tool_requests=(ToolRequest("i", "t", "{}"),), carry=stopped.carry)
    _, server = ask("chat", played([TURN]), ModelRequest("m", (*HELLO.messages, answer)))
    assert server.asked[0].json["messages"][1]["tool_calls"][0]["extra_content"] == {"google": {"thought": "s"}}
