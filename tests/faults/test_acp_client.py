"""What goes wrong between the real `signoff acp connect` (or `signoff.acp.Client`) and an agent: an agent that speaks
nonsense, dies in the middle of a question, falls silent, or whose answers race our cancels."""

import asyncio
import json
import os
import pathlib
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from signoff.acp import Client, Handlers, address, program
from signoff.acp.failures import RequestFailed
from signoff.acp.transports.socket_client import Reconnecting, SocketClient, dial
from signoff.domain.errors import PeerError
from signoff.wire import acp_schema as schema
from tests.acp.real import LIMIT, Line, says, script, websocket
from tests.acp.served import COMMAND, environment
from tests.clauses import requirement
from tests.cli.test_acp import connect, space

__all__ = ["space"]
NONSENSE = r"""
import json, sys

def say(value):
    sys.stdout.write((value if isinstance(value, str) else json.dumps(value)) + "\n")
    sys.stdout.flush()

WORDS = ["{nope", "[]", "42", "null", '{"jsonrpc":"1.0","id":1,"result":{}}', '{"id":1}', '{"jsonrpc":"2.0","id":{}}',
         '{"jsonrpc":"2.0","id":999,"result":{}}', '{"jsonrpc":"2.0","error":{"code":-32601,"message":"?"}}',
         '{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"},"result":1}', "\u2028", "\x00", "{" * 5000,
         '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"of_tomorrow"}}}',
         '{"jsonrpc":"2.0","method":"session/update","params":7}', '{"jsonrpc":"2.0","method":"_news"}',
         '{"jsonrpc":"2.0","id":' + "9" * 400 + ',"method":"_ask"}', '{"jsonrpc":"2.0","id":5,"method":"_ask"}']
RESULTS = {"initialize": {"protocolVersion": 1, "agentCapabilities": {"loadSession": "perhaps"}, "of": "tomorrow"},
           "session/new": {"sessionId": "s", "models": {"legacy": True}}, "session/prompt": {"stopReason": "end_turn"}}
for line in sys.stdin:
    frame = json.loads(line)
    for word in WORDS:
        say(word)
    if "method" not in frame or "id" not in frame:
        continue
    if frame["method"] == "session/prompt":
        block = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "still here"}}
        say({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": block}})
    say({"jsonrpc": "2.0", "id": frame["id"], "result": RESULTS[frame["method"]]})
    say({"jsonrpc": "2.0", "id": frame["id"], "result": {"stopReason": "refusal"}})
"""
DYING = r"""
import json, os, sys
for line in sys.stdin:
    frame = json.loads(line)
    if frame.get("method") == "session/prompt":
        option = {"optionId": "y", "name": "Yes", "kind": "allow_once"}
        params = {"sessionId": "s", "toolCall": {"toolCallId": "c", "title": "Anything"}, "options": [option]}
        print(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "session/request_permission", "params": params}), flush=True)
        os._exit(7)
    answer = {"initialize": {"protocolVersion": 1}, "session/new": {"sessionId": "s"}}[frame["method"]]
    print(json.dumps({"jsonrpc": "2.0", "id": frame["id"], "result": answer}), flush=True)
"""


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(LIMIT):
            await work()

    asyncio.run(limited())


def agent(folder: pathlib.Path, text: str) -> str:
    path = folder / "agent.py"
    path.write_text(text, encoding="utf-8")
    return f"{sys.executable} {path}"


@requirement("ACP-015", "ACP-016", "ACP-017", "ACP-029")
def test_an_agent_that_speaks_nonsense_is_understood_where_it_makes_sense(
    tmp_path: pathlib.Path, space: pathlib.Path
) -> None:
    ended = connect("--cmd", agent(tmp_path, NONSENSE), "--prompt", "are you there?", "--json")
    assert ended.returncode == 0, ended.stderr
    rows = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [row["text"] for row in rows if row["type"] == "session_update"] == ["still here"]
    assert [row["stopReason"] for row in rows if row["type"] == "prompt_result"] == ["end_turn"]


@requirement("ACP-007", "ACP-035")
def test_an_agent_that_dies_with_a_question_open_ends_the_conversation(
    tmp_path: pathlib.Path, space: pathlib.Path
) -> None:
    async def work() -> None:
        asked, withdrawn = asyncio.Event(), asyncio.Event()

        async def never(request: schema.RequestPermissionRequest) -> object:
            asked.set()
            try:
                return await asyncio.Event().wait()
            finally:
                withdrawn.set()

        command = tuple(agent(tmp_path, DYING).split())
        opening = program(command, cwd=str(space), environ=os.environ)
        async with Client.over(opening, Handlers(permission=never)) as client:
            session = await client.new_session(str(space))
            with pytest.raises(PeerError, match="status 7"):
                await session.prompt("go")
            await asked.wait()
            await withdrawn.wait()

    run(work)
    ended = connect("--cmd", agent(tmp_path, DYING), "--prompt", "go")
    assert (ended.returncode, ended.stdout) == (4, "")


