"""The agent's side: every method, from outside."""

import asyncio
import pathlib
from typing import Any

import pytest

from signoff.acp.failures import RequestFailed
from signoff.acp.server import Profile, offered
from signoff.providers.echo import Echo
from signoff.wire import acp_schema as schema
from tests.acp.scene import Scene, calls, hangs, play, says
from tests.clauses import requirement


@requirement("ACP-063", "ACP-064", "ACP-072")
def test_a_prompt_is_told_in_order_commands_plan_calls_words(tmp_path: pathlib.Path) -> None:
    async def act(scene: Scene) -> None:
        (scene.workspace / "a.txt").write_text("hello\n")
        client = await scene.client()
        session = await scene.session(client)
        assert await client.prompt(session, "Read a.txt") == "end_turn"
        assert client.kinds() == [
            "available_commands_update",
            "plan",
            "usage_update",
            "tool_call",
            "tool_call_update",
            "agent_message_chunk",
            "usage_update",
            "plan",
        ]
        plans = [one.update.entries for one in client.updates if isinstance(one.update, schema.Plan)]
        told = [[(entry.content, entry.status) for entry in entries] for entries in plans]
        assert told == [[("Read a.txt", "in_progress")], [("Read a.txt", "completed")]]
        call = next(one.update for one in client.updates if isinstance(one.update, schema.ToolCall))
        assert (call.kind, call.status, call.name) == ("read", "in_progress", "read_file")
        assert isinstance(call.locations, list)
        assert call.locations[0].path == str(scene.workspace / "a.txt")
        assert call.rawInput == {"path": "a.txt"}
        done = next(one.update for one in client.updates if isinstance(one.update, schema.ToolCallProgress))
        assert (done.toolCallId, done.status) == (call.toolCallId, "completed")
        assert client.text() == "It says hello."
        assert await client.prompt(session, "Again") == "end_turn"
        assert client.kinds().count("available_commands_update") == 1

    turns = [calls("read_file", path="a.txt"), says("It says hello."), says("As I said.")]
    play(lambda: Scene(tmp_path, turns), act)


@requirement("ACP-030")
@pytest.mark.parametrize("version", [1, 2, 65535])
def test_any_version_is_answered_with_ours(tmp_path: pathlib.Path, version: int) -> None:
    async def act(scene: Scene) -> None:
        client = await scene.client()
        with pytest.raises(RequestFailed) as refused:
            await client.initialize()
        assert refused.value.rpc_code == -32600  # twice
        other = scene.clients[0].__class__(scene, (), {})
        scene.clients.append(other)
        answer = await other.request("initialize", protocolVersion=version)
        assert (answer.protocolVersion, answer.agentInfo.name) == (1, "signoff")

    play(lambda: Scene(tmp_path), act)


@requirement("ACP-030")
def test_strict_version_refuses_another(tmp_path: pathlib.Path) -> None:
    async def act(scene: Scene) -> None:
        client = await scene.client()
        other = client.__class__(scene, (), {})
        scene.clients.append(other)
        with pytest.raises(RequestFailed) as refused:
            await other.request("initialize", protocolVersion=2)
        assert refused.value.rpc_code == -32602

    play(lambda: Scene(tmp_path, profile=Profile(offered(), strict_version=True)), act)


@requirement("ACP-031", "ACP-089", "ACP-098", "ACP-107")
@pytest.mark.parametrize(
    "method",
    ["session/load", "session/resume", "session/fork", "session/list", "session/close", "session/delete", "logout"],
)
def test_what_is_not_offered_is_not_there(tmp_path: pathlib.Path, method: str) -> None:
    async def act(scene: Scene) -> None:
        client = await scene.client()
        with pytest.raises(RequestFailed) as refused:
            await client.request(method, sessionId="x", cwd=str(scene.workspace), mcpServers=[])
        assert refused.value.rpc_code == -32601

    play(lambda: Scene(tmp_path, profile=Profile(schema.AgentCapabilities())), act)


