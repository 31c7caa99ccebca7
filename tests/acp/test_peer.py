"""The peer: concurrent, ordered, strict, cancellable both ways, and nothing is left behind."""

import asyncio
import gc
import random
import weakref
from typing import Any

import msgspec
import pytest

from signoff.acp.failures import ConnectionLost, RequestFailed, RequestTimedOut
from signoff.acp.peer import Call
from signoff.domain.errors import PeerError
from signoff.wire import acp_schema as schema
from tests.acp.linked import FRAMES, alone, echo, pair, run, settle, told
from tests.clauses import requirement


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
