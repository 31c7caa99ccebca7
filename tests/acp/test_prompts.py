"""How prompts end, what is told of them and to whom, and what the editor does for them."""

import asyncio
import json
import pathlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from signoff.acp.failures import RequestFailed
from signoff.acp.live import Manner
from signoff.acp.prompting import Terms
from signoff.providers.echo import Echo
from signoff.providers.provider import ModelEvent, ModelRequest
from signoff.providers.script import Failure, Turn
from signoff.wire import acp_schema as schema
from tests.acp.scene import Scene, calls, hangs, play, says, until_told
from tests.clauses import requirement


@requirement("ACP-065", "ACP-104")
def test_session_cancel_ends_the_prompt_and_nothing_more_is_told(tmp_path: pathlib.Path) -> None:
    async def act(scene: Scene) -> None:
        client = await scene.client()
        session = await scene.session(client)
        prompting = asyncio.create_task(client.prompt(session, "go"))
        await until_told(client, "thinking")
        told = len(client.updates)
        await client.peer.notify("session/cancel", {"sessionId": session})
        assert await prompting == "cancelled"
        assert len(client.updates) == told
        await client.peer.notify("session/cancel", {"sessionId": session})  # nothing left to cancel
        assert await client.prompt(session, "and now?") == "end_turn"

    play(lambda: Scene(tmp_path, [hangs("thinking"), says("here I am")]), act)


@requirement("ACP-103", "ACP-104", "ACP-105", "ACP-106")
def test_a_withdrawn_request_is_answered_as_cancelled(tmp_path: pathlib.Path) -> None:
    async def act(scene: Scene) -> None:
        client = await scene.client()
        session = await scene.session(client)
        content = [{"type": "text", "text": "go"}]
        prompting = asyncio.create_task(client.request("session/prompt", sessionId=session, prompt=content))
        await until_told(client, "thinking")
        (number,) = client.peer.pending
        await client.peer.notify("$/cancel_request", {"requestId": number})
        with pytest.raises(RequestFailed) as refused:
            await prompting
        assert refused.value.rpc_code == -32800
        assert not scene.directory.busy(session)

    play(lambda: Scene(tmp_path, [hangs("thinking")]), act)


