"""Asking the person behind a client: what they are shown, what their answers mean, what is remembered, what goes wrong."""

import asyncio
import pathlib
from collections.abc import Iterable

import pytest

from signoff.acp.live import Manner
from signoff.acp.permission import Memory, Mode, Scope, Standing
from signoff.acp.prompting import Terms
from signoff.wire import acp_schema as schema
from tests.acp.scene import ClientPeer, Scene, calls, hangs, play, says
from tests.clauses import requirement

DELETE = calls("delete_file", path="a.txt")
OTHER = calls("delete_file", path="b.txt")


async def run(scene: Scene, answers: Iterable[str | None]) -> tuple[ClientPeer, str, str]:
    for name in ("a.txt", "b.txt"):
        (scene.workspace / name).write_text("content\n")
    client = await scene.client(answers)
    session = await scene.session(client)
    return client, session, await client.prompt(session, "go")


@requirement("ACP-048", "ACP-049", "ACP-071", "ACP-118")
def test_the_question_shows_the_call_and_offers_the_four_answers(tmp_path: pathlib.Path) -> None:
    async def act(scene: Scene) -> None:
        client, session, stop = await run(scene, ["allow_once"])
        assert stop == "end_turn"
        assert not (scene.workspace / "a.txt").exists()
        (asked,) = client.asked
        call = next(one.update for one in client.updates if isinstance(one.update, schema.ToolCall))
        assert (asked.sessionId, asked.toolCall.toolCallId) == (session, call.toolCallId)
        assert (asked.toolCall.kind, asked.toolCall.status) == ("delete", "pending")
        assert isinstance(asked.toolCall.content, list)
        assert any(isinstance(one, schema.Diff) and one.oldText == "content\n" for one in asked.toolCall.content)
        kinds = [option.kind for option in asked.options]
        assert kinds == ["allow_once", "allow_always", "reject_once", "reject_always"]

    play(lambda: Scene(tmp_path, [DELETE, says("done")]), act)


@requirement("ACP-115", "ACP-116")
@pytest.mark.parametrize(
    ("answers", "questions", "kept"),
    [
        (["allow_always"], 1, 1),
        (["allow_once", "allow_once"], 2, 0),
        (["reject_always"], 1, 1),
        (["reject_once", "reject_once"], 2, 0),
    ],
)
def test_only_an_answer_for_good_is_remembered(
    tmp_path: pathlib.Path, answers: list[str], questions: int, kept: int
) -> None:
    async def act(scene: Scene) -> None:
        client, session, _ = await run(scene, answers)
        (scene.workspace / "a.txt").write_text("content\n")
        await client.prompt(session, "again")
        assert len(client.asked) == questions
        assert (scene.workspace / "a.txt").exists() == answers[0].startswith("reject")
        assert len(scene.directory.owned(scene.agent.link(client.agent_peer), session).memory) == kept

    play(lambda: Scene(tmp_path, [DELETE, says("1"), DELETE, says("2")]), act)


@requirement("ACP-115")
def test_what_is_remembered_covers_the_same_call_only_and_this_session_only(tmp_path: pathlib.Path) -> None:
    async def act(scene: Scene) -> None:
        client, session, _ = await run(scene, ["allow_always", "reject_once", "reject_once"])
        await client.prompt(session, "another file")
        assert (scene.workspace / "b.txt").exists()
        (scene.workspace / "a.txt").write_text("content\n")
        other = await scene.session(client)
        await client.prompt(other, "the same in another session")
        assert (scene.workspace / "a.txt").exists()
        assert len(client.asked) == 3

    play(lambda: Scene(tmp_path, [DELETE, says("1"), OTHER, says("2"), DELETE, says("3")]), act)


def test_an_option_that_was_not_offered_is_a_no(tmp_path: pathlib.Path) -> None:
    async def act(scene: Scene) -> None:
        await run(scene, ["yes-please"])
        assert (scene.workspace / "a.txt").exists()

    play(lambda: Scene(tmp_path, [DELETE, says("done")]), act)


def test_cancelled_stops_the_turn(tmp_path: pathlib.Path) -> None:
    async def act(scene: Scene) -> None:
        _, _, stop = await run(scene, ["cancelled"])
        assert stop == "cancelled"
        assert (scene.workspace / "a.txt").exists()

    play(lambda: Scene(tmp_path, [DELETE, says("done")]), act)


@requirement("ACP-036", "ACP-114", "ACP-120")
def test_disabled_asks_nobody(tmp_path: pathlib.Path) -> None:
    async def act(scene: Scene) -> None:
        client, _, stop = await run(scene, [])
        assert (stop, client.asked) == ("end_turn", [])
        assert not (scene.workspace / "a.txt").exists()

    assert Manner().permission is Mode.REQUIRED
    play(lambda: Scene(tmp_path, [DELETE, says("done")], manner=Manner(permission=Mode.DISABLED)), act)


@requirement("ACP-037", "ACP-121")
@pytest.mark.parametrize(("mode", "survives"), [(Mode.REQUIRED, True), (Mode.PERMISSIVE, False)])
def test_a_client_that_cannot_be_asked(tmp_path: pathlib.Path, mode: Mode, survives: bool) -> None:
    warned: list[str] = []

    async def act(scene: Scene) -> None:
        for name in ("a.txt", "b.txt"):
            (scene.workspace / name).write_text("content\n")
        client = await scene.client(handlers={"session/request_permission": _unwilling})
        session = await scene.session(client)
        assert await client.prompt(session, "go") == "end_turn"
        assert (scene.workspace / "a.txt").exists() == survives
        assert bool(warned) != survives

    play(lambda: Scene(tmp_path, [DELETE, says("done")], manner=Manner(permission=mode, warn=warned.append)), act)


