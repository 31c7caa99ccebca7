"""Models over HTTP, against a real server that speaks each API's streaming form, and against everything that goes wrong."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from signoff.domain.errors import (
    ContextOverflow,
    ModelBadResponse,
    ModelCut,
    ModelError,
    ModelRateLimited,
    ModelRejected,
    ModelTimeout,
    ModelUnauthorized,
    ModelUnreachable,
)
from signoff.providers import carrier as ways
from signoff.providers import over_loopback
from signoff.providers.anthropic import Anthropic
from signoff.providers.dialect import Dialect, Trouble
from signoff.providers.endpoint import Endpoint
from signoff.providers.openai_chat import OpenAIChat
from signoff.providers.openai_responses import OpenAIResponses
from signoff.providers.over_httpx import OverHttpx
from signoff.providers.provider import (
    Image,
    Message,
    ModelEvent,
    ModelRequest,
    ReasoningDelta,
    Retrying,
    Stopped,
    Text,
    TextDelta,
    ToolRequest,
    ToolRequested,
    ToolSpec,
    Usage,
)
from signoff.providers.remote import Outside, Remote
from signoff.providers.retries import Retries
from signoff.providers.script import Call, Turn
from tests.fakes import model_server
from tests.fakes.model_server import Handler, ModelServer, Reply, event, in_turn, played

KEY = "sk-proj-thisisthesecretkeyofthetest0123456789"
ALL: dict[str, tuple[Callable[[], Dialect], Callable[[Turn], tuple[bytes, ...]]]] = {
    "chat": (OpenAIChat, model_server.chat),
    "responses": (OpenAIResponses, model_server.responses),
    "messages": (Anthropic, model_server.messages),
}
each = pytest.mark.parametrize("dialect", ALL)

HELLO = ModelRequest("small", (Message("user", (Text("hello"),)),))
TURN = Turn(
    text="I look: é日本🙂", reasoning="hm, ß", tools=(Call("read_file", {"path": "ä"}), Call("grep", {"pattern": "x"}))
)


@pytest.fixture(params=["direct", "httpx"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The server is on the loopback, so that one way would never be gone: each test goes both."""
    if request.param == "httpx":
        monkeypatch.setattr(over_loopback, "OverLoopback", OverHttpx)
    return str(request.param)


class Waits:
    """Remembers every wait and makes none."""

    def __init__(self) -> None:
        self.delays: list[float] = []

    async def sleep(self, delay: float) -> None:
        self.delays.append(delay)

    def outside(self) -> Outside:
        return Outside(sleep=self.sleep, chance=lambda: 0.5, now=lambda: 1_000_000.0)


def ask(
    dialect: str,
    handler: Handler,
    request: ModelRequest = HELLO,
    *,
    waits: Waits | None = None,
    silence_s: float = 20.0,
    key: str = KEY,
    rounds: int = 1,
) -> tuple[list[ModelEvent], ModelServer]:
    async def collect(server: ModelServer) -> list[ModelEvent]:
        place = Endpoint(server.url if dialect == "messages" else server.openai, key)
        outside = (waits or Waits()).outside()
        remote = Remote(dialect, ALL[dialect][0](), place, silence_s=silence_s, retries=Retries(4), outside=outside)
        try:
            return [said for _ in range(rounds) async for said in remote.stream(request)]
        finally:
            await remote.aclose()

    with ModelServer(handler) as server:
        return asyncio.run(asyncio.wait_for(collect(server), 60)), server


def said(dialect: str, turn: Turn, **more: Any) -> Reply:
    return Reply(ALL[dialect][1](turn), **more)


def text_of(events: list[ModelEvent]) -> str:
    return "".join(said.text for said in events if isinstance(said, TextDelta))


def whole(events: list[ModelEvent]) -> list[ModelEvent]:
    return [said for said in events if not isinstance(said, TextDelta | ReasoningDelta)]


def plain(dialect: str, turn: Turn) -> list[ModelEvent]:
    return ask(dialect, played([turn]))[0]


@each
def test_an_answer_with_two_tool_calls_arrives_whole(dialect: str) -> None:
    events = plain(dialect, TURN)
    assert text_of(events) == TURN.text
    assert [said for said in events if isinstance(said, ReasoningDelta)] == [ReasoningDelta("hm, ß")]
    carry = events[-1].carry if isinstance(events[-1], Stopped) else ""
    assert whole(events) == [
        ToolRequested(ToolRequest("call_1_1", "read_file", '{"path":"ä"}')),
        ToolRequested(ToolRequest("call_1_2", "grep", '{"pattern":"x"}')),
        Usage(10, 5),
        Stopped("tool_calls", carry),
    ]


