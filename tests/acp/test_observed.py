"""What is observed of prompts, and that none of it enters a message."""

import asyncio
import pathlib
from typing import Any

import pytest

from signoff.acp.failures import RequestFailed
from signoff.acp.prompting import Terms
from signoff.acp.telemetry import Name, TelemetryEvent
from signoff.providers.echo import Echo
from signoff.providers.script import Failure, Turn
from signoff.wire import acp_schema as schema
from tests.acp.scene import Scene, calls, hangs, play, says, until_told
from tests.clauses import requirement


@requirement("ACP-122", "ACP-123", "ACP-124", "ACP-125", "ACP-127")
def test_what_is_observed_never_enters_a_message(tmp_path: pathlib.Path) -> None:
    seen: list[TelemetryEvent] = []

    async def act(scene: Scene) -> None:
        (scene.workspace / "a.txt").write_text("hello\n")
        client = await scene.client(["reject_once"])
        session = await scene.session(client)
        await client.prompt(session, "go")
        stopping = asyncio.create_task(client.prompt(session, "hang"))
        await until_told(client, "thinking")
        await client.peer.notify("session/cancel", {"sessionId": session})
        await stopping
        with pytest.raises(RequestFailed):
            await client.prompt(session, "fail")
        await client.request("session/load", sessionId=session, cwd=str(scene.workspace), mcpServers=[])
        await client.request("session/delete", sessionId=session)
        names = [event.name for event in seen]
        assert names == [
            Name.SESSION_NEW,
            Name.PROMPT_REQUESTED,
            Name.PROMPT_STARTED,
            Name.PROMPT_COMPLETED,
            Name.PROMPT_REQUESTED,
            Name.PROMPT_STARTED,
            Name.PROMPT_CANCELLED,
            Name.PROMPT_REQUESTED,
            Name.PROMPT_STARTED,
            Name.PROMPT_FAILED,
            Name.SESSION_LOAD,
            Name.SESSION_DELETE,
        ]
        assert {event.session_id for event in seen} == {session}
        assert all(event.timestamp > 0 for event in seen)
        assert {event.request_id for event in seen if event.name is Name.PROMPT_STARTED} == {"s2c-3", "s2c-4", "s2c-6"}
        payload = b"\n".join(client.far.sent).decode()
        assert not [word for word in (*Name, "telemetry", "requestId", "attributes", "s2c-") if f'"{word}' in payload]

    turns = [
        calls("delete_file", path="a.txt"),
        says("ok"),
        hangs("thinking"),
        Turn(error=Failure("model.failed", "x")),
    ]
    play(lambda: Scene(tmp_path, turns, sink=seen.append), act)


@requirement("ACP-124")
def test_refusals_and_timeouts_are_observed(tmp_path: pathlib.Path) -> None:
    seen: list[TelemetryEvent] = []

    async def refused(scene: Scene) -> None:
        client = await scene.client(["reject_once"])
        await client.prompt(await scene.session(client), "go")

    async def late(scene: Scene) -> None:
        client = await scene.client()
        with pytest.raises(RequestFailed):
            await client.prompt(await scene.session(client), "go")

    play(lambda: Scene(tmp_path, sink=seen.append, terms=Terms(asks=True)), refused)
    play(lambda: Scene(tmp_path, [hangs("x")], sink=seen.append, terms=Terms(timeout_s=0.05)), late)
    assert Name.PROMPT_PERMISSION_DENIED in [event.name for event in seen]
    assert seen[-1].name is Name.PROMPT_TIMED_OUT


@requirement("ACP-125")
def test_a_sink_that_fails_changes_nothing(tmp_path: pathlib.Path) -> None:
    def broken(event: TelemetryEvent) -> None:
        raise OSError("disk full")

    async def act(scene: Scene) -> None:
        client = await scene.client()
        session = await scene.session(client)
        assert await client.prompt(session, "hello") == "end_turn"
        assert len(scene.warned) == 1

    play(lambda: Scene(tmp_path, provider=Echo(), sink=broken), act)


@requirement("ACP-126")
def test_a_retried_prompt_is_observed_and_begins_its_message_anew(tmp_path: pathlib.Path) -> None:
    from signoff.providers.provider import Retrying, Stopped, TextDelta

    seen: list[TelemetryEvent] = []

    class Shaky:
        name = "shaky"

        async def stream(self, request: object) -> Any:
            yield TextDelta("hal")
            yield Retrying(2, 0.0, "the stream was cut")
            yield TextDelta("whole")
            yield Stopped("end")

        async def models(self) -> tuple[str, ...]:
            return ()

        async def aclose(self) -> None:
            return None

    async def act(scene: Scene) -> None:
        client = await scene.client()
        session = await scene.session(client)
        assert await client.prompt(session, "go") == "end_turn"
        chunks = [one.update for one in client.updates if isinstance(one.update, schema.AgentMessageChunk)]
        assert len({chunk.messageId for chunk in chunks}) == 2
        (retry,) = [event for event in seen if event.name is Name.PROMPT_RETRY]
        assert (retry.attributes["attempt"], retry.attributes["reason"]) == (2, "the stream was cut")

    play(lambda: Scene(tmp_path, provider=Shaky(), sink=seen.append), act)
