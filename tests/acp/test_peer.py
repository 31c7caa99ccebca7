"""The peer: concurrent, ordered, strict, cancellable both ways, and nothing is left behind."""

import asyncio
import gc
import json
import random
import weakref
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
import pytest

from signoff.acp.failures import ConnectionLost, RequestFailed, RequestTimedOut
from signoff.acp.memory_link import Link, join
from signoff.acp.peer import Call, Handler, Limits, Peer
from signoff.domain.errors import PeerError
from signoff.wire import acp_schema as schema
from tests.clauses import requirement

LIMIT = 120.0  # seconds no test comes near, however busy the machine


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(LIMIT):
            await work()

    asyncio.run(limited())


def alone(handlers: Mapping[str, Handler] | None = None, **options: Any) -> tuple[Peer, Link]:
    link = Link()
    return Peer(link, "agent", handlers or {}, **options), link


def pair(agent: Mapping[str, Handler], client: Mapping[str, Handler] | None = None) -> tuple[Peer, Peer]:
    one, other = Peer(Link(), "agent", agent), Peer(Link(), "client", client or {})
    join(one, other)
    return one, other


def told(link: Link) -> list[Any]:
    return [json.loads(frame) for frame in link.sent]


async def settle() -> None:
    """Let everything that can run without outside events run."""
    for _ in range(20):
        await asyncio.sleep(0)


def echo(_call: Call, params: Any) -> object:
    return {"echo": params}


