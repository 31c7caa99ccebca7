"""What goes wrong between an editor and the real `signoff acp serve`: lines that are cut, clients that vanish, storms,
frames that are none, cancels that race. Every frame the server sends is held against the protocol's schema."""

import asyncio
import base64
import pathlib
from collections.abc import Callable

import pytest

from signoff.acp.directory import MOST_WAITING
from tests.acp.linked import FRAMES, run
from tests.acp.real import (
    MODES,
    Client,
    Line,
    Served,
    calls,
    chooses,
    says,
    script,
    silent,
    stdio,
    websocket,
)
from tests.clauses import requirement

CANCELLED = -32_800


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.005)


async def settled(served: Served, session: str, space: pathlib.Path) -> Client:
    """The session, taken up by another client as soon as its turn is over."""
    async with served.client() as other:
        while True:
            await other.ask("session/load", sessionId=session, cwd=str(space), mcpServers=[])
            probe = await (await other.prompt(session, "/status"))
            if "result" in probe:
                return other


def deletes(space: pathlib.Path) -> list[str]:
    (space / "a.txt").write_text("content\n")
    return script(space.parent, calls("delete_file", path="a.txt"), says("done"))


@requirement("ACP-026", "ACP-035")
def test_a_half_open_connection_is_found_and_what_it_was_asked_is_a_no(
    tmp_path: pathlib.Path, space: pathlib.Path
) -> None:
    async def work() -> None:
        options = (*deletes(space), "--ws-heartbeat-ms", "5000")
        async with websocket(tmp_path, *options) as served:
            before = served.descriptors
            async with Line().to(served.port) as line, served.client(silent, port=line.port) as client:
                session = await client.session(space)
                await client.prompt(session, "go")
                await client.asked()
                line.cut()
                other = await settled(served, session, space)
            told = [update for update in other.updates(session) if update["sessionUpdate"] == "tool_call_update"]
            assert {update["status"] for update in told} == {"failed"}
            assert (space / "a.txt").exists()
            await until(lambda: served.descriptors <= before + 20)  # the session and its engine, no connection

    run(work)


@requirement("ACP-026", "ACP-035", "ACP-037", "ACP-121")
@pytest.mark.parametrize("mode", ["required", "permissive"])
def test_a_client_vanishes_with_a_question_open(tmp_path: pathlib.Path, space: pathlib.Path, mode: str) -> None:
    async def work() -> None:
        async with websocket(tmp_path, *deletes(space), "--permission-mode", mode) as served:
            async with served.connected() as (client, socket):
                await client.ask("initialize", protocolVersion=1)
                session = await client.session(space)
                await client.prompt(session, "go")
                await client.asked()
                socket.transport.abort()
            await settled(served, session, space)
        assert (space / "a.txt").exists() is (mode == "required")
        assert any("passed (permissive)" in line for line in served.said) is (mode == "permissive")

    run(work)


@requirement("ACP-022", "ACP-026", "ACP-056", "ACP-058")
def test_five_hundred_clients_come_back_at_once(tmp_path: pathlib.Path, space: pathlib.Path) -> None:
    """All have sent their first byte before any is answered: nobody waits for another, and each gets only its own."""
    count = 500

    async def work() -> None:
        async with websocket(tmp_path) as served:
            before = served.descriptors
            sessions: dict[int, str] = {}

            async def come(number: int, ready: asyncio.Barrier) -> None:
                async with served.connected() as (client, socket):
                    await ready.wait()
                    await client.ask("initialize", protocolVersion=1)
                    known = sessions.get(number)
                    if known is None:
                        sessions[number] = await client.session(space)
                    else:
                        assert "result" in await client.ask("session/resume", sessionId=known, cwd=str(space))
                    chosen = {"sessionId": sessions[number], "configId": "mode", "value": MODES[number % len(MODES)]}
                    assert "result" in await client.ask("session/set_config_option", **chosen)
                    told = [each["currentModeId"] for each in client.updates() if "currentModeId" in each]
                    assert told == [chosen["value"]]
                    assert client.updates() == client.updates(sessions[number])
                    await ready.wait()
                    socket.transport.abort()

            for _ in range(2):
                ready = asyncio.Barrier(count)
                await asyncio.gather(*(come(number, ready) for number in range(count)))
            await until(lambda: served.descriptors <= before + MOST_WAITING + 5)  # those who wait to be taken up
            async with served.client() as last:
                found = await last.ask("session/list")
            assert len(found["result"]["sessions"]) == 50

    run(work)


