"""Recordings: what is in them, what is not, and that they can be played."""

import asyncio
import base64
import os
import pathlib
import stat

import pytest

from signoff.domain.errors import ConfigUnreadable, ModelBadResponse, ModelRateLimited
from signoff.domain.settings import Redact
from signoff.providers.anthropic import Anthropic
from signoff.providers.endpoint import Endpoint
from signoff.providers.priced import Priced, Prices
from signoff.providers.provider import Message, ModelEvent, ModelRequest, Provider, Stopped, Text, ToolRequest, Usage
from signoff.providers.recording import Recording
from signoff.providers.remote import Outside, Remote
from signoff.providers.script import Call, Failure, Tokens, Turn
from signoff.providers.scripted import Scripted
from tests.fakes.model_server import ModelServer, Reply, in_turn, messages

KEY = "a-key-without-any-shape"
TOKEN = "ghp_" + "R4nd0mLookingToken0123456789abcdefgh"[:36]
ASK = Message("user", (Text(f"use {TOKEN} and {KEY}"),))
ANSWER = Message("assistant", (Text("on it"),), tool_requests=(ToolRequest("call_1_1", "t", "{}"),))
TOLD = Message("tool", (Text("no such file"),), tool_request_id="call_1_1", is_error=True)


def events(provider: Provider, *conversation: Message) -> list[ModelEvent]:
    async def collect() -> list[ModelEvent]:
        try:
            return [event async for event in provider.stream(ModelRequest("small", conversation))]
        finally:
            await provider.aclose()

    return asyncio.run(asyncio.wait_for(collect(), 30))


async def at_once(_: float) -> None:
    return None


def recorded(path: pathlib.Path) -> None:
    """Two exchanges with a real server, the first after a cut."""
    secret = {"header": f"Bearer {TOKEN}", "other": KEY}
    first = Turn(text="on it", reasoning="think", tools=(Call("t", secret), Call("t", f"{{bad {TOKEN} {KEY}")))
    replies = (
        Reply(messages(first)[:4], then="cut"),
        Reply(messages(first)),
        Reply(messages(Turn(text=f"done with {TOKEN}", usage=Tokens(7, 3)))),
    )
    with ModelServer(in_turn(*replies)) as server:
        remote = Remote("anthropic", Anthropic(), Endpoint(server.url, KEY), outside=Outside(sleep=at_once))
        recording = Recording(remote, str(path), Redact.BASIC, (KEY,))
        events(recording, ASK)
        events(recording, ASK, ANSWER, TOLD)


def test_a_recording_holds_the_exchanges_and_no_secret(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "recording.jsonl"
    recorded(path)
    text = path.read_text(encoding="utf-8")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(text.splitlines()) == 2
    assert KEY not in text
    assert TOKEN not in text
    assert '"sig"' not in text
    for kept in ('"on it"', '"think"', '"no such file"', '"is_error":true', '"model":"small"', '"stop":"tool_calls"'):
        assert kept in text


@pytest.mark.parametrize("before", ["", "a", "user:", "Bearer "])
def test_the_key_is_hidden_in_other_spellings_too(tmp_path: pathlib.Path, before: str) -> None:
    path = tmp_path / "recording.jsonl"
    key = KEY.encode()
    told = [
        base64.b64encode(before.encode() + key + b"\n").decode(),
        key.hex(),
        "".join(f"%{byte:02X}" for byte in key),
    ]
    model = Scripted((Turn(text=" ".join(told), tools=(Call("t", {"sent": told}),)),))
    events(Recording(model, str(path), Redact.BASIC, (KEY,)), ASK)
    text = path.read_text(encoding="utf-8")
    assert not [spelling for spelling in told if spelling in text]


def test_a_pipe_that_nobody_reads_is_no_recording(tmp_path: pathlib.Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigUnreadable, match="cannot be written"):
        events(Recording(Scripted((Turn(text="so"),)), str(tmp_path / "pipe"), Redact.BASIC), ASK)


def test_a_recording_plays_like_the_model_it_was_made_of(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "recording.jsonl"
    recorded(path)
    replay = Scripted.read(str(path), faithful=True)
    first, second = events(replay, ASK), events(replay, ASK, ANSWER, TOLD)
    assert first[-1] == Stopped("tool_calls")
    assert second[-2:] == [Usage(7, 3), Stopped("end")]


def test_a_replay_stops_where_the_run_goes_another_way(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "recording.jsonl"
    recorded(path)
    replay = Scripted.read(str(path), faithful=True)
    events(replay, ASK)
    fine = Message("tool", (Text("done"),), tool_request_id="call_1_1")
    with pytest.raises(ModelBadResponse, match=r"at turn 2: tool \(failed\) then, tool now"):
        events(replay, ASK, ANSWER, fine)


def test_a_failure_is_recorded_and_played_as_a_failure(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "recording.jsonl"
    failing = Scripted((Turn(text="so", error=Failure("model.rate_limited", f"slow down, {KEY}")),))
    with pytest.raises(ModelRateLimited, match="slow down"):
        events(Recording(failing, str(path), Redact.STRICT, (KEY,)), ASK)
    with pytest.raises(ModelRateLimited, match=r"slow down, \[key\]"):
        events(Scripted.read(str(path)), ASK)


def test_a_price_gives_a_cost_where_the_vendor_told_none() -> None:
    turns = (Turn(usage=Tokens(1_000_000, 100_000, cached_tokens=400_000)), Turn(usage=Tokens(1, 1, cost_usd=9.0)))
    priced = Priced(Scripted(turns), Prices(input=3.0, output=15.0, cached=0.3))
    costs = [event.cost_usd for _ in turns for event in events(priced, ASK) if isinstance(event, Usage)]
    assert costs == pytest.approx([0.6 * 3 + 0.4 * 0.3 + 0.1 * 15, 9.0])
    assert Prices(3.0, 15.0).cost(Usage(1_000_000, 0, 400_000)) == pytest.approx(3.0)