@requirement("ACP-040", "ACP-043", "ACP-044", "ACP-050", "ACP-051", "ACP-083", "ACP-087", "ACP-088")
def test_modes_options_and_models_stay_in_step(tmp_path: pathlib.Path) -> None:
    async def act(scene: Scene) -> None:
        client = await scene.client()
        made = await client.request("session/new", cwd=str(scene.workspace), mcpServers=[])
        session = made.sessionId
        assert (made.modes.currentModeId, made.models.currentModelId) == ("ask", "echo/echo")
        values = {one.id: (one.category, one.currentValue) for one in made.configOptions}
        assert values == {
            "mode": ("mode", "ask"),
            "model": ("model", "echo/echo"),
            "approval": ("_approval", "on-request"),
        }
        await client.request("session/set_mode", sessionId=session, modeId="plan")
        assert client.kinds() == ["current_mode_update", "config_option_update"]
        answer = await client.request(
            "session/set_config_option", sessionId=session, configId="approval", value="never"
        )
        assert {one.id: one.currentValue for one in answer.configOptions}["approval"] == "never"
        assert client.kinds()[2:] == ["config_option_update"]
        await client.request("session/set_model", sessionId=session, modelId="echo/other")
        for method, params in (
            ("session/set_mode", {"modeId": "nope"}),
            ("session/set_model", {"modelId": "nope"}),
            ("session/set_config_option", {"configId": "nope", "value": "x"}),
            ("session/set_config_option", {"configId": "mode", "value": "nope"}),
        ):
            with pytest.raises(RequestFailed) as refused:
                await client.request(method, sessionId=session, **params)
            assert refused.value.rpc_code == -32602
        loaded = await client.request("session/load", sessionId=session, cwd=str(scene.workspace), mcpServers=[])
        assert (loaded.modes.currentModeId, loaded.models.currentModelId) == ("plan", "echo/other")
        assert {one.id: one.currentValue for one in loaded.configOptions} == {
            "mode": "plan",
            "model": "echo/other",
            "approval": "never",
        }
        await client.prompt(session, "hi")
        assert scene.engines.opened[-1].values["mode"] == "plan"

    play(lambda: Scene(tmp_path, provider=Echo()), act)


@requirement("ACP-090", "ACP-084")
def test_a_fork_is_a_session_of_its_own_with_what_was_chosen(tmp_path: pathlib.Path) -> None:
    async def act(scene: Scene) -> None:
        client = await scene.client()
        session = await scene.session(client)
        await client.request("session/set_mode", sessionId=session, modeId="plan")
        await client.request("session/set_config_option", sessionId=session, configId="approval", value="never")
        await client.prompt(session, "first words")
        forked = await client.request("session/fork", sessionId=session, cwd=str(scene.workspace))
        assert forked.sessionId != session
        assert {one.id: one.currentValue for one in forked.configOptions}["approval"] == "never"
        assert forked.modes.currentModeId == "plan"
        await client.request("session/set_mode", sessionId=forked.sessionId, modeId="ask")
        client.updates.clear()
        cwd = str(scene.workspace)
        again = await client.request("session/load", sessionId=forked.sessionId, cwd=cwd, mcpServers=[])
        assert again.modes.currentModeId == "ask"
        first = client.updates[0].update
        assert isinstance(first, schema.UserMessageChunk)
        assert isinstance(first.content, schema.TextContent)
        assert first.content.text == "first words"

    play(lambda: Scene(tmp_path, provider=Echo()), act)


def test_load_replays_everything_before_it_answers_and_resume_nothing(tmp_path: pathlib.Path) -> None:
    async def act(scene: Scene) -> None:
        (scene.workspace / "a.txt").write_text("hello\n")
        client = await scene.client()
        session = await scene.session(client)
        await client.prompt(session, "Read a.txt")
        await client.request("session/close", sessionId=session)
        with pytest.raises(RequestFailed) as refused:
            await client.prompt(session, "still there?")
        assert refused.value.rpc_code == -32002
        other = await scene.client()
        place: dict[str, Any] = {"cwd": str(scene.workspace), "mcpServers": []}
        await other.request("session/resume", sessionId=session, **place)
        assert other.kinds() == []
        assert await other.prompt(session, "And?") == "end_turn"
        await client.request("session/load", sessionId=session, **place)
        talk = [kind for kind in client.kinds() if kind != "usage_update"]
        assert talk[-6:] == [
            "user_message_chunk",
            "tool_call",
            "tool_call_update",
            "agent_message_chunk",
            "user_message_chunk",
            "agent_message_chunk",
        ]
        with pytest.raises(RequestFailed):
            await other.prompt(session, "It is mine")  # the one who loaded it owns it now

    play(lambda: Scene(tmp_path, [calls("read_file", path="a.txt"), says("hello"), says("nothing more")]), act)