@requirement("ACP-021", "ACP-023", "ACP-024", "ACP-027")
def test_two_clients_that_both_count_from_one(tmp_path: pathlib.Path, space: pathlib.Path) -> None:
    async def work() -> None:
        async with websocket(tmp_path) as served, served.client() as one, served.client() as two:
            sessions = [await one.session(space), await two.session(space)]
            for number in range(100, 150):
                answers = [
                    await client.prompt(session, f"{number} {who}", request_id=number)
                    for client, session, who in zip((one, two), sessions, "ab", strict=True)
                ]
                assert [(await answer)["id"] for answer in answers] == [number, number]
            for client, session, who in zip((one, two), sessions, "ab", strict=True):
                assert client.updates() == client.updates(session)
                words = "".join(each["content"]["text"] for each in client.updates() if "content" in each)
                assert words == "".join(f"{number} {who}" for number in range(100, 150))
            stolen = await two.ask("session/set_mode", sessionId=sessions[0], modeId="plan")
            assert stolen["error"]["code"] == -32_002

    run(work)


@requirement("ACP-015", "ACP-016", "ACP-017")
@pytest.mark.parametrize("transport", ["stdio", "ws"])
def test_frames_that_are_none_are_answered_and_the_connection_lives_on(
    tmp_path: pathlib.Path, space: pathlib.Path, transport: str
) -> None:
    async def attack(client: Client, frames: list[tuple[str, bytes, object]]) -> None:
        session = await client.session(space)
        for name, data, answer in frames:
            before, alive = len(client.received), f"alive after {name}"
            await client.raw(data.decode("utf-8", "surrogateescape"))
            lives = await client.ask("session/close", request_id=alive, sessionId="nobody's")
            assert lives["error"]["code"] == -32_002, name
            said = [(each["id"], each["error"]["code"]) for each in client.received[before:] if each["id"] != alive]
            asked, told = answer if isinstance(answer, tuple) else (None, None)
            wanted = (asked, -32_601 if isinstance(told, dict) else told)  # here nobody echoes
            assert said == ([] if answer is None else [wanted]), name
        assert (await (await client.prompt(session, "hello")))["result"] == {"stopReason": "end_turn"}

    async def work() -> None:
        if transport == "stdio":
            async with stdio(tmp_path) as client:
                await attack(
                    client, [row for row in FRAMES if row[0] != "empty line"]
                )  # between lines there is nothing
        else:
            async with websocket(tmp_path) as served, served.client() as client:
                await attack(client, [row for row in FRAMES if row[0] != "not UTF-8"])  # no text frame can hold it

    assert len(FRAMES) >= 22
    run(work)


@requirement("ACP-103", "ACP-105", "ACP-106")
def test_ten_thousand_cancels_race_the_result_and_each_request_has_one_answer(
    tmp_path: pathlib.Path, space: pathlib.Path
) -> None:
    """Each prompt waits for our yes, and each cancel leaves a little later than the one before it: some come before the
    yes, some after it, most in between."""
    tries, abreast = 10_000, 20

    async def work() -> None:
        ends = {"result": 0, "cancelled": 0}
        asks = ("--permission-scope", "prompt")
        async with stdio(tmp_path, *asks, answer=chooses("allow_once")) as client:
            sessions = [await client.session(space) for _ in range(abreast)]

            async def race(session: str, numbers: range) -> None:
                for number in numbers:
                    name = f"race-{number}"
                    answer = await client.prompt(session, "hello", request_id=name)
                    for _ in range(number % 40):
                        await asyncio.sleep(0)
                    if number % 40 == 39:
                        await answer  # one in forty comes too late, on every machine
                    await client.notify("$/cancel_request", requestId=name)
                    frame = await answer
                    if "error" in frame:
                        assert frame["error"]["code"] == CANCELLED, frame
                        ends["cancelled"] += 1
                    else:
                        assert frame["result"] == {"stopReason": "end_turn"}, frame
                        ends["result"] += 1

            each = tries // abreast
            await asyncio.gather(
                *(race(session, range(each * place, each * (place + 1))) for place, session in enumerate(sessions))
            )
            for session in sessions:  # nothing is left running
                assert (await (await client.prompt(session, "still there?")))["result"] == {"stopReason": "end_turn"}
            answers = [frame["id"] for frame in client.received if "method" not in frame]
            assert len(answers) == len(set(answers))
        assert sum(ends.values()) == tries
        assert min(ends.values()) > 0, ends

    run(work)