async def _unwilling(call: object, request: object) -> object:
    raise ValueError("no window open")


@requirement("ACP-034", "ACP-035")
@pytest.mark.parametrize(("mode", "survives"), [(Mode.REQUIRED, True), (Mode.PERMISSIVE, False)])
def test_a_client_that_vanishes_with_a_question_open(tmp_path: pathlib.Path, mode: Mode, survives: bool) -> None:
    """Row 25 of the fault matrix: required is a no, permissive the documented fallback, which is said."""
    warned: list[str] = []

    async def act(scene: Scene) -> None:
        (scene.workspace / "a.txt").write_text("content\n")
        client = await scene.client([None])
        session = await scene.session(client)
        prompting = asyncio.create_task(client.prompt(session, "go"))
        while not client.asked:
            await asyncio.sleep(0)
        scene.part(client)
        with pytest.raises(Exception, match="gone"):
            await prompting
        other = await scene.client()
        while scene.directory.busy(session):
            await asyncio.sleep(0.001)
        await other.request("session/load", sessionId=session, cwd=str(scene.workspace), mcpServers=[])
        assert other.text() == "done"  # the turn ran on to its end
        assert (scene.workspace / "a.txt").exists() == survives
        assert bool(warned) != survives

    play(lambda: Scene(tmp_path, [DELETE, says("done")], manner=Manner(permission=mode, warn=warned.append)), act)


@pytest.mark.parametrize("mode", [Mode.REQUIRED, Mode.PERMISSIVE])
def test_a_question_nobody_answers_in_time_is_a_no_and_is_taken_back(tmp_path: pathlib.Path, mode: Mode) -> None:
    async def act(scene: Scene) -> None:
        client, _, stop = await run(scene, [None])
        assert stop == "end_turn"
        assert (scene.workspace / "a.txt").exists()
        assert not client.peer.running  # $/cancel_request reached the client

    play(lambda: Scene(tmp_path, [DELETE, says("done")], manner=Manner(permission=mode), limit_s=0.05), act)


@requirement("ACP-032", "ACP-033", "ACP-065", "ACP-117")
@pytest.mark.parametrize("answer", ["reject_once", "reject_always", "cancelled"])
def test_a_refused_prompt_reaches_no_model_and_tells_nothing(tmp_path: pathlib.Path, answer: str) -> None:
    async def act(scene: Scene) -> None:
        client, session, stop = await run(scene, [answer])
        assert (stop, client.kinds()) == ("cancelled", [])
        assert scene.engines.opened == []
        if answer == "reject_always":
            assert await client.prompt(session, "another") == "cancelled"
            assert len(client.asked) == 1

    play(lambda: Scene(tmp_path, [says("never said")], terms=Terms(asks=True)), act)


@requirement("ACP-032", "ACP-113")
def test_a_yes_to_the_prompt_is_a_yes_to_its_calls_if_only_prompts_are_asked_about(tmp_path: pathlib.Path) -> None:
    async def act(scene: Scene) -> None:
        client, session, stop = await run(scene, ["allow_always"])
        assert stop == "end_turn"
        assert not (scene.workspace / "a.txt").exists()
        assert await client.prompt(session, "once more") == "end_turn"
        assert len(client.asked) == 1

    manner = Manner(asks_about_calls=Scope.PROMPT.tools)
    play(lambda: Scene(tmp_path, [DELETE, says("1"), says("2")], manner=manner, terms=Terms(asks=True)), act)


@requirement("ACP-119")
def test_deleting_a_session_in_the_middle_of_a_prompt(tmp_path: pathlib.Path) -> None:
    """Row 31: the delete goes well, the prompt is cancelled, what was answered is forgotten."""

    async def act(scene: Scene) -> None:
        (scene.workspace / "a.txt").write_text("content\n")
        client = await scene.client(["allow_always"])
        session = await scene.session(client)
        prompting = asyncio.create_task(client.prompt(session, "go"))
        while "waiting" not in client.text():
            await asyncio.sleep(0)
        memory = scene.directory.owned(scene.agent.link(client.agent_peer), session).memory
        assert len(memory) == 1
        told = len(client.updates)
        await asyncio.gather(*(client.request("session/delete", sessionId=session) for _ in range(3)))
        assert await prompting == "cancelled"
        assert len(client.updates) == told
        assert len(memory) == 0

    play(lambda: Scene(tmp_path, [DELETE, hangs("waiting")]), act)


def test_scopes_say_what_is_asked_about() -> None:
    assert {scope: (scope.prompts, scope.tools) for scope in Scope} == {
        Scope.TOOL: (False, True),
        Scope.PROMPT: (True, False),
        Scope.BOTH: (True, True),
    }


def test_memory_keeps_the_last_answer() -> None:
    memory = Memory()
    memory.remember("x", Standing.ALLOWED)
    memory.remember("x", Standing.REJECTED)
    assert memory.recall("x") is Standing.REJECTED
    memory.clear()
    assert memory.recall("x") is None
