"""Servers that refuse, are busy, fail in the middle or are not there."""

import asyncio

import msgspec
import pytest

from signoff.domain.errors import (
    ContextOverflow,
    ModelError,
    ModelRateLimited,
    ModelRejected,
    ModelTimeout,
    ModelUnauthorized,
    ModelUnreachable,
)
from signoff.providers.endpoint import Endpoint
from signoff.providers.openai_chat import OpenAIChat
from signoff.providers.provider import (
    Retrying,
)
from signoff.providers.remote import Remote
from signoff.providers.script import Turn
from tests.fakes.model_server import Reply, event, in_turn, played
from tests.providers.exchange import HELLO, KEY, TURN, Waits, ask, each, said, text_of

pytestmark = pytest.mark.usefixtures("way")


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
