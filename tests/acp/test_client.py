"""Our client: against our own agent's side without a transport, and against peers that ask things of it."""

import asyncio
import contextlib
import json
import os
import pathlib
import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from signoff.acp.answering import ALLOW, DENY, always, answering, pick
from signoff.acp.catalog import deviations
from signoff.acp.client import Client, Connect, Handlers, Hello
from signoff.acp.desk import Desk
from signoff.acp.desk_tools import desk_tools
from signoff.acp.failures import RequestFailed
from signoff.acp.link import Link as AgentLink
from signoff.acp.memory_link import Link, join
from signoff.acp.peer import Call, Outlet, Peer
from signoff.domain.call import ToolCall, ToolResult
from signoff.domain.settings import ApprovalPolicy
from signoff.sandbox import child
from signoff.sandbox.jobs import Jobs
from signoff.sandbox.outcome import Request
from signoff.wire import acp_schema as schema
from tests.acp.scene import Scene, calls, hangs, play, says
from tests.acp.validator import validate
from tests.clauses import requirement
from tests.sandbox.test_jobs import Plain
from tests.tools.workbench import Workbench


def to(make_agent: Callable[[Outlet], Peer], seen: list[Peer] | None = None) -> Connect:
    @contextlib.asynccontextmanager
    async def connect(make_peer: Callable[[Outlet], Peer], hello: Hello) -> AsyncIterator[Peer]:
        near, far = Link(), Link()
        peer, agent = make_peer(near), make_agent(far)
        join(peer, agent)
        if seen is not None:
            seen.extend((peer, agent))
        try:
            await hello()
            yield peer
        finally:
            peer.end("done")
            agent.end("done")
            await peer.finished()
            await agent.finished()
            validate([json.loads(each) for each in near.sent], [json.loads(each) for each in far.sent])

    return connect


@requirement("ACP-086", "ACP-102", "ACP-109")
def test_every_method_of_an_agent_has_a_call(tmp_path: pathlib.Path) -> None:
    async def act(scene: Scene) -> None:
        told: list[schema.SessionNotification] = []
        cwd = str(scene.workspace)
        async with Client.over(to(scene.agent.connect), Handlers(update=told.append)) as client:
            assert client.agent is not None
            assert client.agent.agentInfo is not None
            session = await client.new_session(cwd)
            answer = await session.prompt("hello", schema.ResourceLink(uri="file:///x", name="x"))
            assert answer.stopReason == "end_turn"
            await session.set_mode("plan")
            await session.set_model("echo/other")
            options = await session.set_config_option("approval", "never")
            assert {one.id: one.currentValue for one in options}["approval"] == "never"
            fork = await client.fork_session(session.id, cwd)
            assert {one.sessionId for one in (await client.list_sessions()).sessions} == {session.id, fork.id}
            await client.load_session(session.id, cwd)
            await client.resume_session(session.id, cwd)
            await session.close()
            await client.delete_session(session.id)
            assert [one.sessionId for one in (await client.list_sessions(cwd)).sessions] == [fork.id]
            await client.logout()
        assert told

    play(lambda: Scene(tmp_path, [says("hi")]), act)


@requirement("ACP-109", "ACP-103")
def test_a_client_can_withdraw_a_request_and_cancel_a_prompt(tmp_path: pathlib.Path) -> None:
    async def act(scene: Scene) -> None:
        seen: list[Peer] = []
        began = asyncio.Event()

        def update(notification: schema.SessionNotification) -> None:
            if isinstance(notification.update, schema.AgentMessageChunk):
                began.set()

        async with Client.over(to(scene.agent.connect, seen), Handlers(update=update)) as client:
            session = await client.new_session(str(scene.workspace))
            prompting = asyncio.create_task(session.prompt("go"))
            await began.wait()
            (number,) = seen[0].pending
            await client.cancel_request(number)
            with pytest.raises(RequestFailed) as refused:
                await prompting
            assert refused.value.rpc_code == -32800
            began.clear()
            prompting = asyncio.create_task(session.prompt("go"))
            await began.wait()
            await session.cancel()
            assert (await prompting).stopReason == "cancelled"

    play(lambda: Scene(tmp_path, [hangs("one"), hangs("two")]), act)


def test_cancelling_a_prompt_answers_its_open_questions_as_cancelled(tmp_path: pathlib.Path) -> None:
    async def act(scene: Scene) -> None:
        (scene.workspace / "a.txt").write_text("content\n")
        asked, seen = asyncio.Event(), list[Peer]()

        async def never(request: schema.RequestPermissionRequest) -> object:
            asked.set()
            return await asyncio.Event().wait()

        async with Client.over(to(scene.agent.connect, seen), Handlers(permission=never)) as client:
            session = await client.new_session(str(scene.workspace))
            prompting = asyncio.create_task(session.prompt("go"))
            await asked.wait()
            await session.cancel()
            assert (await prompting).stopReason == "cancelled"
            while seen[0].running:
                await asyncio.sleep(0)
            answers = [json.loads(frame) for frame in seen[0].outlet.sent]  # type: ignore[attr-defined]
            assert [each["result"] for each in answers if "result" in each] == [{"outcome": {"outcome": "cancelled"}}]
        assert (scene.workspace / "a.txt").exists()

    play(lambda: Scene(tmp_path, [calls("delete_file", path="a.txt")]), act)