def reaching(port: int) -> Any:
    factory = dial(
        f"ws://127.0.0.1:{port}/acp", heartbeat=8.0
    )  # the first prompt loads a lot, and no pong comes meanwhile
    return address(lambda: SocketClient(factory, Reconnecting(attempts=10, base_delay=0.05)))


@requirement("ACP-018", "ACP-026")
def test_a_line_that_falls_silent_is_given_up_and_the_session_taken_up_on_another(tmp_path: pathlib.Path) -> None:
    async def work() -> None:
        hangs = script(tmp_path, says("one", hang=True), says("two"))
        async with websocket(tmp_path, *hangs, "--ws-heartbeat-ms", "8000") as served, Line().to(served.port) as line:
            began = asyncio.Event()
            handlers = Handlers(update=lambda told: began.set())
            async with Client.over(reaching(line.port), handlers) as client:
                session = await client.new_session(str(tmp_path))
                prompting = asyncio.create_task(session.prompt("go"))
                await began.wait()
                line.cut()
                with pytest.raises(PeerError, match="connection was lost"):
                    await prompting
                line.mend()
                await session.cancel()  # the turn went on without us
                while True:
                    try:
                        answer = await session.prompt("again")
                    except RequestFailed as error:  # until the turn has stopped
                        assert "busy" in error.message
                    else:
                        break
                assert answer.stopReason == "end_turn"

    run(work)


@requirement("ACP-103", "ACP-106", "ACP-109")
def test_cancels_of_the_client_race_the_answers_and_each_call_ends_once(tmp_path: pathlib.Path) -> None:
    async def work() -> None:
        ends = {"end_turn": 0, "cancelled": 0, "withdrawn": 0}
        opening = program(tuple(COMMAND), cwd=str(tmp_path), environ=environment(tmp_path))
        async with Client.over(opening) as client:
            session = await client.new_session(str(tmp_path))
            for number in range(1_000):
                prompting = asyncio.create_task(session.prompt("hello"))
                for _ in range(number % 30):
                    await asyncio.sleep(0)
                if number % 30 == 0:
                    await asyncio.wait({prompting})  # these come too late, on every machine
                if number % 2:
                    await session.cancel()
                else:
                    prompting.cancel()  # tells the agent so
                try:
                    ends[(await prompting).stopReason] += 1
                except asyncio.CancelledError:
                    ends["withdrawn"] += 1
                except RequestFailed as error:  # the turn before is not over yet
                    assert "busy" in error.message
                    ends["withdrawn"] += 1
            assert client._peer is not None
            assert client._peer.pending == {}
        assert sum(ends.values()) == 1_000
        assert ends["end_turn"] and ends["withdrawn"], ends

    run(work)


@pytest.mark.parametrize("path", ["../../../../../../../../etc/hostname", "/etc/hostname", "link"])
def test_files_outside_the_workspace_are_not_the_agents(tmp_path: pathlib.Path, space: pathlib.Path, path: str) -> None:
    (space / "link").symlink_to("/etc/hostname")
    where = path if path.startswith("/") else str(space / path)
    text = f"""
import json, sys
told = []
for line in sys.stdin:
    frame = json.loads(line)
    if "method" not in frame:
        told.append(frame)
        if len(told) < 3:
            continue
        words = json.dumps(told)
        block = {{"sessionUpdate": "agent_message_chunk", "content": {{"type": "text", "text": words}}}}
        print(json.dumps({{"jsonrpc": "2.0", "method": "session/update", "params": {{"sessionId": "s", "update": block}}}}))
        print(json.dumps({{"jsonrpc": "2.0", "id": prompt, "result": {{"stopReason": "end_turn"}}}}), flush=True)
    elif frame["method"] == "session/prompt":
        prompt = frame["id"]
        write = {{"sessionId": "s", "path": {where!r}, "content": "theirs"}}
        run = {{"sessionId": "s", "command": "sh", "args": ["-c", "echo theirs > " + {where!r}]}}
        for number, (method, params) in enumerate([("fs/write_text_file", write), ("terminal/create", run),
                                                   ("fs/write_text_file", write)]):
            print(json.dumps({{"jsonrpc": "2.0", "id": number, "method": method, "params": params}}), flush=True)
    elif "id" in frame:
        answer = {{"initialize": {{"protocolVersion": 1}}, "session/new": {{"sessionId": "s"}}}}[frame["method"]]
        print(json.dumps({{"jsonrpc": "2.0", "id": frame["id"], "result": answer}}), flush=True)
"""
    before = pathlib.Path("/etc/hostname").read_text(encoding="utf-8")
    ended = connect("--cmd", agent(tmp_path, text), "--prompt", "go", "--permission-decision", "allow")
    assert ended.returncode == 0, ended.stderr
    written = [each for each in json.loads(ended.stdout) if each["id"] in (0, 2)]
    assert all("error" in each for each in written), written
    assert pathlib.Path("/etc/hostname").read_text(encoding="utf-8") == before
