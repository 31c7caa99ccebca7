"""A supervised child through the embedding interface: a real one and the fake one behave alike."""

import os
import pathlib
import signal
import sys
from collections.abc import Iterator

import pytest

from signoff.supervisor import (
    Abort,
    FakeRunner,
    Heard,
    Lost,
    Output,
    ParseFailed,
    ProcessRunner,
    Runner,
    RunnerSession,
    Spec,
    StdinJsonl,
)
from signoff.supervisor.session import Session
from signoff.wire.tool_events import ToolRequest, ToolResult
from tests.clauses import requirement

WAIT = 120
EXAMPLE = str(pathlib.Path(__file__).parents[2] / "examples" / "agent.py")


def spec(*argv: str, tty: bool = False) -> Spec:
    environ = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return Spec((sys.executable, *argv), cwd="/tmp", environ=environ, run_id="r-1", tty=tty)


def answered(session: RunnerSession, decision: str) -> list[ToolResult]:
    """Answer every request alike until the child ends; the results it reported."""
    results = []
    while not (session.status.done() and session.events.empty()):
        if isinstance(session, Session):
            session.wait(0)
        if session.events.empty():
            continue
        event = session.events.get(timeout=WAIT)
        for heard in event.events if isinstance(event, Heard) else []:
            if isinstance(heard, ToolRequest):
                session.control(
                    StdinJsonl(
                        {
                            "v": 1,
                            "type": "policy.decision",
                            "ts": 1,
                            "id": heard.id,
                            "decision": decision,
                            "reason": "so",
                        }
                    )
                )
            elif isinstance(heard, ToolResult):
                results.append(heard)
    return results


@requirement("MEM-047", "MEM-048", "MEM-049", "MEM-050", "MEM-074", "MEM-117")
@pytest.mark.parametrize("decision", ["allow", "deny"])
def test_a_real_child_and_the_fake_one_obey_alike(decision: str) -> None:
    request = ToolRequest(1, 1, "t-1", "shell", "exec", {"command": "true"}, requires_policy=True)
    runners: list[tuple[Runner, int]] = [
        (ProcessRunner(), decision == "deny"),
        (FakeRunner([request], decision == "deny"), decision == "deny"),
    ]
    for runner, status in runners:
        session = runner.start_session(spec(EXAMPLE, "true"), Output(None, None))
        results = answered(session, decision)
        assert [result.ok for result in results] == [decision == "allow"]
        assert session.status.result(WAIT) == status
        if isinstance(session, Session):
            session.close()


@pytest.fixture
def started() -> Iterator[list[Session]]:
    sessions: list[Session] = []
    yield sessions
    for session in sessions:
        session.close()


@requirement("MEM-055")
@pytest.mark.parametrize(("code", "status"), [("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 9)", 137)])
def test_the_exit_status_is_the_childs(started: list[Session], code: str, status: int) -> None:
    started.append(Session(spec("-c", code), Output(None, None)))
    assert started[0].wait(WAIT) == status
    assert started[0].status.result(0) == status


@requirement("MEM-009", "MEM-030")
def test_the_ping_is_the_first_line_and_its_nonce_is_not_in_the_environment(
    started: list[Session], tmp_path: pathlib.Path
) -> None:
    out = tmp_path / "out"
    with open(out, "wb") as file:
        code = "import sys, os; sys.stdout.write(sys.stdin.readline() + repr(dict(os.environ)))"
        started.append(Session(spec("-c", code), Output(file.fileno(), None)))
        assert started[0].wait(WAIT) == 0
    ping, environ = out.read_text(encoding="utf-8").split("\n", 1)
    assert '"type":"policy.ping"' in ping
    nonce = started[0].trust.nonce
    assert nonce is not None
    assert nonce in ping
    assert nonce not in environ


def test_a_child_that_closes_its_stdin_is_reported_lost(started: list[Session]) -> None:
    code = 'import os, sys; sys.stdin.readline(); os.close(0); print(\'{"v":1,"type":"policy.ack","ts":1,"id":"x"}\', flush=True); import time; time.sleep(60)'
    session = Session(spec("-c", code), Output(None, None))
    started.append(session)
    assert isinstance(session.events.get(timeout=WAIT), Heard)
    assert session.control(Abort("gone")) is False
    assert isinstance(session.events.get(timeout=WAIT), Lost)


def test_a_bad_event_line_is_reported_and_passed_on(started: list[Session], tmp_path: pathlib.Path) -> None:
    out = tmp_path / "out"
    with open(out, "wb") as file:
        code = "import sys; sys.stdin.readline(); print('@@MEM_TOOL_EVENT@@ {nope')"  # who does not read is lost, too
        session = Session(spec("-c", code), Output(file.fileno(), None))
        started.append(session)
        assert session.wait(WAIT) == 0
    event = session.events.get(timeout=WAIT)
    assert isinstance(event, ParseFailed)
    assert out.read_bytes() == b"@@MEM_TOOL_EVENT@@ {nope\n"


def test_abort_says_so_then_ends_a_child_that_does_not_listen(started: list[Session], tmp_path: pathlib.Path) -> None:
    out = tmp_path / "out"
    code = "import signal, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN)\nfor line in sys.stdin: print('>', line, end='', flush=True)\nsignal.pause()"
    with open(out, "wb") as file:
        session = Session(spec("-c", code), Output(file.fileno(), None))
        started.append(session)
        while b"ping" not in out.read_bytes():
            pass
        assert session.abort("enough", "policy_violation", grace=3.0, kill_grace=0.2) == 128 + signal.SIGKILL
    assert '"policy.abort"' in out.read_text(encoding="utf-8")


def test_on_a_terminal_the_protocol_has_a_channel_of_its_own(started: list[Session], tmp_path: pathlib.Path) -> None:
    out = tmp_path / "out"
    code = (
        "import sys\nfrom signoff.codecli import Client\nassert sys.stdin.isatty()\n"
        "call = Client().request('shell', 'exec', {'command': 'x'})\nprint('allowed:', call.allowed)\ncall.succeed()"
    )
    with open(out, "wb") as file:
        session = Session(spec("-c", code, tty=True), Output(file.fileno(), None))
        started.append(session)
        results = answered(session, "allow")
    assert [result.ok for result in results] == [True]
    assert out.read_bytes() == b"allowed: True\r\n"