@requirement("ACP-028", "ACP-038")
def test_permission_is_answered_by_kind(tmp_path: pathlib.Path) -> None:
    async def act(scene: Scene) -> None:
        for name, kinds, stays in (("a.txt", DENY, True), ("b.txt", ALLOW, False)):
            (scene.workspace / name).write_text("content\n")
            handlers = Handlers(permission=answering(always(kinds)))
            async with Client.over(to(scene.agent.connect), handlers) as client:
                session = await client.new_session(str(scene.workspace))
                await session.prompt("go")
            assert (scene.workspace / name).exists() == stays

    script = [calls("delete_file", path="a.txt"), says("1"), calls("delete_file", path="b.txt"), says("2")]
    play(lambda: Scene(tmp_path, script), act)


def test_an_option_is_picked_by_kind_and_never_by_name() -> None:
    def asked(*kinds: schema.PermissionOptionKind) -> schema.RequestPermissionRequest:
        options = [
            schema.PermissionOption(optionId=f"o{number}", name="allow_once", kind=kind)
            for number, kind in enumerate(kinds)
        ]
        return schema.RequestPermissionRequest(
            sessionId="s", toolCall=schema.ToolCallUpdate(toolCallId="c"), options=options
        )

    assert pick(asked("reject_once", "allow_always", "allow_once"), ALLOW) == schema.SelectedPermissionOutcome(
        optionId="o2"
    )
    assert pick(asked("reject_once", "allow_always"), ALLOW) == schema.SelectedPermissionOutcome(optionId="o1")
    assert pick(asked("allow_once", "reject_always"), DENY) == schema.SelectedPermissionOutcome(optionId="o1")
    assert pick(asked("allow_once"), DENY) == schema.CancelledPermissionOutcome()
    assert pick(asked("allow_once"), ()) == schema.CancelledPermissionOutcome()


@requirement("ACP-045", "ACP-046", "ACP-055")
def test_what_has_no_handler_is_neither_offered_nor_answered() -> None:
    offered: list[schema.ClientCapabilities] = []

    def agent(outlet: Outlet) -> Peer:
        def initialize(call: Call, request: schema.InitializeRequest) -> object:
            offered.append(request.clientCapabilities)
            return schema.InitializeResponse(protocolVersion=1)

        return Peer(outlet, "agent", {"initialize": initialize})

    async def read(request: schema.ReadTextFileRequest) -> object:
        return schema.ReadTextFileResponse(content=f"text of {request.path}")

    async def run() -> None:
        seen: list[Peer] = []
        async with asyncio.timeout(120), Client.over(to(agent, seen), Handlers(read_text_file=read)):
            asked = schema.ReadTextFileRequest(sessionId="s", path="/a")
            found = await seen[1].request("fs/read_text_file", asked)
            assert found.content == "text of /a"
            for method, params in (
                ("fs/write_text_file", schema.WriteTextFileRequest(sessionId="s", path="/a", content="")),
                ("terminal/create", schema.CreateTerminalRequest(sessionId="s", command="ls")),
            ):
                with pytest.raises(RequestFailed) as refused:
                    await seen[1].request(method, params)
                assert refused.value.rpc_code == -32601

    asyncio.run(run())
    (capabilities,) = offered
    assert (capabilities.fs.readTextFile, capabilities.fs.writeTextFile, capabilities.terminal) == (True, False, False)


@requirement("ACP-110", "ACP-112")
def test_the_handlers_that_are_registered_are_those_of_the_catalog(tmp_path: pathlib.Path) -> None:
    async def act(scene: Scene) -> None:
        assert deviations("agent", scene.agent.handlers(AgentLink())) == []

    play(lambda: Scene(tmp_path), act)

    async def nothing(request: Any) -> object:
        return None

    every = Handlers(
        permission=nothing,
        read_text_file=nothing,
        write_text_file=nothing,
        create_terminal=nothing,
        terminal_output=nothing,
        wait_for_terminal_exit=nothing,
        kill_terminal=nothing,
        release_terminal=nothing,
        elicit=nothing,
    )
    assert deviations("client", every.table()) == []
    assert every.capabilities().terminal


def started(request: Request, on_output: Any, on_end: Any) -> Plain:
    null = child.Stream.NULL
    program = child.start(request.argv, environ=os.environ, cwd=str(request.cwd), stdin=null, stderr=null)
    return Plain(program, on_output, on_end)


