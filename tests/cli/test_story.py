"""What an operator reads on standard error: beginnings, ends with counts, faults; each step with -v; never any content."""

import contextlib
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.program import PROGRAM, signoff

LIMIT_S = 180.0


@contextlib.contextmanager
def serving(*words: str) -> Iterator[tuple[str, list[str], subprocess.Popen[str]]]:
    """A server, its address, and (afterwards) every line it said; ended by SIGTERM, with 0."""
    lines: list[str] = []
    with subprocess.Popen([PROGRAM, *words], stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            assert select.select([process.stderr], [], [], LIMIT_S)[0], "it does not listen"
            lines.append(process.stderr.readline().strip())
            yield re.findall(r"\S+://\S+", lines[0])[0], lines, process
            process.send_signal(signal.SIGTERM)
            _, rest = process.communicate(timeout=LIMIT_S)
            lines += rest.splitlines()
            assert process.returncode == 0, lines
        finally:
            process.kill()


def asked(url: str, body: object) -> int:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


def told(lines: list[str]) -> list[str]:
    """Without times and ids."""
    return [re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "ID", re.sub(r"^\d\d:\d\d:\d\d ", "", line)) for line in lines]


@pytest.mark.parametrize("verbose", [True, False])
def test_the_memory_service_says_where_it_is_and_what_it_answered(home: Path, verbose: bool) -> None:
    pytest.importorskip("uvicorn", reason="the extra serve is not installed")
    with serving(*["-v"] * verbose, "memory", "serve", "--listen", "127.0.0.1:0") as (url, lines, _):
        assert asked(f"{url}/search", {"project_id": "p", "query": "private words"}) == 200
        assert asked(f"{url}/search", {"project_id": "p"}) == 422
    steps = ["POST /v1/qa/search from 127.0.0.1: 422"] if verbose else []
    assert told(lines)[1:-1] == steps
    assert lines[0] == f"signoff: memory at {url}"
    assert re.fullmatch(r"signoff: answered 2 requests \(1 refused, 0 failed\) in \d+ s", lines[-1])


SERVERS = (("memory", "serve"), ("acp", "serve", "-m", "echo/echo", "--transport", "ws"))


@pytest.mark.parametrize("words", SERVERS, ids=["memory", "acp"])
def test_an_address_in_use_is_named_with_who_has_it(words: tuple[str, ...], home: Path) -> None:
    pytest.importorskip("uvicorn", reason="the extra serve is not installed")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        ended = signoff(*words, "--listen", address)
    assert ended.status == 4
    assert ended.err.startswith(f"signoff: cannot listen at {address}: Address already in use\n")
    assert f"held by process {os.getpid()} (" in ended.err
    assert "choose another --listen" in ended.err


@pytest.mark.parametrize("words", SERVERS, ids=["memory", "acp"])
def test_a_token_that_others_can_read_is_refused(words: tuple[str, ...], home: Path) -> None:
    token = home / "token"
    token.write_text("secret", encoding="utf-8")
    token.chmod(0o640)
    ended = signoff(*words, "--listen", "127.0.0.1:0", "--token-file", str(token))
    assert ended.status == 3
    assert f"the token file {token} can be read by others" in ended.err
    assert f"chmod 600 {token}" in ended.err


def test_the_agent_server_tells_of_clients_and_sessions_and_never_what_was_said(home: Path) -> None:
    listen = ("--transport", "ws", "--listen", "127.0.0.1:0")
    with serving("-v", "acp", "serve", "-m", "echo/echo", *listen) as (url, lines, _):
        assert signoff("acp", "connect", "--endpoint", url, "--prompt", "private words", cwd=home).status == 0
        assert signoff("acp", "connect", "--endpoint", url, "--session-id", "gone", "--prompt", "x", cwd=home).status
    assert told(lines)[1:-1] == [
        "client 1 connected",
        "session ID: opened",
        "session ID: prompt started",
        "session ID: prompt ended: end_turn",
        "client 1 left",
        "client 2 connected",
        "client 2: session/resume refused: there is no such session",
        "client 2 left",
    ]
    assert re.fullmatch(r"signoff: served 2 clients, 1 session and 1 prompt \(0 failed\) in \d+ s", lines[-1])
    assert "private" not in "\n".join(lines)


def test_wrap_tells_its_beginning_and_its_end_when_asked(home: Path) -> None:
    agent = (sys.executable, "-c", "print('hello')")
    assert signoff("wrap", "--", *agent, cwd=home) == (0, "hello\n", "")
    ended = signoff("-v", "wrap", "--", *agent, cwd=home)
    began, done = told(ended.err.splitlines())
    assert re.fullmatch(rf"run ID began: {re.escape(sys.executable)} is process \d+", began)
    assert done == "run ID ended with 0: 0 requests, 0 allowed, 0 denied, 0 bad event lines"


def test_a_closed_session_leaves_no_descriptor_behind(home: Path) -> None:
    with subprocess.Popen(
        [PROGRAM, "acp", "serve", "-m", "echo/echo"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as agent:
        assert agent.stdin is not None
        assert agent.stdout is not None

        def ask(method: str, **params: object) -> dict[str, str]:
            agent.stdin.write(json.dumps({"jsonrpc": "2.0", "id": method, "method": method, "params": params}) + "\n")
            agent.stdin.flush()
            while (answer := json.loads(agent.stdout.readline())).get("id") != method:
                pass
            return dict(answer["result"])

        def held() -> set[str]:
            found = set()
            for number in os.listdir(folder := Path(f"/proc/{agent.pid}/fd")):
                with contextlib.suppress(FileNotFoundError):  # closed while we look
                    found.add(os.readlink(folder / number))
            return {name for name in found if name.startswith("/")}

        def talk() -> None:
            session = ask("session/new", cwd=str(home), mcpServers=[])["sessionId"]
            ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "hi"}])
            ask("session/close", sessionId=session)

        ask("initialize", protocolVersion=1)
        talk()
        once = held()
        for _ in range(2):
            talk()
        for _ in range(1_000):  # a file may be on its way out
            if (left := {name for name in held() if name not in once or "memory.db" in name}) == set():
                break
            ask("session/list")
        agent.stdin.close()
        assert agent.wait(LIMIT_S) == 0
    assert left == set()