FRAMES: list[tuple[str, bytes, object]] = [
    ("bad JSON", b"{nope", (None, -32700)),
    ("half a frame", b'{"jsonrpc":"2.0","id":1', (None, -32700)),
    ("empty line", b"  ", (None, -32700)),
    ("array", b'[{"jsonrpc":"2.0","id":1,"method":"_echo"}]', (None, -32600)),
    ("empty array", b"[]", (None, -32600)),
    ("scalar", b"42", (None, -32600)),
    ("null", b"null", (None, -32600)),
    ("no jsonrpc", b'{"id":1,"method":"_echo"}', (1, -32600)),
    ("jsonrpc 1.0", b'{"jsonrpc":"1.0","id":1,"method":"_echo"}', (1, -32600)),
    ("id object", b'{"jsonrpc":"2.0","id":{},"method":"_echo"}', (None, -32600)),
    ("id fraction", b'{"jsonrpc":"2.0","id":1.5,"method":"_echo"}', (None, -32600)),
    ("method number", b'{"jsonrpc":"2.0","id":1,"method":7}', (1, -32600)),
    ("params scalar", b'{"jsonrpc":"2.0","id":1,"method":"_echo","params":7}', (1, -32600)),
    ("unknown method", b'{"jsonrpc":"2.0","id":1,"method":"session/dance"}', (1, -32601)),
    ("unknown extension", b'{"jsonrpc":"2.0","id":1,"method":"_dance"}', (1, -32601)),
    ("unknown notification", b'{"jsonrpc":"2.0","method":"session/dance"}', None),
    ("unknown extension notification", b'{"jsonrpc":"2.0","method":"_dance"}', None),
    ("cancel of nothing", b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":77}}', None),
    ("cancel that cannot be read", b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{}}', None),
    (
        "params of the wrong shape",
        b'{"jsonrpc":"2.0","id":1,"method":"authenticate","params":{"methodId":3}}',
        (1, -32602),
    ),
    ("answer nobody asked for", b'{"jsonrpc":"2.0","id":99,"result":{}}', None),
    ("error answer without id", b'{"jsonrpc":"2.0","error":{"code":-32601,"message":"?"}}', None),
    ("result and error", b'{"jsonrpc":"2.0","id":9,"result":1,"error":{"code":1,"message":"m"}}', (None, -32600)),
    ("not UTF-8", b'{"jsonrpc":"2.0","id":1,"method":"_echo","params":{"a":"\xff"}}', (None, -32700)),
    ("string id", b'{"jsonrpc":"2.0","id":"a","method":"_echo"}', ("a", {"echo": {}})),
    ("null id", b'{"jsonrpc":"2.0","id":null,"method":"_echo"}', (None, {"echo": {}})),
]


@requirement("ACP-015", "ACP-016", "ACP-017", "ACP-029")
@pytest.mark.parametrize(("data", "answer"), [row[1:] for row in FRAMES], ids=[row[0] for row in FRAMES])
def test_every_frame_gets_its_answer_or_none_and_the_connection_lives_on(data: bytes, answer: object) -> None:
    async def work() -> None:
        peer, link = alone({"_echo": echo, "authenticate": echo})
        peer.receive(data)
        peer.receive(b'{"jsonrpc":"2.0","id":"alive","method":"_echo","params":{"x":1}}')
        *first, alive = told(link)
        assert alive == {"jsonrpc": "2.0", "id": "alive", "result": {"echo": {"x": 1}}}
        seen = [(frame["id"], frame.get("result", frame.get("error", {}).get("code"))) for frame in first]
        assert seen == ([] if answer is None else [answer])
        assert all(frame["jsonrpc"] == "2.0" and "id" in frame for frame in first)

    run(work)


def test_requests_run_at_once_and_are_answered_as_they_finish() -> None:
    async def work() -> None:
        gates = {name: asyncio.Event() for name in "abc"}

        async def wait(_call: Call, params: Any) -> object:
            await gates[params["gate"]].wait()
            return params

        agent, client = pair({"_wait": wait})
        asked = {name: asyncio.create_task(client.request("_wait", {"gate": name})) for name in "abc"}
        await settle()
        assert len(agent.running) == 3
        for name in "cab":
            gates[name].set()
            assert await asked[name] == {"gate": name}
        await settle()
        assert (agent.running, client.pending) == ({}, {})

    run(work)


def test_updates_go_out_before_the_result_of_their_handler() -> None:
    async def work() -> None:
        async def prompt(call: Call, _params: Any) -> object:
            for n in range(5):
                await call.peer.notify("_update", {"n": n})
            return {"done": True}

        peer, link = alone({"_prompt": prompt})
        peer.receive(b'{"jsonrpc":"2.0","id":1,"method":"_prompt"}')
        await settle()
        assert [frame.get("params", frame.get("result")) for frame in told(link)] == [
            *({"n": n} for n in range(5)),
            {"done": True},
        ]

    run(work)


def test_a_cancel_in_the_same_breath_never_overtakes_its_prompt() -> None:
    async def work() -> None:
        seen: list[str] = []

        async def prompt(_call: Call, params: Any) -> object:
            seen.append(params["name"])
            return {}

        def cancel(_call: Call, _params: Any) -> None:
            seen.append("cancel")

        peer, _ = alone({"_prompt": prompt, "_cancel": cancel})
        for name in ("a", "b"):
            peer.receive(
                b'{"jsonrpc":"2.0","id":"%b","method":"_prompt","params":{"name":"%b"}}' % ((name.encode(),) * 2)
            )
            peer.receive(b'{"jsonrpc":"2.0","method":"_cancel"}')
        await settle()
        assert seen == ["a", "cancel", "b", "cancel"]

    run(work)


@requirement("ACP-103", "ACP-105")
def test_cancel_request_ends_the_handler_and_is_answered_with_its_code() -> None:
    async def work() -> None:
        started = asyncio.Event()

        async def forever(_call: Call, _params: Any) -> object:
            started.set()
            await asyncio.Event().wait()
            return {}

        agent, client = pair({"_forever": forever})
        asked = asyncio.create_task(client.request("_forever", {}))
        await started.wait()
        client.notify_soon("$/cancel_request", schema.CancelRequestNotification(requestId=1))
        with pytest.raises(RequestFailed) as failed:
            await asked
        assert (failed.value.rpc_code, agent.running) == (-32800, {})

    run(work)


def test_an_error_answer_is_gone_with_whoever_caught_it() -> None:
    async def refuse(_call: Call, _params: Any) -> object:
        raise RequestFailed(1, "no")

    async def work() -> None:
        _agent, client = pair({"_refuse": refuse})
        try:
            await client.request("_refuse", {})
        except RequestFailed as error:
            caught = weakref.ref(error)
        await settle()
        assert caught() is None

    gc.disable()  # it must not need a search for cycles
    try:
        run(work)
    finally:
        gc.enable()


@requirement("ACP-103")
def test_cancelling_a_request_cascades_to_the_requests_its_handler_made() -> None:
    async def work() -> None:
        asking = asyncio.Event()
        inner_cancelled = asyncio.Event()

        async def prompt(call: Call, _params: Any) -> object:
            return await call.peer.request("_ask", {})

        async def ask(_call: Call, _params: Any) -> object:
            asking.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                inner_cancelled.set()
                raise
            return {}

        agent, client = pair({"_prompt": prompt}, {"_ask": ask})
        asked = asyncio.create_task(client.request("_prompt", {}))
        await asking.wait()
        asked.cancel()
        await inner_cancelled.wait()
        await settle()
        assert (agent.pending, agent.running, client.pending, client.running) == ({}, {}, {}, {})

    run(work)


def test_a_request_that_takes_too_long_tells_the_other_side() -> None:
    async def work() -> None:
        async def forever(_call: Call, _params: Any) -> object:
            await asyncio.Event().wait()
            return {}

        agent, client = pair({"_forever": forever})
        with pytest.raises(RequestTimedOut):
            await client.request("_forever", {}, within=0.01)
        await settle()
        assert (agent.running, client.pending) == ({}, {})
        assert client.counters.stray == 1  # the late answer, that nobody waits for

    run(work)


@requirement("ACP-106")
def test_a_cancel_that_races_the_result_gets_exactly_one_answer() -> None:
    async def work() -> None:
        draw = random.Random(7)

        async def brief(_call: Call, params: Any) -> object:
            for _ in range(params["turns"]):
                await asyncio.sleep(0)
            return {}

        peer, link = alone({"_brief": brief})
        tries = 10_000
        for number in range(tries):
            peer.receive(
                msgspec.json.encode(
                    {"jsonrpc": "2.0", "id": number, "method": "_brief", "params": {"turns": draw.randrange(4)}}
                )
            )
            for _ in range(draw.randrange(4)):
                await asyncio.sleep(0)
            peer.receive(
                msgspec.json.encode({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": number}})
            )
            if number % 50 == 0:
                await settle()
        await settle()
        answers = told(link)
        assert sorted(frame["id"] for frame in answers) == list(range(tries))
        codes = {frame["error"]["code"] if "error" in frame else 0 for frame in answers}
        assert codes == {0, -32800}
        assert peer.running == {}

    run(work)


@requirement("ACP-035")
def test_the_end_fails_everything_pending_at_once_and_cancels_what_runs() -> None:
    async def work() -> None:
        ended = asyncio.Event()

        async def prompt(call: Call, _params: Any) -> object:
            try:
                return await call.peer.request("_ask", {})
            finally:
                ended.set()

        peer, _ = alone({"_prompt": prompt})
        peer.receive(b'{"jsonrpc":"2.0","id":1,"method":"_prompt"}')
        asked = [asyncio.create_task(peer.request("_ask", {})) for _ in range(10)]
        await settle()
        assert len(peer.pending) == 11
        peer.end("the client hung up")
        for task in asked:
            with pytest.raises(ConnectionLost, match="hung up"):
                await task
        await peer.finished()
        assert (ended.is_set(), peer.closed.is_set(), peer.pending, peer.running) == (True, True, {}, {})
        peer.end("again")
        with pytest.raises(ConnectionLost, match="hung up"):
            await peer.request("_ask", {})
        with pytest.raises(ConnectionLost):
            await peer.notify("_tell", {})
        assert peer.ended == "the client hung up"

    run(work)


def test_a_broken_answer_fails_the_request_it_was_meant_for() -> None:
    async def work() -> None:
        peer, _ = alone()
        asked = asyncio.create_task(peer.request("_ask", {}))
        await settle()
        peer.receive(b'{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":"m"}}')
        with pytest.raises(PeerError, match="cannot be read"):
            await asked

    run(work)


def test_an_answer_of_the_wrong_type_is_an_error_of_that_request_only() -> None:
    async def work() -> None:
        peer, _ = alone()
        params = schema.ReadTextFileRequest(sessionId="s", path="/p")
        asked = asyncio.create_task(peer.request("fs/read_text_file", params))
        await settle()
        peer.receive(b'{"jsonrpc":"2.0","id":1,"result":{"content":5}}')
        with pytest.raises(PeerError, match="fs/read_text_file"):
            await asked
        assert peer.ended is None

    run(work)


def test_a_handlers_mistake_is_an_internal_error_and_is_reported() -> None:
    async def work() -> None:
        heard: list[str] = []

        def report(call: Call, error: BaseException) -> None:
            heard.append(f"{call.internal_id} {call.method} {error!r}")

        def plain(_call: Call, _params: Any) -> object:
            return 1 / 0

        async def later(_call: Call, _params: Any) -> object:
            return {"a": object()}

        async def told_of(_call: Call, _params: Any) -> object:
            raise KeyError("k")

        peer, link = alone({"_plain": plain, "_later": later, "_told": told_of}, report=report)
        peer.receive(b'{"jsonrpc":"2.0","id":1,"method":"_plain"}')
        peer.receive(b'{"jsonrpc":"2.0","id":2,"method":"_later"}')
        peer.receive(b'{"jsonrpc":"2.0","method":"_told"}')
        await settle()
        assert [(frame["id"], frame["error"]) for frame in told(link)] == [
            (1, {"code": -32603, "message": "Internal error"}),
            (2, {"code": -32603, "message": "Internal error"}),
        ]
        assert [line.split(" ")[:2] for line in heard] == [["s2c-1", "_plain"], ["s2c-2", "_later"], ["s2c-3", "_told"]]

    run(work)


def test_too_many_requests_at_once_are_refused_as_overload_and_answers_still_come_in() -> None:
    async def work() -> None:
        async def ask(call: Call, _params: Any) -> object:
            return await call.peer.request("_ask", {})

        peer, link = alone({"_ask": ask}, limits=Limits(requests=2))
        for number in range(3):
            peer.receive(b'{"jsonrpc":"2.0","id":"r%d","method":"_ask"}' % number)
        await settle()
        refused = [frame for frame in told(link) if "error" in frame]
        assert [(frame["id"], frame["error"]["data"]) for frame in refused] == [("r2", {"code": "overload"})]
        peer.receive(b'{"jsonrpc":"2.0","id":1,"result":{"a":1}}')
        await settle()
        assert told(link)[-1] == {"jsonrpc": "2.0", "id": "r0", "result": {"a": 1}}
        peer.end("done")
        await peer.finished()

    run(work)


def test_an_id_in_use_is_refused_and_null_ids_are_not_confused() -> None:
    async def work() -> None:
        gate = asyncio.Event()

        async def wait(_call: Call, params: Any) -> object:
            await gate.wait()
            return params

        peer, link = alone({"_wait": wait})
        peer.receive(b'{"jsonrpc":"2.0","id":1,"method":"_wait"}')
        peer.receive(b'{"jsonrpc":"2.0","id":1,"method":"_wait"}')
        peer.receive(b'{"jsonrpc":"2.0","id":null,"method":"_wait","params":{"n":1}}')
        peer.receive(b'{"jsonrpc":"2.0","id":null,"method":"_wait","params":{"n":2}}')
        await settle()
        assert [(frame["id"], frame["error"]["code"]) for frame in told(link)] == [(1, -32600)]
        gate.set()
        await settle()
        assert [(frame["id"], frame["result"]) for frame in told(link)[1:]] == [
            (1, {}),
            (None, {"n": 1}),
            (None, {"n": 2}),
        ]

    run(work)


def test_sends_wait_while_the_transport_is_congested_and_a_cancelled_one_keeps_no_place() -> None:
    async def work() -> None:
        peer, link = alone(limits=Limits(in_flight_sends=2))
        link.room.clear()
        sends = [asyncio.create_task(peer.notify("_n", {"n": n})) for n in range(5)]
        await settle()
        assert link.sent == []
        sends[0].cancel()
        sends[3].cancel()
        await settle()
        link.room.set()
        await asyncio.gather(*sends, return_exceptions=True)
        assert [frame["params"]["n"] for frame in told(link)] == [1, 2, 4]
        await asyncio.gather(*(peer.notify("_n", {"n": n}) for n in range(4)))

    run(work)


def test_two_hundred_parallel_requests_have_consecutive_ids_and_leave_nothing() -> None:
    async def work() -> None:
        async def twice(_call: Call, params: Any) -> object:
            await asyncio.sleep(0)
            return {"n": params["n"] * 2}

        agent, client = pair({"_twice": twice})
        answers = await asyncio.gather(*(client.request("_twice", {"n": n}) for n in range(200)))
        assert answers == [{"n": n * 2} for n in range(200)]
        assert isinstance(client.outlet, Link)
        assert [frame["id"] for frame in told(client.outlet)] == list(range(1, 201))
        await settle()
        assert (agent.running, client.pending) == ({}, {})

    run(work)


def test_a_thousand_requests_one_after_the_other_leave_nothing_pending() -> None:
    async def work() -> None:
        agent, client = pair({"_echo": echo})
        for n in range(1_000):
            assert await client.request("_echo", {"n": n}) == {"echo": {"n": n}}
        assert (agent.running, client.pending, client.counters.stray) == ({}, {}, 0)

    run(work)


def test_duplicate_and_unknown_answers_are_ignored() -> None:
    async def work() -> None:
        peer, _ = alone()
        asked = asyncio.create_task(peer.request("_ask", {}))
        await settle()
        for _ in range(2):
            peer.receive(b'{"jsonrpc":"2.0","id":1,"result":{"a":1}}')
        peer.receive(b'{"jsonrpc":"2.0","id":"1","result":{}}')
        assert await asked == {"a": 1}
        assert peer.counters.stray == 2

    run(work)
