"""A lost WebSocket is opened anew, whether a send or a receive found out; nothing that was asked hangs."""

import asyncio
import json
import os
import socket
from collections.abc import Callable

import pytest

from signoff.acp.failures import ConnectionLost
from signoff.acp.peer import Call, Limits, Outlet, Peer
from signoff.acp.transports import loop
from signoff.acp.transports.scripted import Scripted, ScriptedFactory
from signoff.acp.transports.socket_client import Reconnecting, SocketClient, dial
from signoff.acp.transports.websocket import Listen, listen
from tests.clauses import requirement
from tests.fakes.acp_agent import Agent

LIMIT = 120.0  # seconds no test comes near, however busy the machine
QUICK = Reconnecting(attempts=2, base_delay=0.001)


def answering(message: bytes) -> list[str]:
    frame = json.loads(message)
    return (
        [json.dumps({"jsonrpc": "2.0", "id": frame["id"], "result": {"seen": frame["method"]}})]
        if "id" in frame
        else []
    )


def failing_on(method: str) -> Callable[[bytes], list[str]]:
    def answer(message: bytes) -> list[str]:
        if json.loads(message)["method"] == method:
            raise ConnectionResetError("reset by the other side")
        return answering(message)

    return answer


class Client:
    def __init__(self, factory: ScriptedFactory, policy: Reconnecting = QUICK) -> None:
        self.outlet = SocketClient(factory, policy)
        self.peer = Peer(self.outlet, "client", {}, limits=Limits())
        self.hellos = 0
        self.ready = asyncio.Event()

    async def hello(self) -> None:
        await self.peer.request("_hello", {})
        self.hellos += 1
        self.ready.set()

    async def __aenter__(self) -> "Client":
        self._task = asyncio.create_task(self.outlet.run(self.peer, self.hello))
        return self

    async def __aexit__(self, *_: object) -> None:
        self.peer.end("done")
        await self._task


def run(work: Callable[[], object]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(LIMIT):
            await work()  # type: ignore[misc]

    loop.run(limited())


def methods(connection: Scripted) -> list[str]:
    return [json.loads(frame)["method"] for frame in connection.sent]


@requirement("ACP-019")
def test_a_send_that_fails_is_repeated_on_the_next_connection_after_the_hello() -> None:
    async def work() -> None:
        first, second = Scripted(failing_on("_ask")), Scripted(answering)
        factory = ScriptedFactory([first, second])
        async with Client(factory) as client:
            await client.ready.wait()
            assert await client.peer.request("_ask", {}) == {"seen": "_ask"}
            assert (methods(first), methods(second)) == (["_hello"], ["_hello", "_ask"])
            assert (factory.opened, client.hellos, client.outlet.reconnections, first.closed) == (2, 2, 1, True)
        assert second.closed

    run(work)


@requirement("ACP-019")
def test_a_receive_that_fails_fails_what_waits_and_the_next_request_uses_the_new_connection() -> None:
    async def work() -> None:
        def deaf(message: bytes) -> list[str]:
            return answering(message) if b"_hello" in message else []

        first, second = Scripted(deaf), Scripted(answering)
        async with Client(ScriptedFactory([first, second])) as client:
            await client.ready.wait()
            asked = asyncio.create_task(client.peer.request("_ask", {}))
            while "_ask" not in methods(first):
                await asyncio.sleep(0)
            client.ready.clear()
            first.lose(ConnectionResetError("reset by the other side"))
            with pytest.raises(ConnectionLost, match="reset"):
                await asked
            await client.ready.wait()
            assert await client.peer.request("_again", {}) == {"seen": "_again"}
            assert methods(second) == ["_hello", "_again"]

    run(work)


def test_after_so_many_failures_in_a_row_the_peer_ends() -> None:
    async def work() -> None:
        first = Scripted(answering)
        factory = ScriptedFactory([first, OSError("no route"), OSError("no route"), Scripted(answering)])
        async with Client(factory) as client:
            await client.ready.wait()
            first.lose(ConnectionResetError("gone"))
            await client.peer.closed.wait()
            assert factory.opened == 3
            assert "no route" in str(client.peer.ended)
            with pytest.raises(ConnectionLost):
                await client.peer.request("_ask", {})

    run(work)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ConnectionRefusedError("refused"), "refused"),
        (ConnectionRefusedError(111, "Connect call failed ('127.0.0.1', 1)"), "connection refused"),
        (socket.gaierror(-2, "Name or service not known"), "Name or service not known"),
    ],
    ids=["in words", "by number", "by name"],
)
def test_a_connection_that_never_came_about_is_not_tried_again(error: OSError, reason: str) -> None:
    async def work() -> None:
        factory = ScriptedFactory([error])
        async with Client(factory) as client:
            await client.peer.closed.wait()
            assert (factory.opened, client.hellos) == (1, 0)
            assert client.peer.ended == f"no connection to the agent: {reason}"

    run(work)


