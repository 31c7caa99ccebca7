"""The WebSocket server: who gets in, what a connection may do, many clients at once, and nothing left when they go."""

import asyncio
import json
import os
import socket as sockets
import subprocess
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from signoff.acp.peer import Call, Outlet, Peer
from signoff.acp.transports import loop
from signoff.acp.transports.admission import Admission, check_exposure, judge
from signoff.acp.transports.socket_outlet import SocketLimits
from signoff.acp.transports.websocket import CONNECTION_ID, Listen, SocketServer, listen
from signoff.domain.errors import ConfigUnreadable, UsageError
from tests.clauses import requirement
from tests.fakes.acp_agent import Agent

LIMIT = 300.0
PATIENT: dict[str, Any] = {"compression": None, "open_timeout": LIMIT, "ping_interval": None}
INITIALIZE = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}'


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(LIMIT):
            await work()

    loop.run(limited())


def serving(work: Callable[[SocketServer, int], Awaitable[None]], **options: Any) -> None:
    async def whole() -> None:
        async with listen(Agent().make_peer, Listen(port=0, **options)) as (server, port):
            await work(server, port)

    run(whole)


async def arrive(port: int, **options: Any) -> ClientConnection:
    client = await connect(f"ws://127.0.0.1:{port}/acp", **(PATIENT | options))
    await client.send(INITIALIZE)
    assert json.loads(await client.recv())["result"]["protocolVersion"] == 1
    return client


async def ask(client: ClientConnection, request_id: object, method: str, params: object = None) -> Any:
    await client.send(json.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params or {}}))
    return json.loads(await client.recv())


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.001)


HERE = {"host": ["127.0.0.1:8900"]}
ADMISSIONS: list[tuple[str, Admission, str, Mapping[str, Sequence[str]], int]] = [
    ("plain", Admission(), "/acp", HERE, 0),
    ("with a query", Admission(), "/acp?x=1", HERE, 0),
    ("by name", Admission(), "/acp", {"host": ["localhost:8900"]}, 0),
    ("by the other loopback", Admission(), "/acp", {"host": ["[::1]:8900"]}, 0),
    ("another path", Admission(), "/", HERE, 404),
    ("a path below", Admission(), "/acp/x", HERE, 404),
    ("a rebound name", Admission(), "/acp", {"host": ["evil.example:8900"]}, 403),
    ("a name that looks like ours", Admission(), "/acp", {"host": ["127.0.0.1.evil.example"]}, 403),
    ("no host", Admission(), "/acp", {}, 403),
    ("two hosts", Admission(), "/acp", {"host": ["127.0.0.1", "evil.example"]}, 403),
    ("a page", Admission(), "/acp", HERE | {"origin": ["https://evil.example"]}, 403),
    ("a page of this machine", Admission(), "/acp", HERE | {"origin": ["http://localhost:3000"]}, 403),
    ("a sandboxed page", Admission(), "/acp", HERE | {"origin": ["null"]}, 403),
    ("a listed page", Admission(origins=("https://ok.example",)), "/acp", HERE | {"origin": ["https://ok.example"]}, 0),
    ("no token", Admission(token="t"), "/acp", HERE, 401),
    ("a wrong token", Admission(token="t"), "/acp", HERE | {"authorization": ["Bearer u"]}, 401),
    ("a token of another kind", Admission(token="t"), "/acp", HERE | {"authorization": ["Basic t"]}, 401),
    ("two tokens", Admission(token="t"), "/acp", HERE | {"authorization": ["Bearer t", "Bearer u"]}, 401),
    ("the token", Admission(token="t"), "/acp", HERE | {"authorization": ["bearer t"]}, 0),
    ("our public name", Admission(host="0.0.0.0", token="t", hosts=("me.example",)), "/acp",
     {"host": ["me.example:1"], "authorization": ["Bearer t"]}, 0),
    ("loopback name at a public door", Admission(host="0.0.0.0", token="t"), "/acp",
     {"host": ["localhost"], "authorization": ["Bearer t"]}, 403),
]  # fmt: skip


@pytest.mark.parametrize(
    ("admission", "path", "headers", "status"), [r[1:] for r in ADMISSIONS], ids=[r[0] for r in ADMISSIONS]
)
def test_who_gets_in(admission: Admission, path: str, headers: Mapping[str, Sequence[str]], status: int) -> None:
    refusal = judge(admission, path, headers)
    assert (refusal.status if refusal else 0) == status


def test_past_this_machine_only_with_a_token() -> None:
    check_exposure(Admission(host="localhost"))
    check_exposure(Admission(host="0.0.0.0", token="t"))
    with pytest.raises(UsageError, match="token"):
        check_exposure(Admission(host="0.0.0.0"))