@requirement("ACP-092", "ACP-093", "ACP-094", "ACP-095", "ACP-096")
def test_sessions_are_listed_in_pages_newest_first(tmp_path: pathlib.Path) -> None:
    async def act(scene: Scene) -> None:
        client = await scene.client()
        made = [await scene.session(client) for _ in range(5)]
        await client.prompt(made[1], "touched last")
        seen: list[Any] = []
        cursor = None
        while True:
            page = await client.request("session/list", **({"cursor": cursor} if cursor else {}))
            seen += page.sessions
            if not page.nextCursor:
                break
            assert len(page.sessions) == 2
            cursor = page.nextCursor
        assert seen[0].sessionId == made[1]
        assert seen[0].title == "touched last"
        assert {one.sessionId for one in seen} == set(made)
        assert [one.updatedAt for one in seen] == sorted((one.updatedAt for one in seen), reverse=True)
        before = seen[0].updatedAt
        assert (await client.request("session/list")).sessions[0].updatedAt == before
        for bad in ("!!", "AAAA", "9" * 500):
            with pytest.raises(RequestFailed) as refused:
                await client.request("session/list", cursor=bad)
            assert refused.value.rpc_code == -32602
        assert (await client.request("session/list", cwd="/nowhere")).sessions == []

    play(lambda: Scene(tmp_path, provider=Echo(), profile=Profile(offered(), page_size=2)), act)


@requirement("ACP-099", "ACP-091", "ACP-102", "ACP-085")
def test_delete_takes_a_session_away_and_may_be_repeated(tmp_path: pathlib.Path) -> None:
    async def act(scene: Scene) -> None:
        client = await scene.client()
        session = await scene.session(client)
        for name in (session, session, "never-was", "../../etc/passwd"):
            await client.request("session/delete", sessionId=name)
        assert (await client.request("session/list")).sessions == []
        with pytest.raises(RequestFailed) as refused:
            await client.request("session/load", sessionId=session, cwd=str(scene.workspace), mcpServers=[])
        assert refused.value.rpc_code == -32002
        can = offered().sessionCapabilities
        assert all(isinstance(one, schema.Struct) for one in (can.list, can.resume, can.fork, can.delete, can.close))

    play(lambda: Scene(tmp_path), act)


@requirement("ACP-042")
def test_authenticating_uses_a_method_that_was_offered(tmp_path: pathlib.Path) -> None:
    tried: list[str] = []

    async def authenticate(method: str) -> None:
        tried.append(method)

    methods = (schema.AuthMethod(id="key", name="Key"),)

    async def act(scene: Scene) -> None:
        client = await scene.client()
        await client.request("authenticate", methodId="key")
        with pytest.raises(RequestFailed):
            await client.request("authenticate", methodId="other")
        assert tried == ["key"]
        session = await scene.session(client)
        await client.request("logout")
        for attempt in (scene.session(client), client.prompt(session, "hi")):
            with pytest.raises(RequestFailed) as refused:
                await attempt
            assert refused.value.rpc_code == -32000
        await client.request("authenticate", methodId="key")
        await scene.session(client)

    play(lambda: Scene(tmp_path, profile=Profile(offered(), auth_methods=methods, authenticate=authenticate)), act)


