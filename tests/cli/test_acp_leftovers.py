"""What a server keeps of sessions that were closed and of clients that have gone: nothing, at once. Memory that only a
search for cycles gives back is not given back in time by a server with a hundred clients."""

import asyncio
import gc
import json
import pathlib
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from signoff.acp.memory_link import Link, join
from signoff.acp.peer import Outlet, Peer
from signoff.cli.output import Output
from signoff.cli.story import Story
from signoff.cli.wiring_acp import ServeOptions, agent_side

LIMIT = 180.0
SESSIONS = 3


def serving(model: str) -> ServeOptions:
    return ServeOptions(
        transport="ws",
        host="127.0.0.1",
        port=1,
        models=(model,),
        permission_mode="required",
        permission_scope="both",
        permission_timeout_ms=60_000,
        prompt_timeout_ms=60_000,
        session_ttl_ms=None,
        max_in_flight_sends=64,
        session_page_size=50,
        session_titles=True,
        client_terminals=False,
        strict_version=False,
        telemetry=None,
        token_file=None,
        allow_origin=(),
        ws_heartbeat_ms=0,
        tls_cert=None,
        tls_key=None,
    )


async def client(connect: Callable[[Outlet], Peer], space: pathlib.Path, ending: str) -> None:
    """Comes, opens sessions one after the other, has work done in each, and goes."""
    yes = {"outcome": {"outcome": "selected", "optionId": "allow_once"}}
    peer = Peer(Link(), "client", {"session/update": lambda *_: None, "session/request_permission": lambda *_: yes})
    far = connect(Link())
    join(peer, far)
    await peer.request("initialize", {"protocolVersion": 1})
    for _ in range(SESSIONS):
        session = (await peer.request("session/new", {"cwd": str(space), "mcpServers": []})).sessionId
        for text in ("one", "two"):
            content = [{"type": "text", "text": text}]
            answer = await peer.request("session/prompt", {"sessionId": session, "prompt": content})
            assert answer.stopReason == "end_turn"
        await peer.request(ending, {"sessionId": session})
    for one in (peer, far):
        one.end("done")
        await one.finished()


def ours() -> Counter[str]:
    kinds = (type(each) for each in gc.get_objects())
    names = (f"{kind.__module__}.{kind.__qualname__}" for kind in kinds)
    return Counter(name for name in names if name.startswith("signoff.") or name.endswith("_iterator"))


@pytest.mark.parametrize(
    "turns",
    [
        [{"text": "hello", "repeat": 2}],
        [
            {"tools": [{"name": "read_file", "args": {"path": "notes"}}]},
            {"text": "read"},
            {"tools": [{"name": "write_file", "args": {"path": "new", "content": "text"}}]},
            {"text": "written"},
        ],
        [
            {"tools": [{"name": "run_terminal_cmd", "args": {"command": "cat notes"}}]},
            {"text": "run"},
            {"tools": [{"name": "run_terminal_cmd", "args": {"command": "touch new"}}]},
            {"text": "run"},
        ],
    ],
    ids=["words", "files", "commands"],
)
@pytest.mark.parametrize("ending", ["session/close", "session/delete"])
def test_sessions_and_clients_leave_nothing_behind(
    turns: list[dict[str, Any]], ending: str, tmp_path: pathlib.Path, home: pathlib.Path
) -> None:
    space = tmp_path / "space"
    space.mkdir()
    (space / "notes").write_text("a note", encoding="utf-8")
    script = tmp_path / "script.json"
    script.write_text(json.dumps(turns), encoding="utf-8")

    async def work() -> tuple[Counter[str], Counter[str]]:
        output = Output(quiet=True)
        story = Story(output, str, None)
        agent = agent_side(output, serving(f"scripted/{script}"), story)
        connect = story.connecting(agent.connect)
        await client(connect, space, ending)  # fills what is loaded once
        gc.collect()
        before = ours()
        await client(connect, space, ending)
        after = ours()
        for _ in range(500):  # what another thread is about to let go of is gone soon; a cycle stays
            if after <= before:
                break
            await asyncio.sleep(0.01)
            after = ours()
        await agent.aclose()
        return before, after

    async def bounded() -> tuple[Counter[str], Counter[str]]:
        async with asyncio.timeout(LIMIT):
            return await work()

    gc.disable()
    try:
        before, after = asyncio.run(bounded())
    finally:
        gc.enable()
    assert after - before == Counter()