def test_the_door_answers_over_the_wire_and_names_the_connection() -> None:
    async def work(server: SocketServer, port: int) -> None:
        for path, headers, status in (
            ("/other", {"Authorization": "Bearer t"}, 404),
            ("/acp", {}, 401),
            ("/acp", {"Authorization": "Bearer t", "Origin": "https://evil.example"}, 403),
        ):
            with pytest.raises(InvalidStatus) as refused:
                await connect(f"ws://127.0.0.1:{port}{path}", additional_headers=headers)
            assert refused.value.response.status_code == status
        one, two = [await arrive(port, additional_headers={"Authorization": "Bearer t"}) for _ in range(2)]
        ids = [client.response.headers[CONNECTION_ID] for client in (one, two) if client.response]
        assert set(ids) == set(server.connections)
        assert len(set(ids)) == 2
        assert one.response is not None
        assert "Sec-WebSocket-Extensions" not in one.response.headers
        assert "Server" not in one.response.headers
        await one.close()
        await two.close()
        await until(lambda: not server.connections)

    serving(work, admission=Admission(token="t"))


def test_one_connection_too_many_is_turned_away() -> None:
    async def work(_server: SocketServer, port: int) -> None:
        first = await arrive(port)
        with pytest.raises(InvalidStatus) as refused:
            await arrive(port)
        assert refused.value.response.status_code == 503
        await first.close()

    serving(work, connections=1)


def test_initialize_comes_first_and_once() -> None:
    async def work(_server: SocketServer, port: int) -> None:
        early = await connect(f"ws://127.0.0.1:{port}/acp", **PATIENT)
        await early.send('{"jsonrpc":"2.0","id":1,"method":"session/new","params":{}}')
        with pytest.raises(ConnectionClosed) as closed:
            await early.recv()
        assert closed.value.rcvd is not None
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1002, "First message must be initialize")
        garbled = await connect(f"ws://127.0.0.1:{port}/acp", **PATIENT)
        await garbled.send("{nope")
        assert json.loads(await garbled.recv())["error"]["code"] == -32700
        await garbled.send(INITIALIZE)
        assert json.loads(await garbled.recv())["id"] == 1
        assert (await ask(garbled, 2, "initialize", {"protocolVersion": 1}))["error"]["code"] == -32600
        assert (await ask(garbled, 3, "_unknown"))["error"]["code"] == -32601
        await garbled.close()

    serving(work)


def test_who_says_nothing_is_shown_out() -> None:
    async def work(server: SocketServer, port: int) -> None:
        silent = await connect(f"ws://127.0.0.1:{port}/acp", **PATIENT)
        with pytest.raises(ConnectionClosed):
            await silent.recv()
        await until(lambda: not server.connections)

    serving(work, initialize=0.05)


def test_binary_frames_are_ignored_and_a_frame_over_the_limit_ends_the_connection() -> None:
    async def work(server: SocketServer, port: int) -> None:
        client = await arrive(port)
        await client.send(b'{"jsonrpc":"2.0","id":9,"method":"_x"}')
        assert (await ask(client, 10, "_x"))["id"] == 10
        await client.send('{"jsonrpc":"2.0","id":1,"method":"' + "x" * 2_000_000 + '"}')
        with pytest.raises(ConnectionClosed) as closed:
            await client.recv()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009
        await until(lambda: not server.connections)

    serving(work, limits=SocketLimits(frame=1_000_000))


@requirement("ACP-021", "ACP-022", "ACP-023", "ACP-024", "ACP-027")
def test_two_clients_that_both_count_from_one_never_get_each_others_answers() -> None:
    async def work(_server: SocketServer, port: int) -> None:
        async def converse(name: str) -> None:
            client = await arrive(port)
            session = (await ask(client, 1, "session/new", {"cwd": "/", "mcpServers": []}))["result"]["sessionId"]
            for turn in range(50):
                prompt = [{"type": "text", "text": f"{name}-{turn}"}]
                update = await ask(client, 1, "session/prompt", {"sessionId": session, "prompt": prompt})
                assert update["params"]["sessionId"] == session
                assert update["params"]["update"]["content"]["text"] == f"{name}-{turn}"
                assert json.loads(await client.recv()) == {
                    "jsonrpc": "2.0",
                    "id": 1,
                    "result": {"stopReason": "end_turn"},
                }
            await client.close()

        await asyncio.gather(converse("one"), converse("two"))

    serving(work)


@requirement("ACP-026", "ACP-035")
def test_a_client_that_vanishes_with_a_question_open_fails_it_at_once_and_leaves_nothing() -> None:
    async def work() -> None:
        async with listen(Agent().make_peer, Listen(port=0)) as (server, port):
            client = await arrive(port)
            question = await ask(client, 5, "_ask")
            assert question["method"] == "_question"
            (_, _, peer) = next(iter(server.connections.values()))
            client.transport.abort()
            await until(lambda: not server.connections and not peer.running)
            assert (peer.pending, peer.running, peer.ended) == ({}, {}, "the client hung up")

    run(work)


def test_a_question_is_answered_only_by_the_connection_it_was_put_to() -> None:
    async def work(_server: SocketServer, port: int) -> None:
        one, two = await arrive(port), await arrive(port)
        question = await ask(one, 5, "_ask", {"q": 1})
        forged = json.dumps({"jsonrpc": "2.0", "id": question["id"], "result": {"a": "forged"}})
        await two.send(forged)
        assert (await ask(two, 6, "_x"))["id"] == 6
        await one.send(json.dumps({"jsonrpc": "2.0", "id": question["id"], "result": {"a": "mine"}}))
        assert json.loads(await one.recv())["result"] == {"answer": {"a": "mine"}}
        await one.close()
        await two.close()

    serving(work)


