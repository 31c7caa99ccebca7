"""Many requests at once: overload, ids in use, congestion, and nothing left behind."""

import asyncio
from typing import Any

from signoff.acp.memory_link import Link
from signoff.acp.peer import Call, Limits
from tests.acp.linked import alone, echo, pair, run, settle, told


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