@requirement("ACP-094")
def test_a_cursor_that_is_not_ours_is_refused(tmp_path: pathlib.Path, space: pathlib.Path) -> None:
    async def work() -> None:
        async with stdio(tmp_path, "--session-page-size", "2") as client:
            for _ in range(5):
                await client.session(space)
            first = (await client.ask("session/list"))["result"]
            good = first["nextCursor"]
            assert len((await client.ask("session/list", cursor=good))["result"]["sessions"]) == 2
            letters = [good[:place] + "!" + good[place + 1 :] for place in range(len(good))]
            cut = [good[:length] for length in range(1, len(good))]
            forged = [
                base64.urlsafe_b64encode(text).decode() for text in (b"[]", b"{}", b"null", b'["x","y"]', b"\xff")
            ]
            for cursor in (*letters, *cut, *forged, "\u0000", "é", "A" * 100_000):
                answer = await client.ask("session/list", cursor=cursor)
                assert answer.get("error", {}).get("code") == -32_602, (cursor[:80], answer)

    run(work)


@requirement("ACP-099", "ACP-104", "ACP-119")
@pytest.mark.parametrize("transport", ["stdio", "ws"])
def test_a_session_is_deleted_in_the_middle_of_its_prompt(
    tmp_path: pathlib.Path, space: pathlib.Path, transport: str
) -> None:
    async def delete(client: Client) -> None:
        session = await client.session(space)
        prompting = await client.prompt(session, "go")
        await client.asked()
        twice = [await client.begin("session/delete", sessionId=session) for _ in range(2)]
        assert [(await each).get("result") for each in twice] == [{}, {}]
        assert (await prompting)["result"] == {"stopReason": "cancelled"}
        assert (await client.ask("session/delete", sessionId=session))["result"] == {}
        assert (await client.ask("session/list"))["result"]["sessions"] == []
        for method in ("session/load", "session/resume"):
            gone = await client.ask(method, sessionId=session, cwd=str(space), mcpServers=[])
            assert gone["error"]["code"] == -32_002
        told = len(client.updates(session))
        await client.session(space)
        assert len(client.updates(session)) == told
        assert (space / "a.txt").exists()

    async def work() -> None:
        options = deletes(space)
        if transport == "stdio":
            async with stdio(tmp_path, *options) as client:
                await delete(client)
        else:
            async with websocket(tmp_path, *options) as served, served.client() as client:
                await delete(client)

    run(work)


@requirement("ACP-119")
def test_what_was_answered_for_good_goes_with_the_session(tmp_path: pathlib.Path, space: pathlib.Path) -> None:
    async def work() -> None:
        again = {"name": "delete_file", "args": {"path": "a.txt"}}
        model = script(tmp_path, {"tools": [again]}, says("one"), {"tools": [again]}, says("two"))
        async with stdio(tmp_path, *model, answer=chooses("reject_always")) as client:
            (space / "a.txt").write_text("content\n")
            session = await client.session(space)
            for _ in range(2):
                await (await client.prompt(session, "go"))
            questions = [frame for frame in client.received if frame.get("method") == "session/request_permission"]
            assert len(questions) == 1
            await client.ask("session/delete", sessionId=session)
            await (await client.prompt(await client.session(space), "go"))
            questions = [frame for frame in client.received if frame.get("method") == "session/request_permission"]
            assert len(questions) == 2

    run(work)