@each
def test_how_the_bytes_are_cut_makes_no_difference(dialect: str) -> None:
    data = b"".join(ALL[dialect][1](TURN))
    single = tuple(bytes([byte]) for byte in data)
    returns = (data.replace(b"\n", b"\r\n"),)
    assert ask(dialect, in_turn(Reply(single)))[0] == plain(dialect, TURN) == ask(dialect, in_turn(Reply(returns)))[0]


@each
def test_a_separator_that_is_no_line_end_stays_in_the_text(dialect: str) -> None:
    turn = Turn(text="a\u2028b\x85c\x0bd")
    assert text_of(plain(dialect, turn)) == turn.text


@each
def test_twenty_tool_calls_come_in_order(dialect: str) -> None:
    calls = tuple(Call("t", {"n": number}) for number in range(20))
    requests = [said.request for said in plain(dialect, Turn(tools=calls)) if isinstance(said, ToolRequested)]
    assert [request.arguments for request in requests] == [f'{{"n":{number}}}' for number in range(20)]


@each
def test_arguments_that_are_not_json_are_handed_on_as_they_are(dialect: str) -> None:
    events = plain(dialect, Turn(tools=(Call("t", '{"path": oops'),)))
    assert [said.request.arguments for said in events if isinstance(said, ToolRequested)] == ['{"path": oops']


@each
@pytest.mark.parametrize("reason", ["length", "refused"])
def test_no_tool_is_asked_for_by_an_answer_that_was_not_finished(dialect: str, reason: Any) -> None:
    events = plain(dialect, Turn(text="so", tools=(Call("rm", {"path": "x"}),), stop=reason))
    assert [said for said in events if isinstance(said, ToolRequested)] == []
    assert isinstance(events[-1], Stopped)
    assert events[-1].reason == reason


