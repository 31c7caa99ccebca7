"""The child's side: against a real pair of pipes, with the supervisor played line by line."""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from signoff.codecli import Aborted, Call, Client
from signoff.wire.tool_events import PREFIX
from tests.clauses import requirement

WAIT = 120


class Supervisor:
    """The other end: reads the child's events, writes lines of control."""

    def __init__(self) -> None:
        events_out, events_in = os.pipe()
        commands_out, commands_in = os.pipe()
        self._read, self._write = os.fdopen(events_out, "rb"), os.fdopen(commands_in, "wb", buffering=0)
        self.events: queue.Queue[dict[str, object]] = queue.Queue()
        self.client = Client(os.fdopen(events_in, "wb", buffering=0), commands_out)
        threading.Thread(target=self._pump, daemon=True).start()

    def _pump(self) -> None:
        for line in self._read:
            assert line.startswith(PREFIX)
            self.events.put(json.loads(line[len(PREFIX) :]))

    def say(self, kind: str, id: str, **fields: object) -> None:
        self._write.write(json.dumps({"v": 1, "type": kind, "ts": 1, "id": id, **fields}).encode() + b"\n")

    def next(self, kind: str) -> dict[str, object]:
        while (event := self.events.get(timeout=WAIT))["type"] != kind:
            pass
        return event

    def call(self, **options: object) -> "queue.Queue[Call | BaseException]":
        answer: queue.Queue[Call | BaseException] = queue.Queue()

        def ask() -> None:
            try:
                answer.put(self.client.request("shell", "exec", {"command": "ls"}, id="t-1"))
            except BaseException as error:
                answer.put(error)

        threading.Thread(target=ask, daemon=True).start()
        return answer

    def close(self) -> None:
        self._write.close()


@pytest.fixture
def supervisor(monkeypatch: pytest.MonkeyPatch) -> Iterator[Supervisor]:
    monkeypatch.setattr("signoff.codecli.client.GREETING", 0)
    yield (peer := Supervisor())
    peer.close()


@requirement("MEM-002", "MEM-003", "MEM-010", "MEM-026", "MEM-038", "MEM-058")
def test_an_allowed_call_runs_and_reports_its_result(supervisor: Supervisor) -> None:
    answer = supervisor.call()
    assert supervisor.next("tool.request")["requires_policy"] is True
    supervisor.say("policy.decision", "t-1", decision="allow", reason="fine")
    call = answer.get(timeout=WAIT)
    assert isinstance(call, Call)
    with call:
        assert call.allowed
        call.progress("running", percent=50)
        call.succeed({"exit_code": 0})
    assert supervisor.next("tool.progress")["percent"] == 50
    result = supervisor.next("tool.result")
    assert (result["ok"], result["output"]) == (True, {"exit_code": 0})


@requirement("MEM-021", "MEM-059")
@pytest.mark.parametrize("word", ["deny", "ask"])
def test_anything_but_allow_is_a_failed_result(supervisor: Supervisor, word: str) -> None:
    answer = supervisor.call()
    supervisor.next("tool.request")
    supervisor.say("policy.decision", "t-1", decision=word, reason="not here")
    call = answer.get(timeout=WAIT)
    assert isinstance(call, Call)
    assert not call.allowed
    result = supervisor.next("tool.result")
    assert (result["ok"], result["error"]) == (False, "not here")


@requirement("MEM-025")
def test_an_allow_that_has_expired_does_not_allow(supervisor: Supervisor) -> None:
    answer = supervisor.call()
    supervisor.next("tool.request")
    supervisor.say("policy.decision", "t-1", decision="allow", reason="x", expires_in_ms=0)
    call = answer.get(timeout=WAIT)
    assert isinstance(call, Call)
    assert not call.allowed


@requirement("MEM-039", "MEM-060")
def test_no_answer_in_time_is_a_no(supervisor: Supervisor) -> None:
    supervisor.say("policy.ping", "ping-1", timeout_ms=20, nonce="n-7", run_id="r-1")
    assert supervisor.client.supervised.wait(WAIT)
    call = supervisor.call().get(timeout=WAIT)
    assert isinstance(call, Call)
    assert not call.allowed
    assert supervisor.next("tool.result")["error"] == "policy timeout"


@requirement("MEM-027", "MEM-062", "MEM-064")
def test_unknown_late_duplicate_and_foreign_decisions_are_dropped_with_a_warning(supervisor: Supervisor) -> None:
    supervisor.say("policy.ping", "ping-1", run_id="r-1")
    assert supervisor.client.supervised.wait(WAIT)
    supervisor.say("policy.decision", "nobody", decision="allow", reason="x")
    assert supervisor.next("tool.progress")["stage"] == "warning"
    answer = supervisor.call()
    supervisor.next("tool.request")
    supervisor.say("policy.decision", "t-1", decision="allow", reason="x", run_id="another run")
    assert supervisor.next("tool.progress")["stage"] == "warning"
    supervisor.say("policy.decision", "t-1", decision="deny", reason="first")
    supervisor.say("policy.decision", "t-1", decision="allow", reason="second")
    call = answer.get(timeout=WAIT)
    assert isinstance(call, Call)
    assert call.reason == "first"
    assert supervisor.next("tool.progress")["stage"] == "warning"


@requirement("MEM-033", "MEM-036")
def test_an_abort_ends_the_wait_with_a_failed_result(supervisor: Supervisor) -> None:
    answer = supervisor.call()
    supervisor.next("tool.request")
    supervisor.say("policy.abort", "abort-1", reason="enough")
    assert isinstance(answer.get(timeout=WAIT), Aborted)
    assert supervisor.next("tool.result")["error"] == "aborted: enough"
    assert isinstance(supervisor.call().get(timeout=WAIT), Aborted)


@requirement("MEM-040")
def test_after_a_timeout_the_same_can_be_asked_again_under_a_new_id(supervisor: Supervisor) -> None:
    supervisor.say("policy.ping", "ping-1", timeout_ms=20)
    assert supervisor.client.supervised.wait(WAIT)
    assert not supervisor.client.request("shell", "exec", {"command": "ls"}).allowed
    first, second = supervisor.next("tool.request"), supervisor.call()
    again = supervisor.next("tool.request")
    assert again["id"] != first["id"]
    assert isinstance(second.get(timeout=WAIT), Call)


def test_a_lost_supervisor_is_a_no(supervisor: Supervisor) -> None:
    answer = supervisor.call()
    supervisor.next("tool.request")
    supervisor.close()
    call = answer.get(timeout=WAIT)
    assert isinstance(call, Call)
    assert not call.allowed


@requirement("MEM-030")
def test_a_ping_is_acknowledged_and_its_nonce_echoed(supervisor: Supervisor) -> None:
    supervisor.say("policy.ping", "ping-1", nonce="n-7", run_id="r-1")
    ack = supervisor.next("policy.ack")
    assert (ack["id"], ack["nonce"], ack["run_id"]) == ("ping-1", "n-7", "r-1")


def test_the_client_needs_nothing_but_wire_and_domain() -> None:
    script = (
        "import signoff.codecli, sys; print(sorted({m.split('.')[1] for m in sys.modules if m.startswith('signoff.')}))"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert shown.stdout.strip() == "['codecli', 'domain', 'wire']"
