"""With the official TypeScript SDK, both ways, and with acpx. `make acp-peers` fetches them; without them this is skipped."""

import asyncio
import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest

from signoff.acp.peer import Peer
from signoff.acp.transports import loop
from signoff.acp.transports.pipes import Pipes
from signoff.acp.transports.websocket import Listen, listen
from tests.acp.schema import Judge
from tests.acp.served import COMMAND, environment
from tests.acp.test_interop_sdk import OurClient
from tests.fakes.acp_agent import Agent

ROOT = pathlib.Path(__file__).parents[2]
PEERS = pathlib.Path(__file__).parent / "peers"
CACHE = (
    pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    / "signoff-acp-peers"
    / "node_modules"
)
NODE, SDK, ACPX = CACHE / ".bin" / "node", CACHE / "@agentclientprotocol" / "sdk", CACHE / "acpx" / "dist" / "cli.js"
OURS = [sys.executable, "-m", "tests.fakes.acp_agent"]
LIMIT = 120.0

pytestmark = pytest.mark.skipif(not NODE.exists(), reason=f"{NODE} is not here; `make acp-peers` fetches it")

SUMMARY = {
    "version": 1,
    "stop": "end_turn",
    "text": "hello from TypeScript",
    "changed": True,
    "unknown": -32601,
    "kinds": ["agent_message_chunk", "config_option_update"],
}


def node(*words: str, home: pathlib.Path | None = None) -> subprocess.CompletedProcess[str]:
    places = environment(home) if home else None
    return subprocess.run(
        [str(NODE), *words], cwd=ROOT, env=places, capture_output=True, text=True, timeout=LIMIT, check=False
    )


def test_the_typescript_client_drives_our_agent_over_stdio() -> None:
    done = node(str(PEERS / "client.mjs"), str(SDK), "stdio", *OURS)
    assert json.loads(done.stdout) == SUMMARY, done.stderr


def test_the_typescript_client_drives_the_whole_program(tmp_path: pathlib.Path) -> None:
    done = node(str(PEERS / "client.mjs"), str(SDK), "stdio", *COMMAND, home=tmp_path)
    summary = json.loads(done.stdout)
    kinds = summary.pop("kinds")
    assert summary == {key: value for key, value in SUMMARY.items() if key != "kinds"}, done.stderr
    assert kinds[:2] == ["available_commands_update", "plan"]
    assert {"agent_message_chunk", "config_option_update"} <= set(kinds)


def test_the_typescript_client_drives_our_agent_over_websocket() -> None:
    async def work() -> None:
        async with asyncio.timeout(LIMIT), listen(Agent().make_peer, Listen(port=0)) as (_, port):
            words = (str(PEERS / "client.mjs"), str(SDK), "ws", f"ws://127.0.0.1:{port}/acp")
            done = await asyncio.to_thread(node, *words)
            assert json.loads(done.stdout) == SUMMARY, done.stderr

    loop.run(work())


def test_our_peer_drives_the_typescript_echo_agent() -> None:
    async def work() -> None:
        ours = OurClient()
        command = [str(NODE), str(PEERS / "agent.mjs"), str(SDK)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as child:
            assert child.stdin is not None
            assert child.stdout is not None
            pipes = Pipes(os.dup(child.stdout.fileno()), os.dup(child.stdin.fileno()))
            peer = Peer(pipes, "client", {"session/update": ours.update})
            pipes.start(peer)
            async with asyncio.timeout(LIMIT):
                await ours.converse(peer)
            peer.end("done")
            child.stdin.close()
            assert await asyncio.to_thread(child.wait, LIMIT) == 0

    loop.run(work())


@pytest.mark.parametrize("ours", [OURS, COMMAND], ids=["fake", "signoff"])
def test_acpx_runs_a_prompt_and_every_frame_of_ours_is_right_by_the_schema(
    ours: list[str], tmp_path: pathlib.Path
) -> None:
    done = node(str(ACPX), "--agent", " ".join(ours), "--format", "json", "exec", "hello acpx", home=tmp_path)
    assert done.returncode == 0, done.stderr
    frames: list[Any] = [json.loads(line) for line in done.stdout.splitlines()]
    judge = Judge()
    for frame in frames:
        from_client = "method" in frame and "id" in frame
        judge.frame("client" if from_client else "agent", json.dumps(frame))
    assert judge.complaints == []
    assert "agent_message_chunk" in judge.kinds
    assert frames[-1]["result"] == {"stopReason": "end_turn"}
