"""Clients of the real `signoff acp serve` that mean harm or want too much: ids that are paths, storms, bytes changed at random."""

import json
import pathlib
import random

import pytest

from tests.acp.linked import run
from tests.acp.real import (
    MODES,
    Client,
    stdio,
    websocket,
)

NAMES = ("../victim", "..", "", "/", "a/b", "\0", "index", "index.db", "x" * 5_000, "%2e%2e", "é", "ⅷ", "-rf", "~")


@pytest.mark.parametrize("transport", ["stdio", "ws"])
def test_a_session_id_is_never_a_path(tmp_path: pathlib.Path, space: pathlib.Path, transport: str) -> None:
    async def attack(client: Client) -> None:
        own = await client.session(space)
        sessions = next((tmp_path / "XDG_STATE_HOME").rglob("sessions"))
        victim = sessions.parent / "victim.jsonl"
        victim.write_text("keep\n", encoding="utf-8")
        for name in (*NAMES, str(victim.with_suffix("")), f"{own}/../{own}", f"{own}\n", own.upper()):
            for method in ("session/load", "session/resume", "session/fork", "session/close"):
                answer = await client.ask(method, sessionId=name, cwd=str(space), mcpServers=[])
                assert answer["error"]["code"] == -32_002, (method, name, answer)
            assert (await client.ask("session/delete", sessionId=name))["result"] == {}, name
        assert victim.read_text(encoding="utf-8") == "keep\n"
        assert sorted(path.name for path in sessions.glob("index*"))[0] == "index.db"
        assert (await (await client.prompt(own, "still mine")))["result"] == {"stopReason": "end_turn"}

    async def work() -> None:
        if transport == "stdio":
            async with stdio(tmp_path) as client:
                await attack(client)
        else:
            async with websocket(tmp_path) as served, served.client() as client:
                await attack(client)

    run(work)


def test_a_storm_of_cancels_and_a_prompt_of_ten_megabytes_leave_the_server_serving(
    tmp_path: pathlib.Path, space: pathlib.Path
) -> None:
    async def work() -> None:
        async with websocket(tmp_path) as served, served.client() as client, served.client() as other:
            session = await client.session(space)
            large = await client.prompt(session, "y" * 10_000_000)
            for number in range(5_000):
                await client.notify("$/cancel_request", requestId=f"nothing-{number}")
                await client.notify("session/cancel", sessionId="nobody's")
            assert (await large)["result"] == {"stopReason": "end_turn"}
            assert (await other.ask("session/list"))["result"]["sessions"]

    run(work)


def test_forty_sessions_two_hundred_at_once_and_a_thousand_in_a_row(
    tmp_path: pathlib.Path, space: pathlib.Path
) -> None:
    async def work() -> None:
        async with websocket(tmp_path) as served, served.client() as client:
            new = [await client.begin("session/new", cwd=str(space), mcpServers=[]) for _ in range(40)]
            sessions = [(await each)["result"]["sessionId"] for each in new]
            assert len(set(sessions)) == 40
            chosen = [
                await client.begin("session/set_mode", sessionId=sessions[number % 40], modeId=MODES[number % 3])
                for number in range(200)
            ]
            assert [(await each)["result"] for each in chosen] == [{}] * 200
            for number in range(1_000):
                answer = await client.ask("session/set_mode", sessionId=sessions[0], modeId=MODES[number % 3])
                assert answer["result"] == {}
            answers = [frame["id"] for frame in client.received if "method" not in frame]
            assert len(answers) == len(set(answers)) == len(client.sent)  # each has one, nothing is left

    run(work)


@pytest.mark.parametrize("seed", range(3))
def test_frames_with_changed_bytes_never_end_the_connection(
    tmp_path: pathlib.Path, space: pathlib.Path, seed: int
) -> None:
    chance = random.Random(seed)

    def changed(frame: bytes) -> bytes:
        data = bytearray(frame)
        for _ in range(chance.randint(1, 4)):
            place = chance.randrange(len(data))
            match chance.randrange(4):
                case 0:
                    data[place] = chance.choice(b'{}[]",:0-9eE\\ \x01\xff')
                case 1:
                    del data[place : place + chance.randint(1, 9)]
                case 2:
                    data[place:place] = data[place : place + chance.randint(1, 40)]
                case _:
                    data[place:place] = chance.choice([b"null", b"1e999", b'"\\ud800"', b"{}", b"[[[[", b"\x00"])
            data = data or bytearray(b"{")
        return bytes(data).replace(b"\n", b" ")

    async def work() -> None:
        async with stdio(tmp_path) as client:
            client.knows_what_it_asked = False
            session = await client.session(space)
            prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "hi"}]}
            place = {"sessionId": session, "cwd": str(space), "mcpServers": []}
            frames = [
                json.dumps({"jsonrpc": "2.0", "id": "f", "method": method, "params": params}).encode()
                for method, params in (
                    ("session/prompt", prompt),
                    ("session/load", place),
                    ("session/set_config_option", {"sessionId": session, "configId": "mode", "value": "plan"}),
                    ("session/list", {"cwd": str(space), "cursor": "x"}),
                    ("$/cancel_request", {"requestId": "f"}),
                    ("initialize", {"protocolVersion": 1, "clientCapabilities": {"fs": {"readTextFile": True}}}),
                )
            ]
            for _ in range(400):
                await client.raw(changed(chance.choice(frames)).decode("utf-8", "surrogateescape"))
            assert "result" in await client.ask("session/list", request_id="alive")

    run(work)