def test_a_server_that_drops_every_hello_is_given_up() -> None:
    async def work() -> None:
        first = Scripted(answering)
        script = [first, *(Scripted(failing_on("_hello")) for _ in range(9))]
        factory = ScriptedFactory(script)
        async with Client(factory) as client:
            await client.ready.wait()
            first.lose(ConnectionResetError("gone"))
            await client.peer.closed.wait()
            assert factory.opened == 3

    run(work)


@pytest.mark.parametrize(("attempt", "pause"), [(1, 0.2), (2, 0.4), (3, 0.8), (4, 1.6), (5, 3.0), (50, 3.0)])
def test_the_pause_doubles_up_to_three_seconds(attempt: int, pause: float) -> None:
    assert Reconnecting(attempts=50).pause(attempt) == pytest.approx(pause)


@requirement("ACP-018")
@pytest.mark.skipif(
    os.environ.get("RUN_LIVE_WS_RECONNECT_TESTS") != "1",
    reason="set RUN_LIVE_WS_RECONNECT_TESTS=1 to cut real connections",
)
def test_live_a_server_that_cuts_the_connection_is_found_again() -> None:
    async def work() -> None:
        agent = Agent()

        def make_peer(outlet: Outlet) -> Peer:
            return Peer(outlet, "agent", dict(agent.handlers()) | {"_echo": lambda _call, params: params})

        async with listen(make_peer, Listen(port=0)) as (server, port):
            outlet = SocketClient(dial(f"ws://127.0.0.1:{port}/acp"), QUICK)
            peer = Peer(outlet, "client", {})
            hellos = asyncio.Semaphore(0)

            async def hello() -> None:
                await peer.request("initialize", {"protocolVersion": 1})
                hellos.release()

            carrying = asyncio.create_task(outlet.run(peer, hello))
            await hellos.acquire()
            for turn in range(5):
                for socket, _, _ in list(server.connections.values()):
                    socket.transport.abort()
                await hellos.acquire()
                assert await peer.request("_echo", {"turn": turn}) == {"turn": turn}
            assert outlet.reconnections == 5
            peer.end("done")
            await carrying

    run(work)


def test_the_call_of_a_request_has_a_number_of_its_own() -> None:
    async def work() -> None:
        seen: list[str] = []

        def note(call: Call, _params: object) -> object:
            seen.append(call.internal_id)
            return {}

        agent = Agent()
        peers = []

        def make_peer(outlet: Outlet) -> Peer:
            peers.append(Peer(outlet, "agent", dict(agent.handlers()) | {"_note": note}, numbers=agent.numbers))
            return peers[-1]

        async with listen(make_peer, Listen(port=0)) as (_, port):
            for _ in range(2):
                connection = await dial(f"ws://127.0.0.1:{port}/acp")()
                for text in ('"initialize","params":{"protocolVersion":1}', '"_note"'):
                    await connection.send(b'{"jsonrpc":"2.0","id":1,"method":%b}' % text.encode(), text=True)
                    await anext(aiter(connection))
                await connection.close()
        assert seen == ["s2c-2", "s2c-4"]

    run(work)