@requirement("ACP-108", "ACP-119")
def test_logout_ends_prompts_and_forgets_what_was_answered(tmp_path: pathlib.Path) -> None:
    async def act(scene: Scene) -> None:
        client = await scene.client()
        session = await scene.session(client)
        prompting = asyncio.create_task(client.prompt(session, "go"))
        while not client.text():
            await asyncio.sleep(0)
        await client.request("logout")
        assert await prompting == "cancelled"
        assert len(scene.directory) == 0

    play(lambda: Scene(tmp_path, [hangs("thinking")]), act)


@requirement("ACP-101")
def test_the_title_is_told_after_the_first_prompt_if_wanted(tmp_path: pathlib.Path) -> None:
    async def act(scene: Scene) -> None:
        client = await scene.client()
        session = await scene.session(client)
        await client.prompt(session, "Fix the parser\nplease")
        await client.prompt(session, "more")
        told = [one.update for one in client.updates if isinstance(one.update, schema.SessionInfoUpdate)]
        assert [one.title for one in told] == ["Fix the parser"]

    play(lambda: Scene(tmp_path, provider=Echo(), profile=Profile(offered(), tells_title=True)), act)


def test_forty_sessions_made_at_once_and_their_prompts(tmp_path: pathlib.Path) -> None:
    async def act(scene: Scene) -> None:
        client = await scene.client()
        made = await asyncio.gather(*(scene.session(client) for _ in range(40)))
        assert len(set(made)) == 40
        answers = await asyncio.gather(*(client.prompt(one, f"hello {number}") for number, one in enumerate(made)))
        assert set(answers) == {"end_turn"}
        assert not client.peer.pending
        assert not client.agent_peer.running

    play(lambda: Scene(tmp_path, provider=Echo()), act)


@pytest.mark.parametrize("cwd", ["relative", "/nowhere/at/all", ""])
def test_a_session_needs_a_directory_that_is_there(tmp_path: pathlib.Path, cwd: str) -> None:
    async def act(scene: Scene) -> None:
        client = await scene.client()
        with pytest.raises(RequestFailed) as refused:
            await client.request("session/new", cwd=cwd, mcpServers=[])
        assert refused.value.rpc_code == -32602

    play(lambda: Scene(tmp_path), act)


def test_a_slash_command_is_answered_without_the_model(tmp_path: pathlib.Path) -> None:
    async def act(scene: Scene) -> None:
        client = await scene.client()
        session = await scene.session(client)
        assert await client.prompt(session, "/ping there") == "end_turn"
        assert client.text() == "pong there"
        assert client.kinds() == ["available_commands_update", "agent_message_chunk"]

    play(lambda: Scene(tmp_path), act)


@requirement("ACP-073", "ACP-076")
def test_prompts_bring_pictures_files_and_links(tmp_path: pathlib.Path) -> None:
    async def act(scene: Scene) -> None:
        client = await scene.client()
        session = await scene.session(client)
        picture = {"type": "image", "mimeType": "image/png", "data": "aGVsbG8="}
        blocks = [
            {"type": "text", "text": "look at "},
            picture,
            {"type": "resource", "resource": {"uri": "file:///x/a%20b.py", "text": "print()"}},
            {"type": "resource_link", "uri": "https://example.org/spec", "name": "spec"},
        ]
        answer = await client.request("session/prompt", sessionId=session, prompt=blocks)
        assert answer.stopReason == "end_turn"
        assert '<file path="/x/a b.py">\nprint()\n</file>' in client.text()
        assert "[spec](https://example.org/spec)" in client.text()
        for bad in (
            [],
            [{"type": "audio", "data": "aGVsbG8=", "mimeType": "audio/wav"}],
            [{**picture, "data": "%"}],
            [{"type": "hologram"}],
        ):
            with pytest.raises(RequestFailed) as refused:
                await client.request("session/prompt", sessionId=session, prompt=bad)
            assert refused.value.rpc_code == -32602
        client.updates.clear()
        await client.request("session/load", sessionId=session, cwd=str(scene.workspace), mcpServers=[])
        assert any(
            isinstance(one.update, schema.UserMessageChunk) and isinstance(one.update.content, schema.ImageContent)
            for one in client.updates
        )

    play(lambda: Scene(tmp_path, provider=Echo()), act)