class Hesitant(Echo):
    """Lets everybody else have a go between any two of its events."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        async for event in super().stream(request):
            for _ in range(5):
                await asyncio.sleep(0)
            yield event


def test_a_cancel_that_races_the_answer_gives_exactly_one(tmp_path: pathlib.Path) -> None:
    """Row 29 of the fault matrix."""

    async def act(scene: Scene) -> None:
        client = await scene.client()
        session = await scene.session(client)
        outcomes: dict[str, int] = {}
        for attempt in range(300):
            number = f"race-{attempt}"
            client.outlet.write(
                json.dumps(
                    {
                        "jsonrpc": "2.0",
                        "id": number,
                        "method": "session/prompt",
                        "params": {"sessionId": session, "prompt": [{"type": "text", "text": "hi"}]},
                    }
                ).encode()
            )
            for _ in range(attempt % 30):
                await asyncio.sleep(0)
            await client.peer.notify("$/cancel_request", {"requestId": number})
            while not (answers := [frame for frame in client.far.sent if f'"id":"{number}"'.encode() in frame]):
                await asyncio.sleep(0)
            while client.agent_peer.running or scene.directory.busy(session):
                await asyncio.sleep(0)
            answers = [json.loads(frame) for frame in client.far.sent if f'"id":"{number}"'.encode() in frame]
            assert len(answers) == 1
            how = "cancelled" if "error" in answers[0] else "result"
            outcomes[how] = outcomes.get(how, 0) + 1
        assert set(outcomes) == {"cancelled", "result"}, outcomes

    play(lambda: Scene(tmp_path, provider=Hesitant()), act)


@requirement("ACP-065")
def test_a_prompt_that_takes_too_long_is_stopped(tmp_path: pathlib.Path) -> None:
    async def act(scene: Scene) -> None:
        client = await scene.client()
        session = await scene.session(client)
        with pytest.raises(RequestFailed, match="stopped after"):
            await client.prompt(session, "go")
        assert not scene.directory.busy(session)

    play(lambda: Scene(tmp_path, [hangs("thinking")], terms=Terms(timeout_s=0.05)), act)


def test_a_second_prompt_waits_for_nothing(tmp_path: pathlib.Path) -> None:
    async def act(scene: Scene) -> None:
        client = await scene.client()
        session, other = await scene.session(client), await scene.session(client)
        prompting = asyncio.create_task(client.prompt(session, "go"))
        await until_told(client, "thinking")
        with pytest.raises(RequestFailed) as refused:
            await client.prompt(session, "me too")
        assert refused.value.rpc_code == -32602
        assert await client.prompt(other, "elsewhere") == "end_turn"
        await client.peer.notify("session/cancel", {"sessionId": session})
        assert await prompting == "cancelled"

    play(lambda: Scene(tmp_path, [hangs("thinking"), says("fine")]), act)


@pytest.mark.parametrize(
    ("turn", "stop"),
    [
        (Turn(text="cut", stop="length"), "max_tokens"),
        (Turn(text="no", stop="refused"), "refusal"),
        (Turn(error=Failure("model.unauthorized", "the key is wrong")), -32000),
        (Turn(error=Failure("model.failed", "on fire")), -32603),
    ],
)
def test_every_way_a_turn_ends_has_its_answer(tmp_path: pathlib.Path, turn: Turn, stop: str | int) -> None:
    async def act(scene: Scene) -> None:
        client = await scene.client()
        session = await scene.session(client)
        if isinstance(stop, str):
            assert await client.prompt(session, "go") == stop
            return
        with pytest.raises(RequestFailed) as refused:
            await client.prompt(session, "go")
        assert refused.value.rpc_code == stop

    play(lambda: Scene(tmp_path, [turn]), act)


@requirement("ACP-021", "ACP-025", "ACP-026", "ACP-027", "ACP-056", "ACP-057", "ACP-058")
def test_two_clients_with_the_same_ids_never_hear_each_other(tmp_path: pathlib.Path) -> None:
    """Row 27 of the fault matrix."""

    async def act(scene: Scene) -> None:
        one, two = await scene.client(), await scene.client()
        first, second = await scene.session(one), await scene.session(two)
        for round_ in range(20):
            assert await asyncio.gather(one.prompt(first, f"one {round_}"), two.prompt(second, f"two {round_}")) == [
                "end_turn",
                "end_turn",
            ]
        assert {update.sessionId for update in one.updates} == {first}
        assert {update.sessionId for update in two.updates} == {second}
        assert "two" not in one.text()
        with pytest.raises(RequestFailed) as refused:
            await two.prompt(first, "not mine")
        assert refused.value.rpc_code == -32002
        await two.peer.notify("session/cancel", {"sessionId": first})
        scene.part(two)
        assert await one.prompt(first, "alone") == "end_turn"

    play(lambda: Scene(tmp_path, provider=Echo()), act)


def test_a_session_outlives_its_connection(tmp_path: pathlib.Path) -> None:
    async def act(scene: Scene) -> None:
        client = await scene.client()
        session = await scene.session(client)
        await client.prompt(session, "remember me")
        scene.part(client)
        for method, expected in (("session/resume", False), ("session/load", True)):
            again = await scene.client()
            await again.request(method, sessionId=session, cwd=str(scene.workspace), mcpServers=[])
            assert ("user_message_chunk" in again.kinds()) == expected
            assert await again.prompt(session, "still here") == "end_turn"
            scene.part(again)

    play(lambda: Scene(tmp_path, provider=Echo()), act)


def test_an_idle_session_is_closed_and_can_be_taken_up_again(tmp_path: pathlib.Path) -> None:
    async def act(scene: Scene) -> None:
        client = await scene.client()
        session = await scene.session(client)
        await client.prompt(session, "hello")
        while len(scene.directory):
            await asyncio.sleep(0.005)
        with pytest.raises(RequestFailed) as refused:
            await client.prompt(session, "too late")
        assert refused.value.rpc_code == -32002
        await client.request("session/resume", sessionId=session, cwd=str(scene.workspace), mcpServers=[])

    play(lambda: Scene(tmp_path, provider=Echo(), idle_s=1.0), act)


def test_the_agent_asks_the_person_with_a_form_where_forms_are_offered(tmp_path: pathlib.Path) -> None:
    async def act(scene: Scene) -> None:
        asked: list[Any] = []

        async def form(call: object, request: schema.ElicitationForm) -> object:
            asked.append(request)
            return schema.ElicitationAccept(content={"answer": "blue"})

        client = await scene.client(handlers={"elicitation/create": form}, elicitation={"form": {}})
        assert await client.prompt(await scene.session(client), "go") == "end_turn"
        assert asked[0].message == "Which colour?"
        done = [one.update for one in client.updates if isinstance(one.update, schema.ToolCallProgress)]
        assert done[-1].rawOutput == {"answer": "blue"}
        plain = await scene.client(handlers={"elicitation/create": form})
        await plain.prompt(await scene.session(plain), "go")
        assert len(asked) == 1  # not offered, not asked

    ask = calls("ask_user", question="Which colour?", options=["red", "blue"])
    play(lambda: Scene(tmp_path, [ask, says("ok"), ask, says("ok")]), act)


def test_files_come_from_the_editor_where_it_offers_them(tmp_path: pathlib.Path) -> None:
    async def act(scene: Scene) -> None:
        (scene.workspace / "a.txt").write_text("saved\n")
        held = {"a.txt": "unsaved\n"}

        def read(call: object, request: schema.ReadTextFileRequest) -> object:
            return schema.ReadTextFileResponse(content=held[pathlib.Path(request.path).name])

        def write(call: object, request: schema.WriteTextFileRequest) -> object:
            held[pathlib.Path(request.path).name] = request.content
            return schema.WriteTextFileResponse()

        handlers: Any = {"fs/read_text_file": read, "fs/write_text_file": write}
        client = await scene.client(handlers=handlers, fs={"readTextFile": True, "writeTextFile": True})
        assert await client.prompt(await scene.session(client), "go") == "end_turn"
        assert held == {"a.txt": "changed\n"}
        assert (scene.workspace / "a.txt").read_text() == "saved\n"
        diffs = [
            content
            for one in client.updates
            if isinstance(one.update, schema.ToolCallProgress) and isinstance(one.update.content, list)
            for content in one.update.content
            if isinstance(content, schema.Diff)
        ]
        assert [(diff.oldText, diff.newText) for diff in diffs] == [("unsaved\n", "changed\n")]
        without = await scene.client(handlers=handlers)
        await without.prompt(await scene.session(without), "go")
        assert (scene.workspace / "a.txt").read_text() == "mine\n"

    turns = [
        calls("edit_file", path="a.txt", old="unsaved", new="changed"),
        says("ok"),
        calls("write_file", path="a.txt", content="mine\n"),
        says("ok"),
    ]
    play(lambda: Scene(tmp_path, turns), act)


def test_the_question_about_an_edit_shows_what_becomes_of_the_unsaved_text(tmp_path: pathlib.Path) -> None:
    async def act(scene: Scene) -> None:
        (scene.workspace / ".mcp.json").write_text("saved\n")

        def read(call: object, request: schema.ReadTextFileRequest) -> object:
            return schema.ReadTextFileResponse(content="unsaved\n")

        async def never(call: object, request: schema.ReadTextFileRequest) -> object:
            raise RequestFailed(-32603, "no such buffer")

        shown = []
        for handler in (read, never):
            client = await scene.client(["reject_once"], {"fs/read_text_file": handler}, fs={"readTextFile": True})
            await client.prompt(await scene.session(client), "go")
            ((diff),) = [each for each in client.asked[0].toolCall.content or [] if isinstance(each, schema.Diff)]
            shown.append((diff.oldText, diff.newText))
        assert shown == [("unsaved\n", "new\n"), ("saved\n", "new\n")]

    write = calls("write_file", path=".mcp.json", content="new\n")
    play(lambda: Scene(tmp_path, [write, says("ok"), write, says("ok")]), act)


@requirement("ACP-069")
def test_commands_run_in_the_clients_terminals_only_if_told_to(tmp_path: pathlib.Path) -> None:
    async def act(scene: Scene) -> None:
        told: list[str] = []

        def create(call: object, request: schema.CreateTerminalRequest) -> object:
            told.append(f"create {request.command} {request.args}")
            return schema.CreateTerminalResponse(terminalId="term-1")

        handlers: Any = {
            "terminal/create": create,
            "terminal/wait_for_exit": lambda call, request: schema.WaitForTerminalExitResponse(exitCode=3),
            "terminal/output": lambda call, request: schema.TerminalOutputResponse(output="out\n", truncated=False),
            "terminal/release": lambda call, request: told.append("release"),
        }
        client = await scene.client(["allow_once"], handlers=handlers, terminal=True)
        assert await client.prompt(await scene.session(client), "go") == "end_turn"
        assert told == ["create bash ['-c', 'ls']", "release"]
        done = [one.update for one in client.updates if isinstance(one.update, schema.ToolCallProgress)]
        assert [schema.Terminal(terminalId="term-1")] == done[0].content
        assert done[-1].rawOutput["exit_code"] == 3

    turns = [calls("run_terminal_cmd", command="ls"), says("ok")]
    play(lambda: Scene(tmp_path, turns, manner=Manner(client_terminals=True)), act)


def test_what_nobody_reads_holds_the_model_back(tmp_path: pathlib.Path) -> None:
    async def act(scene: Scene) -> None:
        client = await scene.client()
        session = await scene.session(client)
        client.far.room.clear()
        prompting = asyncio.create_task(client.prompt(session, "word " * 50))
        for _ in range(200):
            await asyncio.sleep(0)
        assert not prompting.done()
        client.far.room.set()
        assert await prompting == "end_turn"

    play(lambda: Scene(tmp_path, provider=Echo()), act)
