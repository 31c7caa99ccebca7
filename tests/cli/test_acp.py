"""signoff acp from outside: real processes, both transports, our client and the official SDK's."""

import asyncio
import contextlib
import json
import os
import pathlib
import select
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.acp.validator import validate
from tests.clauses import requirement

SIGNOFF = str(pathlib.Path(sys.executable).with_name("signoff"))
LIMIT = 180.0


def connect(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SIGNOFF, "acp", "connect", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
        start_new_session=True,  # away from any terminal
    )


@pytest.fixture
def space(tmp_path: pathlib.Path, home: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A workspace of our own, the current directory; state stays under the private home."""
    directory = tmp_path / "space"
    directory.mkdir()
    monkeypatch.chdir(directory)
    return directory


def script(directory: pathlib.Path, *turns: dict[str, Any]) -> str:
    path = directory.parent / "script.json"
    path.write_text(json.dumps(list(turns)))
    return f"scripted/{path}"


def serve(model: str, *more: str) -> str:
    return f"{SIGNOFF} acp serve -m {model} {' '.join(more)}"


@requirement("ACP-006")
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "--cmd or --endpoint"),
        (["--cmd", "x", "--endpoint", "ws://127.0.0.1:1"], "--cmd or --endpoint"),
        (["--cmd", ""], "names no program"),
        (["--cmd", "'unclosed"], "--cmd"),
        (["--endpoint", "http://127.0.0.1:1"], "ws://"),
        (["--endpoint", "ws://"], "ws://"),
        (["--endpoint", "ws://127.0.0.1:1", "--args=--x"], "--args"),
        (["--cmd", "x", "--ws-heartbeat-ms", "1"], "--ws-heartbeat-ms"),
        (["--cmd", "x", "--cwd", "/nowhere"], "--cwd"),
        (["--cmd", "x", "--permission-decision", "perhaps"], "--permission-decision"),
        (["--cmd", "x", "--request-timeout-ms", "-1"], "--request-timeout-ms"),
        (["--cmd", "x"], "there is no prompt"),
    ],
)
def test_a_bad_argument_is_said_before_anything_is_opened(
    space: pathlib.Path, home: pathlib.Path, arguments: list[str], says: str
) -> None:
    ended = connect(*arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert says in ended.stderr
    assert not list(home.rglob("*.jsonl"))  # no run was begun


@pytest.mark.parametrize(
    "arguments",
    [
        ["--listen", "127.0.0.1:0"],
        ["--transport", "ws", "--listen", "nonsense"],
        ["--transport", "ws", "--listen", "x:99999"],
    ],
)
def test_bad_arguments_of_serve(space: pathlib.Path, arguments: list[str]) -> None:
    ended = subprocess.run([SIGNOFF, "acp", "serve", *arguments], capture_output=True, timeout=LIMIT, check=False)
    assert ended.returncode == 2


@requirement("ACP-007")
@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--endpoint", "ws://127.0.0.1:1/acp"], 4),
        (["--cmd", "true"], 4),
        (["--cmd", "sh -c 'echo nonsense; exit 3'"], 4),
        (["--cmd", "cat", "--request-timeout-ms", "500"], 4),
        (["--cmd", "no-such-program-anywhere"], 20),
    ],
)
def test_a_broken_link_has_its_own_status(space: pathlib.Path, arguments: list[str], status: int) -> None:
    ended = connect(*arguments, "--prompt", "hello")
    assert ended.returncode == status, ended.stderr
    assert ended.stderr.startswith("signoff: ") or "signoff: " in ended.stderr


def test_an_editor_that_says_nothing_at_all_is_no_error(space: pathlib.Path) -> None:
    done = subprocess.run(
        [SIGNOFF, "acp", "serve", "-m", "echo/echo"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_words_go_to_stdout_and_what_happens_to_stderr(space: pathlib.Path) -> None:
    (space / "a.txt").write_text("hello\n")
    model = script(space, {"tools": [{"name": "read_file", "args": {"path": "a.txt"}}]}, {"text": "It says hello."})
    ended = connect("--cmd", serve(model), "--prompt", "Read a.txt")
    assert (ended.returncode, ended.stdout) == (0, "It says hello.\n")
    assert "✓ read_file a.txt" in ended.stderr
    assert connect("--cmd", serve("echo/echo"), stdin="from a pipe\n").stdout == "from a pipe\n"


def test_json_is_a_line_for_each_with_sorted_keys(space: pathlib.Path) -> None:
    ended = connect("--cmd", serve("echo/echo"), "--prompt", "one", "--prompt", "two", "--json")
    rows = [json.loads(line) for line in ended.stdout.splitlines()]
    assert all(
        line == json.dumps(row, sort_keys=True, separators=(",", ":"))
        for line, row in zip(ended.stdout.splitlines(), rows, strict=True)
    )
    assert {tuple(row) for row in rows} == {
        ("sessionId", "text", "type", "update"),
        ("sessionId", "stopReason", "type"),
    }
    assert [row["stopReason"] for row in rows if row["type"] == "prompt_result"] == ["end_turn", "end_turn"]
    assert "".join(row["text"] for row in rows if row["type"] == "session_update") == "onetwo"
    assert len({row["sessionId"] for row in rows}) == 1
    again = connect("--cmd", serve("echo/echo"), "--session-id", rows[0]["sessionId"], "--prompt", "three", "--json")
    assert json.loads(again.stdout.splitlines()[-1])["sessionId"] == rows[0]["sessionId"]


@requirement("ACP-038", "ACP-039")
@pytest.mark.parametrize(("flags", "stays"), [(["allow"], False), (["deny"], True), (["policy"], True), ([], True)])
def test_questions_are_answered_as_told(space: pathlib.Path, flags: list[str], stays: bool) -> None:
    (space / "a.txt").write_text("content\n")
    model = script(space, {"tools": [{"name": "delete_file", "args": {"path": "a.txt"}}]}, {"text": "done"})
    decision = ["--permission-decision", *flags] if flags else []
    ended = connect("--cmd", serve(model), "--prompt", "go", *decision, "--permission-message", "as agreed")
    assert ended.returncode == 0, ended.stderr
    assert (space / "a.txt").exists() == stays
    assert "as agreed" in ended.stderr


class Raw:
    """A client of bytes: what a program without any library would do."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [SIGNOFF, "acp", "serve", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.sent: list[dict[str, Any]] = []
        self.received: list[dict[str, Any]] = []
        self._rest = b""

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Sends a request and reads on to its answer."""
        number = len(self.sent) + 1
        self.sent.append({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(self.sent[-1]).encode() + b"\n")
        self.process.stdin.flush()
        while True:
            frame = self.read()
            if frame.get("id") == number:
                return frame

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        while b"\n" not in self._rest:
            assert select.select([self.process.stdout], [], [], LIMIT)[0], "no answer"
            piece = os.read(self.process.stdout.fileno(), 65_536)
            assert piece, self.process.stderr.read().decode() if self.process.stderr else ""
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        self.received.append(json.loads(line))
        return self.received[-1]

    def close(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        status = self.process.wait(LIMIT)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        return status


@pytest.fixture
def raw(space: pathlib.Path) -> Iterator[Any]:
    opened: list[Raw] = []

    def start(*arguments: str) -> Raw:
        opened.append(Raw(*arguments))
        return opened[-1]

    yield start
    for one in opened:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()
        for stream in (one.process.stdin, one.process.stdout, one.process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


@contextlib.contextmanager
def websocket(model: str) -> Iterator[str]:
    command = [SIGNOFF, "acp", "serve", "--transport", "ws", "--listen", "127.0.0.1:0", "-m", model]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        try:
            assert process.stderr is not None
            assert select.select([process.stderr], [], [], LIMIT)[0], "it does not listen"
            line = process.stderr.readline().decode()
            assert "serving ws://" in line, line + process.stderr.read1().decode()
            yield line.split()[-1]
        finally:
            process.terminate()
            assert process.wait(LIMIT) == 0


def kinds(rows: list[dict[str, Any]]) -> list[str]:
    """Of the updates; chunks of one message counted once."""
    found: list[str] = []
    for row in rows:
        kind = row["update"]["sessionUpdate"]
        if not (found and found[-1] == kind and kind.endswith("_chunk")):
            found.append(kind)
    return found


@requirement("ACP-066", "ACP-080", "ACP-082", "ACP-061", "ACP-068", "ACP-070")
def test_stdio_and_websocket_tell_the_same(space: pathlib.Path, raw: Any) -> None:
    (space / "a.txt").write_text("hello\n")
    turns = [
        {"tools": [{"name": "update_plan", "args": {"entries": [{"content": "read", "status": "in_progress"}]}}]},
        {"tools": [{"name": "read_file", "args": {"path": "a.txt", "offset": 1}}]},
        {"text": "It says hello."},
    ]
    model = script(space, *turns)
    stdio = raw("-m", model)
    assert stdio.ask("initialize", protocolVersion=1)["result"]["protocolVersion"] == 1
    session = stdio.ask("session/new", cwd=str(space), mcpServers=[])["result"]["sessionId"]
    answer = stdio.ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "Read a.txt"}])
    assert answer["result"] == {"stopReason": "end_turn"}
    validate(stdio.received, stdio.sent)
    over_stdio = [frame["params"] for frame in stdio.received if frame.get("method") == "session/update"]
    assert stdio.close() == 0
    with websocket(model) as endpoint:
        ended = connect("--endpoint", endpoint, "--prompt", "Read a.txt", "--json")
    over_websocket = [json.loads(line) for line in ended.stdout.splitlines()]
    assert kinds(over_stdio) == kinds([row for row in over_websocket if row["type"] == "session_update"])
    assert kinds(over_stdio)[:2] == ["available_commands_update", "plan"]
    read = [row["update"] for row in over_stdio if row["update"].get("name") == "read_file"]
    assert read[0]["locations"] == [{"path": str(space / "a.txt"), "line": 1}]
    done = [row["update"] for row in over_stdio if row["update"].get("toolCallId") == read[0]["toolCallId"]][-1]
    assert set(done) == {"sessionUpdate", "toolCallId", "status", "content", "rawOutput"}


def test_nothing_but_the_protocol_is_on_stdout_and_an_end_of_stdin_is_the_end(space: pathlib.Path, raw: Any) -> None:
    agent = raw("-m", script(space, {"text": "thinking", "hang": True}))
    agent.ask("initialize", protocolVersion=65535)
    session = agent.ask("session/new", cwd=str(space), mcpServers=[])["result"]["sessionId"]
    assert agent.process.stdin is not None
    prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "go"}]}
    line = {"jsonrpc": "2.0", "id": "p", "method": "session/prompt", "params": prompt}
    agent.process.stdin.write(json.dumps(line).encode() + b"\n")
    agent.process.stdin.flush()
    while agent.read().get("params", {}).get("update", {}).get("sessionUpdate") != "agent_message_chunk":
        pass
    assert agent.ask("session/list")["result"]["sessions"][0]["sessionId"] == session  # while the prompt runs
    assert agent.close() == 0


def test_others_are_served_while_the_first_prompt_reads_what_an_agent_is_made_of(space: pathlib.Path, raw: Any) -> None:
    agent = raw("-m", "echo/echo")
    agent.ask("initialize", protocolVersion=1)
    session = agent.ask("session/new", cwd=str(space), mcpServers=[])["result"]["sessionId"]
    prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "go"}]}
    requests = [("session/prompt", prompt), ("session/list", {})]
    lines = [json.dumps({"jsonrpc": "2.0", "id": method, "method": method, "params": it}) for method, it in requests]
    agent.process.stdin.write("".join(f"{line}\n" for line in lines).encode())
    agent.process.stdin.flush()
    answered = []
    while len(answered) < 2:
        frame = agent.read()
        answered += [frame["id"]] if "id" in frame else []
    assert answered == ["session/list", "session/prompt"]
    assert agent.close() == 0


def test_a_session_is_taken_up_by_another_process(space: pathlib.Path, raw: Any) -> None:
    first = raw("-m", "echo/echo")
    first.ask("initialize", protocolVersion=1)
    session = first.ask("session/new", cwd=str(space), mcpServers=[])["result"]["sessionId"]
    first.ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "remember this"}])
    second = raw("-m", "echo/echo")
    second.ask("initialize", protocolVersion=1)
    busy = second.ask("session/load", sessionId=session, cwd=str(space), mcpServers=[])
    assert busy["error"]["code"] == -32600  # the first has it open
    assert first.close() == 0
    second.ask("session/load", sessionId=session, cwd=str(space), mcpServers=[])
    updates = [frame["params"]["update"] for frame in second.received if frame.get("method") == "session/update"]
    assert [update["content"]["text"] for update in updates] == ["remember this", "remember this"]
    assert second.close() == 0


def test_without_a_model_the_client_is_told_how_to_get_one(space: pathlib.Path, raw: Any) -> None:
    agent = raw()
    methods = agent.ask("initialize", protocolVersion=1)["result"]["authMethods"]
    refused = agent.ask("session/new", cwd=str(space), mcpServers=[])["error"]
    assert refused["code"] == -32000
    assert "SIGNOFF_MODEL" in refused["message"]
    assert agent.ask("authenticate", methodId=methods[0]["id"])["error"]["code"] == -32000
    assert agent.close() == 0


def test_telemetry_is_kept_in_a_file_without_content(space: pathlib.Path) -> None:
    file = space.parent / "telemetry.jsonl"
    ended = connect("--cmd", serve("echo/echo", "--telemetry", str(file)), "--prompt", "secret words")
    assert ended.returncode == 0
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [row["name"] for row in rows] == ["session_new", "prompt_requested", "prompt_started", "prompt_completed"]
    assert set(rows[0]) == {"name", "sessionId", "requestId", "attributes", "timestamp"}
    assert "secret words" not in file.read_text()


def test_the_official_python_client_works_with_our_agent(space: pathlib.Path) -> None:
    acp = pytest.importorskip("acp", reason="agent-client-protocol is not installed")
    told: list[Any] = []
    wanted = {"plan", "tool_call", "tool_call_update", "agent_message_chunk"}

    class Editor(acp.Client):  # type: ignore[name-defined,misc]
        async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
            told.append(update)

        async def request_permission(self, options: Any, session_id: str, tool_call: Any, **_: Any) -> Any:
            from acp.schema import AllowedOutcome, RequestPermissionResponse

            chosen = next(option for option in options if option.kind == "allow_once")
            outcome = AllowedOutcome(outcome="selected", option_id=chosen.option_id)
            return RequestPermissionResponse(outcome=outcome)

    async def run() -> str:
        words = serve(script(space, {"tools": [{"name": "delete_file", "args": {"path": "a.txt"}}]}, {"text": "gone"}))
        command, *arguments = words.split()
        async with (
            asyncio.timeout(LIMIT),
            acp.spawn_agent_process(Editor(), command, *arguments, env=dict(os.environ)) as (connection, _),
        ):
            await connection.initialize(protocol_version=1)
            session = await connection.new_session(cwd=str(space), mcp_servers=[])
            answer = await connection.prompt(session_id=session.session_id, prompt=[acp.text_block("delete it")])
            while not wanted <= {one.session_update for one in told}:  # their client handles them on its own time
                await asyncio.sleep(0)
            return str(answer.stop_reason)

    (space / "a.txt").write_text("content\n")
    assert asyncio.run(run()) == "end_turn"
    assert not (space / "a.txt").exists()