class AtDesk:
    """A desk over a real gate and real processes."""

    def __init__(
        self, directory: pathlib.Path, jobs: Jobs, approval: ApprovalPolicy = ApprovalPolicy.ON_REQUEST
    ) -> None:
        self.bench = Workbench(directory, tools=desk_tools(), sandboxes=Starting(jobs), approval=approval)

        async def perform(tool: str, args: dict[str, Any]) -> ToolResult:
            return await self.bench.gate.call(ToolCall(uuid.uuid4().hex, tool, "", args, "turn-1", 0))

        self.handlers = Desk(perform, jobs).serving(Handlers())


class Starting:
    confined = False

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    async def start(self, *_: Any) -> Any:
        raise AssertionError("terminals run in the background")

    async def begin(self, request: Any, allowance: Any) -> Any:
        return self._jobs.start(request)


@requirement("ACP-041", "ACP-054")
def test_files_are_read_and_written_through_the_gate(tmp_path: pathlib.Path) -> None:
    async def run(desk: AtDesk) -> None:
        read, write = desk.handlers.read_text_file, desk.handlers.write_text_file
        assert read is not None
        assert write is not None
        path = str(desk.bench.workspace / "new" / "a.txt")
        await write(schema.WriteTextFileRequest(sessionId="s", path=path, content="one\ntwo\nthree\n"))
        for line, limit, expected in ((None, None, "one\ntwo\nthree\n"), (2, 1, "two\n"), (3, None, "three\n")):
            request = schema.ReadTextFileRequest(sessionId="s", path=path, line=line, limit=limit)
            assert await read(request) == schema.ReadTextFileResponse(content=expected)
        for refused, code in (("/etc/shadow-of-nobody", None), (str(desk.bench.workspace / "gone"), -32002)):
            with pytest.raises(RequestFailed) as failure:
                await read(schema.ReadTextFileRequest(sessionId="s", path=refused))
            assert code in (None, failure.value.rpc_code)
        with pytest.raises(RequestFailed) as failure:
            await write(schema.WriteTextFileRequest(sessionId="s", path="/etc/passwd", content="x"))
        assert failure.value.data == {"code": "policy.denied"}

    with Jobs(started) as jobs:
        asyncio.run(run(AtDesk(tmp_path, jobs)))


@requirement("ACP-052", "ACP-053")
def test_terminals_run_are_read_waited_for_killed_and_released(tmp_path: pathlib.Path) -> None:
    async def run(desk: AtDesk) -> None:
        handlers: Any = desk.handlers
        made = await handlers.create_terminal(
            schema.CreateTerminalRequest(sessionId="s", command="echo", args=["höllo"], outputByteLimit=6)
        )
        named = {"sessionId": "s", "terminalId": made.terminalId}
        ended = await handlers.wait_for_terminal_exit(schema.WaitForTerminalExitRequest(**named))
        assert ended == schema.WaitForTerminalExitResponse(exitCode=0)
        said = await handlers.terminal_output(schema.TerminalOutputRequest(**named))
        assert (said.output, said.truncated, said.exitStatus.exitCode) == ("llo\n", True, 0) or said.output == "öllo\n"
        await handlers.release_terminal(schema.ReleaseTerminalRequest(**named))
        with pytest.raises(RequestFailed) as failure:
            await handlers.terminal_output(schema.TerminalOutputRequest(**named))
        assert failure.value.rpc_code == -32002
        made = await handlers.create_terminal(schema.CreateTerminalRequest(sessionId="s", command="sleep 1000"))
        named = {"sessionId": "s", "terminalId": made.terminalId}
        with pytest.raises(RequestFailed):  # of another session
            await handlers.kill_terminal(schema.KillTerminalRequest(sessionId="t", terminalId=made.terminalId))
        waiting = asyncio.ensure_future(handlers.wait_for_terminal_exit(schema.WaitForTerminalExitRequest(**named)))
        await handlers.kill_terminal(schema.KillTerminalRequest(**named))
        assert (await waiting).signal in ("SIGTERM", "SIGKILL")
        assert (await handlers.terminal_output(schema.TerminalOutputRequest(**named))).exitStatus is not None

    with Jobs(started) as jobs:
        asyncio.run(run(AtDesk(tmp_path, jobs)))


def test_variables_of_a_terminal_are_part_of_what_is_judged(tmp_path: pathlib.Path) -> None:
    async def run(desk: AtDesk) -> None:
        handlers: Any = desk.handlers
        variables = [schema.EnvVariable(name="LD_PRELOAD", value="/tmp/evil.so")]
        await handlers.create_terminal(schema.CreateTerminalRequest(sessionId="s", command="ls"))
        with pytest.raises(RequestFailed) as failure:
            await handlers.create_terminal(schema.CreateTerminalRequest(sessionId="s", command="ls", env=variables))
        assert failure.value.data == {"code": "review.denied"}

    with Jobs(started) as jobs:
        asyncio.run(run(AtDesk(tmp_path, jobs, ApprovalPolicy.UNTRUSTED)))
