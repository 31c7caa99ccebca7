"""Both ways with the official Python SDK: its client drives our agent, our peer drives its echo agent."""

import asyncio
import os
import pathlib
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from signoff.acp.failures import RequestFailed
from signoff.acp.peer import Call, Peer
from signoff.acp.transports import loop
from signoff.acp.transports.pipes import Pipes
from signoff.acp.transports.socket_client import Reconnecting, SocketClient, dial
from signoff.acp.transports.websocket import Listen, listen
from signoff.wire import acp_schema as schema
from tests.acp.served import COMMAND, environment
from tests.fakes.acp_agent import Agent

acp = pytest.importorskip("acp", reason="the official SDK (agent-client-protocol) is the peer")

ROOT = pathlib.Path(__file__).parents[2]
LIMIT = 120.0


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(LIMIT):
            await work()

    loop.run(limited())


class TheirClient(acp.Client):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        self.texts: list[str] = []
        self.options: list[str] = []

    def on_connect(self, conn: Any) -> None:
        pass

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        if update.session_update == "agent_message_chunk":
            self.texts.append(update.content.text)
        elif update.session_update == "config_option_update":
            self.options.append(update.config_options[0].current_value)


async def heard(told: list[str], letters: int) -> list[str]:
    """Their client may learn of an answer before it has handled the updates that came with it."""
    while len("".join(told)) < letters:
        await asyncio.sleep(0)
    return told


async def converse(connection: Any, client: TheirClient) -> None:
    assert (await connection.initialize(protocol_version=1)).protocol_version == 1
    session = await connection.new_session(cwd="/", mcp_servers=[])
    done = await connection.prompt(
        prompt=[acp.text_block("hello"), acp.text_block("again")], session_id=session.session_id
    )
    assert (done.stop_reason, await heard(client.texts, len("helloagain"))) == ("end_turn", ["hello", "again"])
    answer = await connection.set_config_option(config_id="effort", session_id=session.session_id, value="high")
    assert (answer.config_options[0].current_value, await heard(client.options, 1)) == ("high", ["high"])
    with pytest.raises(acp.RequestError) as failed:
        await connection.ext_method("nothing", {})
    assert failed.value.code == -32601


def test_their_client_drives_our_agent_over_stdio() -> None:
    async def work() -> None:
        client = TheirClient()
        command = (sys.executable, "-m", "tests.fakes.acp_agent")
        async with acp.spawn_agent_process(client, *command, cwd=ROOT) as (connection, _process):
            await converse(connection, client)

    run(work)


def test_their_client_drives_the_whole_program(tmp_path: pathlib.Path) -> None:
    async def work() -> None:
        client = TheirClient()
        places = environment(tmp_path)
        async with acp.spawn_agent_process(client, *COMMAND, cwd=tmp_path, env=places) as (connection, process):
            answer = await connection.initialize(protocol_version=65535)
            assert answer.protocol_version == 1
            session = await connection.new_session(cwd=str(tmp_path), mcp_servers=[])
            done = await connection.prompt(prompt=[acp.text_block("hello")], session_id=session.session_id)
            assert (done.stop_reason, "".join(await heard(client.texts, len("hello")))) == ("end_turn", "hello")
            listed = await connection.list_sessions()
            assert [one.session_id for one in listed.sessions] == [session.session_id]
            option = next(one for one in session.config_options if len(one.options) > 1)
            value = option.options[-1].value
            await connection.set_config_option(config_id=option.id, session_id=session.session_id, value=value)
            assert await heard(client.options, 1)
        assert process.returncode == 0

    run(work)


def test_their_client_drives_our_agent_over_websocket() -> None:
    async def work() -> None:
        from acp.ws import create_websocket_stream

        async with listen(Agent().make_peer, Listen(port=0)) as (_, port):
            client = TheirClient()
            stream = await create_websocket_stream(f"ws://127.0.0.1:{port}/acp")
            connection = acp.connect_to_agent(client, stream)
            await converse(connection, client)
            await connection.close()

    run(work)


class OurClient:
    def __init__(self) -> None:
        self.texts: list[str] = []

    def update(self, _call: Call, params: schema.SessionNotification) -> None:
        if isinstance(params.update, schema.AgentMessageChunk) and isinstance(
            params.update.content, schema.TextContent
        ):
            self.texts.append(params.update.content.text)

    async def converse(self, peer: Peer) -> None:
        answer = await peer.request("initialize", schema.InitializeRequest(protocolVersion=1))
        assert answer.protocolVersion == 1
        new = await peer.request("session/new", schema.NewSessionRequest(cwd="/", mcpServers=[]))
        prompt = [schema.TextContent(text="hello"), schema.TextContent(text="again")]
        done = await peer.request("session/prompt", schema.PromptRequest(sessionId=new.sessionId, prompt=prompt))
        assert (done, self.texts) == (schema.PromptResponse(stopReason="end_turn"), ["hello", "again"])
        set_option = schema.SetSessionConfigOptionRequest(sessionId=new.sessionId, configId="effort", value="high")
        assert (await peer.request("session/set_config_option", set_option)).configOptions[0].currentValue == "high"
        with pytest.raises(RequestFailed) as failed:
            await peer.request("session/nothing", {})
        assert failed.value.rpc_code == -32601


def test_our_peer_drives_their_echo_agent_over_stdio() -> None:
    async def work() -> None:
        ours = OurClient()
        command = [sys.executable, "-m", "benchmarks.acp_reference"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, bufsize=0) as child:
            assert child.stdin is not None
            assert child.stdout is not None
            pipes = Pipes(os.dup(child.stdout.fileno()), os.dup(child.stdin.fileno()))
            peer = Peer(pipes, "client", {"session/update": ours.update})
            pipes.start(peer)
            await ours.converse(peer)
            peer.end("done")
            child.stdin.close()
            assert await asyncio.to_thread(child.wait, LIMIT) == 0

    run(work)


def test_our_client_drives_our_agent_over_websocket() -> None:
    async def work() -> None:
        async with listen(Agent().make_peer, Listen(port=0)) as (_, port):
            ours = OurClient()
            outlet = SocketClient(dial(f"ws://127.0.0.1:{port}/acp"), Reconnecting())
            peer = Peer(outlet, "client", {"session/update": ours.update})
            greeted = asyncio.Event()

            async def hello() -> None:
                await ours.converse(peer)
                greeted.set()

            carrying = asyncio.create_task(outlet.run(peer, hello))
            await greeted.wait()
            peer.end("done")
            await carrying

    run(work)