@each
def test_a_cut_answer_is_begun_anew_and_its_tool_calls_never_count(dialect: str) -> None:
    data = b"".join(said(dialect, TURN).pieces)
    end = {"chat": b'"finish_reason":"tool_calls"', "responses": b'"response.completed"', "messages": b'"stop_reason"'}
    stop = data.rindex(end[dialect]) - 40
    for place in range(0, stop, max(stop // 12, 1)):
        waits = Waits()
        events, server = ask(
            dialect, in_turn(Reply((data[:place],), then="cut"), said(dialect, Turn(text="anew"))), waits=waits
        )
        again = [at for at, said in enumerate(events) if isinstance(said, Retrying)]
        assert len(again) == 1, place
        assert not [said for said in events[: again[0]] if isinstance(said, ToolRequested | Stopped)]
        assert text_of(events[again[0] :]) == "anew"
        assert events[-1] == Stopped("end")
        assert len(server.asked) == 2
        assert len(waits.delays) == 1


@each
def test_an_answer_that_is_cut_every_time_is_an_error(dialect: str) -> None:
    half = Reply(said(dialect, TURN).pieces[:2], then="cut")
    with pytest.raises(ModelCut, match=r"cut off before its end \(4 attempts\)"):
        ask(dialect, in_turn(half))


@each
def test_an_answer_that_ends_politely_but_early_is_cut_too(dialect: str) -> None:
    half = Reply(said(dialect, TURN).pieces[:2])
    with pytest.raises(ModelCut):
        ask(dialect, in_turn(half))


@each
def test_a_model_that_falls_silent_is_asked_again(dialect: str) -> None:
    stalled = Reply(said(dialect, TURN).pieces[:3], then="stall")
    events, _ = ask(dialect, in_turn(stalled, said(dialect, Turn(text="back"))), silence_s=2)
    assert [said.reason for said in events if isinstance(said, Retrying)] == [
        "the model fell silent in the middle of its answer for 2 s"
    ]
    assert text_of(events).endswith("back")


@each
def test_a_slow_answer_is_heard_out_while_something_still_comes(dialect: str) -> None:
    data = b"".join(said(dialect, Turn(text="slowly")).pieces)
    pieces = tuple(data[place : place + len(data) // 8 + 1] for place in range(0, len(data), len(data) // 8 + 1))
    events, server = ask(dialect, in_turn(Reply(pieces, pause_s=0.4)), silence_s=2.5)  # in all longer than a silence
    assert (text_of(events), len(server.asked)) == ("slowly", 1)


@each
def test_a_server_that_never_answers_is_given_up(dialect: str) -> None:
    with pytest.raises(ModelTimeout, match=r"within 0.1 s|silent"):
        ask(dialect, in_turn(Reply((b": wait\n\n",), then="stall")), silence_s=0.1)


def test_an_answer_that_only_keeps_the_line_open_has_an_end() -> None:
    clock = iter([0.0, 3_600.0, 3_600.1])
    bounds = ways.Bounds(300, lambda: next(clock))
    bounds.note(b": wait\n\n")
    with pytest.raises(Trouble) as caught:
        bounds.note(b": wait\n\n")
    assert (caught.value.error.message, caught.value.again) == ("the answer had no end after 3600 s", False)


@each
def test_what_is_no_json_is_an_error_that_shows_it(dialect: str) -> None:
    with pytest.raises(ModelBadResponse, match="cannot be read: '<<garbage>>'"):
        ask(dialect, in_turn(Reply((b"data: <<garbage>>\n\n",))))


@each
@pytest.mark.parametrize("value", [None, 7, [], "text", {"choices": 7}, {"type": 7, "delta": []}, {"index": "x"}])
def test_json_of_any_other_shape_is_an_error_of_the_model_and_no_crash(dialect: str, value: object) -> None:
    with pytest.raises(ModelError):
        ask(dialect, in_turn(Reply((event(value),))))


@each
@pytest.mark.parametrize("kind", ["text/html", "application/json", ""])
def test_an_answer_that_is_no_stream_is_an_error_that_names_the_place(dialect: str, kind: str) -> None:
    page = Reply((b"<html><b>Sign in</b></html>",), content_type=kind)
    with pytest.raises(
        ModelBadResponse, match=r"at 127.0.0.1:\d+ answered with .* not with a stream: .*Sign in"
    ) as caught:
        ask(dialect, in_turn(page))
    assert "base URL" in str(caught.value.hint)


@each
def test_a_long_line_is_read_and_an_endless_one_is_not(dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    turn = Turn(text="x" * 3_000_000)
    assert len(text_of(plain(dialect, turn))) == 3_000_000
    monkeypatch.setattr(ways, "LONGEST_LINE", 1_000_000)
    with pytest.raises(ModelBadResponse, match="larger than any answer"):
        ask(dialect, in_turn(Reply(tuple(b"x" * 65_536 for _ in range(64)), then="stall")))


@each
def test_too_many_requests_are_waited_out_as_long_as_the_server_says(dialect: str) -> None:
    storm = (
        Reply(status=429, headers={"retry-after": "7"}),
        Reply(status=429, headers={"retry-after-ms": "250"}),
        Reply(status=429, headers={"retry-after": "Mon, 12 Jan 1970 13:46:50 GMT"}),  # ten seconds after `now`
    )
    waits = Waits()
    events, server = ask(dialect, in_turn(*storm, said(dialect, Turn(text="well"))), waits=waits)
    assert waits.delays == pytest.approx([7 * 1.05, 0.25 * 1.05, 10 * 1.05])
    assert [said.attempt for said in events if isinstance(said, Retrying)] == [2, 3, 4]
    assert (text_of(events), len(server.asked)) == ("well", 4)


@each
def test_without_a_word_from_the_server_the_waits_grow(dialect: str) -> None:
    waits = Waits()
    with pytest.raises(ModelUnreachable, match=r"in trouble \(503\).*4 attempts"):
        ask(dialect, in_turn(Reply((b"down",), status=503, content_type="text/plain")), waits=waits)
    assert waits.delays == pytest.approx([0.375, 0.75, 1.5])


def error(kind: str, message: str) -> tuple[bytes, ...]:
    return (msgspec.json.encode({"error": {"type": kind, "code": kind, "message": message}}),)


REFUSALS: list[tuple[int, str, str, type[ModelError], int]] = [
    (401, "authentication_error", "invalid x-api-key", ModelUnauthorized, 1),
    (403, "permission_error", "not yours", ModelUnauthorized, 1),
    (404, "not_found_error", "model: nobody", ModelRejected, 1),
    (400, "invalid_request_error", "temperature is strange", ModelRejected, 1),
    (422, "", "unprocessable", ModelRejected, 1),
    (301, "", "", ModelRejected, 1),
    (429, "insufficient_quota", "You exceeded your current quota", ModelRateLimited, 1),
    (402, "", "Insufficient credits", ModelRateLimited, 1),
    (429, "rate_limit_error", "slow down", ModelRateLimited, 4),
    (500, "api_error", "oops", ModelUnreachable, 4),
    (529, "overloaded_error", "Overloaded", ModelUnreachable, 4),
    (504, "", "", ModelTimeout, 4),
    (408, "", "", ModelTimeout, 4),
    (413, "request_too_large", "Request exceeds the maximum size", ContextOverflow, 1),
    (400, "context_length_exceeded", "This model's maximum context length is 128000 tokens.", ContextOverflow, 1),
    (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", ContextOverflow, 1),
    (400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 1 + 2 > 3", ContextOverflow, 1),
    (400, "exceed_context_size_error", "the request exceeds the available context size", ContextOverflow, 1),
    (400, "", "The input token count (3) exceeds the maximum number of tokens allowed (2).", ContextOverflow, 1),
    (400, "", "Please reduce the length of the messages or completion.", ContextOverflow, 1),
    (400, "", "This model's maximum prompt length is 131072 but the request contains more", ContextOverflow, 1),
]  # fmt: skip


@pytest.mark.parametrize(("status", "kind", "message", "expected", "attempts"), REFUSALS)
def test_what_a_refusal_means_and_whether_it_is_tried_again(
    status: int, kind: str, message: str, expected: type[ModelError], attempts: int
) -> None:
    asked = 0

    def handle(_: object) -> Reply:
        nonlocal asked
        asked += 1
        return Reply(error(kind, message), status=status, content_type="application/json")

    with pytest.raises(ModelError) as caught:
        ask("chat", handle)
    assert (type(caught.value), asked) == (expected, attempts)
    assert message in caught.value.message


def test_a_server_that_wants_to_be_left_alone_for_long_is_not_waited_for() -> None:
    waits = Waits()
    with pytest.raises(ModelRateLimited, match="left alone for 3600 s"):
        ask("chat", in_turn(Reply(status=429, headers={"retry-after": "3600"})), waits=waits)
    assert waits.delays == []


STREAMED: list[tuple[str, bytes, type[ModelError], int]] = [
    ("messages", event({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "error"), ModelUnreachable, 4),
    ("messages", event({"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}, "error"), ModelRejected, 1),
    ("messages", event({"type": "error", "error": {"type": "authentication_error", "message": "no"}}), ModelUnauthorized, 1),
    ("responses", event({"type": "response.failed", "response": {"error": {"code": "rate_limit_exceeded", "message": "x"}}}), ModelRateLimited, 4),
    ("responses", event({"type": "response.failed", "response": {"error": {"code": "context_length_exceeded", "message": "x"}}}), ContextOverflow, 1),
    ("responses", event({"type": "error", "code": "server_error", "message": "x"}), ModelUnreachable, 4),
    ("chat", event({"error": {"code": 502, "message": "upstream"}}), ModelUnreachable, 4),
    ("chat", event({"error": {"code": 400, "message": "maximum context length is 5"}}), ContextOverflow, 1),
    ("chat", event({"error": "internal trouble"}), ModelUnreachable, 4),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "data", "expected", "attempts"), STREAMED)
def test_an_error_in_the_middle_of_a_stream_is_the_same_error(
    dialect: str, data: bytes, expected: type[ModelError], attempts: int
) -> None:
    asked = 0

    def handle(_: object) -> Reply:
        nonlocal asked
        asked += 1
        return Reply((*said(dialect, TURN).pieces[:2], data))

    with pytest.raises(ModelError) as caught:
        ask(dialect, handle)
    assert (type(caught.value), asked) == (expected, attempts)


def test_nobody_at_home_on_this_machine_is_said_at_once() -> None:
    async def collect() -> None:
        remote = Remote("ollama", OpenAIChat(), Endpoint("http://127.0.0.1:9/v1"), outside=Waits().outside())
        async for _ in remote.stream(HELLO):
            pass

    with pytest.raises(ModelUnreachable, match=r"ollama at 127.0.0.1:9 cannot be reached") as caught:
        asyncio.run(collect())
    assert caught.value.hint == "Is the server running?"


@each
def test_the_key_is_sent_and_in_no_error(dialect: str) -> None:
    echo = Reply(error("x", f"Incorrect API key provided: {KEY}."), status=401, content_type="application/json")
    with pytest.raises(ModelUnauthorized) as caught:
        ask(dialect, in_turn(echo))
    seen: BaseException | None = caught.value
    while seen is not None:
        assert KEY not in f"{seen!r} {seen} {getattr(seen, 'hint', '')}"
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    _, server = ask(dialect, played([TURN]))
    header = "x-api-key" if dialect == "messages" else "authorization"
    assert server.asked[0].headers[header].endswith(KEY)
    assert KEY.encode() not in server.asked[0].body


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
