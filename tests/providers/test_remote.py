"""What a model answers over HTTP, from a real server that speaks each API's streaming form, however the answer is cut or bent."""

from typing import Any

import pytest

from signoff.domain.errors import (
    ModelBadResponse,
    ModelCut,
    ModelError,
    ModelTimeout,
)
from signoff.providers import carrier as ways
from signoff.providers.dialect import Trouble
from signoff.providers.provider import (
    ReasoningDelta,
    Retrying,
    Stopped,
    ToolRequest,
    ToolRequested,
    Usage,
)
from signoff.providers.script import Call, Turn
from tests.fakes.model_server import Reply, event, in_turn
from tests.providers.exchange import ALL, TURN, Waits, ask, each, plain, said, text_of, whole

pytestmark = pytest.mark.usefixtures("way")


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
