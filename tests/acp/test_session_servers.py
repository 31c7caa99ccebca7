"""MCP servers a client gives a session: real ones, over standard streams and HTTP, on the real `signoff acp serve`. Their
tools pass the gate and are in the ledger, and the servers end with the session."""

import asyncio
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.acp.real import LIMIT, Client, calls, chooses, says, script, stdio

ROOT = pathlib.Path(__file__).parents[2]
ADD = calls("mcp__calc__add", a=20, b=22)


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(LIMIT):
            await work()

    asyncio.run(limited())


@pytest.fixture
def space(tmp_path: pathlib.Path) -> pathlib.Path:
    directory = tmp_path / "space"
    directory.mkdir()
    return directory


def local(mark: str) -> dict[str, Any]:
    return {
        "name": "calc",
        "command": sys.executable,
        "args": ["-m", "tests.fakes.mcp_server", mark],
        "env": [{"name": "PYTHONPATH", "value": str(ROOT)}, {"name": "GIVEN_KEY", "value": "given"}],
    }


@contextmanager
def remote() -> Iterator[dict[str, Any]]:
    command = [sys.executable, "-m", "tests.fakes.mcp_server", "--http"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield {
                "type": "http",
                "name": "calc",
                "url": f"http://127.0.0.1:{int(server.stdout.readline())}/mcp",
                "headers": [],
            }
        finally:
            server.kill()


def running(mark: str) -> list[int]:
    """Processes with this word on their command line."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                words = pathlib.Path("/proc", name, "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if mark.encode() in words:
                found.append(int(name))
    return found


async def opened(client: Client, space: pathlib.Path, server: dict[str, Any]) -> str:
    made = await client.ask("session/new", cwd=str(space), mcpServers=[server])
    return str(made["result"]["sessionId"])


def results(client: Client) -> list[tuple[str, Any]]:
    done = [each for each in client.updates() if each["sessionUpdate"] == "tool_call_update" and "status" in each]
    return [(each["status"], each.get("rawOutput")) for each in done]


def recorded(folder: pathlib.Path) -> list[dict[str, Any]]:
    files = sorted((folder / "XDG_STATE_HOME" / "signoff" / "runs").glob("*.jsonl"))
    return [json.loads(line)["what"] for file in files for line in file.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("kind", ["stdio", "http"])
@pytest.mark.parametrize(("answer", "passes"), [("allow_once", True), ("reject_once", False)])
def test_a_tool_of_a_sessions_server_is_asked_about_called_and_recorded(
    tmp_path: pathlib.Path, space: pathlib.Path, kind: str, answer: str, passes: bool
) -> None:
    async def work(server: dict[str, Any]) -> None:
        async with stdio(tmp_path, *script(tmp_path, ADD, says("done")), answer=chooses(answer)) as client:
            session = await opened(client, space, server)
            assert (await (await client.prompt(session, "add")))["result"] == {"stopReason": "end_turn"}
            question = await client.asked()
            assert question["params"]["toolCall"]["name"] == "mcp__calc__add"
            ((status, output),) = results(client)
            assert status == ("completed" if passes else "failed")
            assert ("42" in json.dumps(output)) is passes
        decided = [each for each in recorded(tmp_path) if "decided_by" in each]
        assert [(each["decided_by"], each["decision"]) for each in decided] == [
            ("person", "allow" if passes else "deny")
        ]

    if kind == "stdio":
        run(lambda: work(local(f"mark-{os.getpid()}-{answer}")))
    else:
        with remote() as server:
            run(lambda: work(server))


@pytest.mark.parametrize("end", ["session/close", "session/delete", "stdin"])
def test_a_sessions_server_ends_with_it_and_is_nobody_elses(
    tmp_path: pathlib.Path, space: pathlib.Path, end: str
) -> None:
    mark = f"mark-{os.getpid()}-{end.rpartition('/')[2]}"

    async def work() -> None:
        model = script(tmp_path, ADD, says("done"), ADD, says("done"))
        async with stdio(tmp_path, *model, answer=chooses("allow_once")) as client:
            session = await opened(client, space, local(mark))
            await (await client.prompt(session, "add"))
            assert running(mark)
            other = await client.session(space)
            await (await client.prompt(other, "add"))
            assert [status for status, _ in results(client)] == ["completed", "failed"]  # it has no such tool
            if end != "stdin":
                await client.ask(end, sessionId=session)
                assert running(mark) == []

    run(work)
    assert running(mark) == []


def test_a_server_that_cannot_be_had_leaves_the_session_usable(tmp_path: pathlib.Path, space: pathlib.Path) -> None:
    async def work() -> None:
        async with stdio(tmp_path, *script(tmp_path, says("hello"))) as client:
            broken = {"name": "gone", "command": str(space / "nothing-here"), "args": [], "env": []}
            session = await opened(client, space, broken)
            assert (await (await client.prompt(session, "hi")))["result"] == {"stopReason": "end_turn"}
            sse = {"type": "sse", "name": "old", "url": "http://127.0.0.1:1/sse", "headers": []}
            refused = await client.ask("session/new", cwd=str(space), mcpServers=[sse])
            assert refused["error"]["code"] == -32_602

    run(work)