@requirement("ACP-026")
def test_a_half_open_connection_is_found_by_its_silence() -> None:
    async def work(server: SocketServer, port: int) -> None:
        def handshake() -> sockets.socket:
            raw = sockets.create_connection(("127.0.0.1", port), timeout=LIMIT)
            raw.sendall(
                b"GET /acp HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
            )
            assert b"101" in raw.recv(4_096)
            return raw

        raw = await asyncio.to_thread(handshake)  # from now on it answers no ping and closes nothing
        await until(lambda: len(server.connections) == 1)
        await until(lambda: not server.connections)
        raw.close()

    serving(work, ping=1.0)


def test_a_client_that_takes_nothing_is_given_up() -> None:
    async def work() -> None:
        async def flood(call: Call, _params: Any) -> object:
            while True:
                await call.peer.notify("_n", {"pad": "x" * 100_000})

        agent = Agent()

        def make_peer(outlet: Outlet) -> Peer:
            return Peer(outlet, "agent", dict(agent.handlers()) | {"_flood": flood})

        async with listen(make_peer, Listen(port=0, ping=30, limits=SocketLimits(stall=0.1))) as (server, port):
            client = await arrive(port, max_queue=1)
            await client.send('{"jsonrpc":"2.0","id":5,"method":"_flood"}')
            await until(lambda: not server.connections)
            client.transport.abort()

    run(work)


@requirement("ACP-026")
def test_five_hundred_clients_that_reconnect_leave_no_route_and_no_descriptor_behind() -> None:
    async def work(server: SocketServer, port: int) -> None:
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(2):
            clients: list[ClientConnection] = []
            gate = asyncio.Semaphore(100)

            async def come(
                number: int, clients: list[ClientConnection] = clients, gate: asyncio.Semaphore = gate
            ) -> None:
                async with gate:
                    client = await arrive(port)
                clients.append(client)
                answer = await ask(client, number, "session/new", {"cwd": "/", "mcpServers": []})
                assert answer["id"] == number

            await asyncio.gather(*(come(number) for number in range(500)))
            assert len(server.connections) == 500
            for client in clients:
                client.transport.abort()
            await until(lambda: not server.connections)
        await until(lambda: len(os.listdir("/proc/self/fd")) <= before + 5)

    serving(work)


def test_tls_needs_both_files_and_usable_ones(tmp_path: Path) -> None:
    async def listen_with(**options: Any) -> None:
        async with listen(Agent().make_peer, Listen(port=0, **options)):
            pass

    with pytest.raises(UsageError, match="key"):
        run(lambda: listen_with(certificate="c.pem"))
    with pytest.raises(ConfigUnreadable):
        run(lambda: listen_with(certificate=str(tmp_path / "c.pem"), key=str(tmp_path / "k.pem")))


def test_with_a_certificate_the_connection_is_encrypted(tmp_path: Path) -> None:
    import ssl

    certificate, key = tmp_path / "c.pem", tmp_path / "k.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=LIMIT)
    except FileNotFoundError:
        pytest.skip("openssl makes the certificate, and it is not installed")

    async def work(_server: SocketServer, port: int) -> None:
        trust = ssl.create_default_context(cafile=str(certificate))
        async with connect(f"wss://127.0.0.1:{port}/acp", ssl=trust, compression=None) as client:
            await client.send(INITIALIZE)
            assert json.loads(await client.recv())["id"] == 1

    serving(work, certificate=str(certificate), key=str(key))


JSONISH = st.text(st.sampled_from('{}[]",:0123eE.-ntfu\\ aé'), max_size=60)
SHAPED = st.dictionaries(
    st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error"]),
    st.sampled_from(
        ["2.0", "1.0", 1, 1.5, None, True, "session/new", "initialize", "$/cancel_request", {}, [], {"cwd": 3}]
    ),
).map(json.dumps)


@settings(max_examples=20)
@given(st.lists(JSONISH | SHAPED, min_size=10, max_size=30))
def test_no_frame_ends_the_connection_but_the_limits(frames: list[str]) -> None:
    async def work(server: SocketServer, port: int) -> None:
        client = await arrive(port)
        for frame in frames:
            await client.send(frame)
        await client.send('{"jsonrpc":"2.0","id":"the last one","method":"_x"}')
        while json.loads(await client.recv()).get("id") != "the last one":
            pass
        await client.close()
        await until(lambda: not server.connections)

    serving(work)


def test_a_megabyte_goes_there_and_back() -> None:
    async def work(_server: SocketServer, port: int) -> None:
        client = await arrive(port)
        session = (await ask(client, 2, "session/new", {"cwd": "/", "mcpServers": []}))["result"]["sessionId"]
        prompt = [{"type": "text", "text": "é" * 500_000}]
        update = await ask(client, 3, "session/prompt", {"sessionId": session, "prompt": prompt})
        assert update["params"]["update"]["content"] == prompt[0]
        await client.close()

    serving(work)
