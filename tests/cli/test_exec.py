"""signoff exec, as a person and a script use it: black box, real sandbox, real ledger."""

import json
import os
import pathlib
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pexpect
import pytest

from signoff.cli.exec import _status
from signoff.domain.call import Failure, ToolResult
from signoff.domain.errors import Exit
from signoff.ledger.records import DecidedBy, Decision, Genesis, Record, Result, Review
from tests.clauses import requirement
from tests.cli.program import PROGRAM, signoff
from tests.faults.history import History, recorded, violations

STOP = "no, and stop"


@pytest.fixture
def workspace(home: Path) -> Path:
    directory = home / "shop"
    directory.mkdir()
    return directory


def ledgers(home: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted((home / ".local/state/signoff/runs").glob("*.jsonl"))]


def last_run(home: Path) -> list[Record]:
    ledger = ledgers(home)[-1]
    assert violations(History(ledger, len(ledger))) == []
    return recorded(ledger)


STATUSES: dict[str, tuple[tuple[str, ...], int]] = {
    "the command's own": (("--", "sh", "-c", "exit 7"), 7),
    "killed by a signal": (("--", "sh", "-c", "kill -9 $$"), 137),
    "nobody to approve": (("--", "rm", "-rf", "build"), 40),
    "forbidden under never": (("--approval", "never", "--", "rm", "-rf", "build"), 40),
    "its time was up": (("--timeout-ms", "200", "--", "sleep", "30"), 124),
    "no such program": (("--", "no-such-program"), 20),
    "the sandbox kept it from writing": (("--", "sh", "-c", "echo x > /etc/signoff-was-here"), 2),
    "read-only": (("--sandbox", "read-only", "--", "touch", "x"), 1),
    "nothing to run": ((), 2),
}


@pytest.mark.parametrize("name", STATUSES)
def test_exit_status(name: str, workspace: Path) -> None:
    words, status = STATUSES[name]
    assert signoff("exec", *words, cwd=workspace).status == status


@pytest.mark.parametrize(
    ("words", "next_step"),
    [
        (("git push --force",), "write: signoff exec -- git push --force\n"),
        (("rm", "-rf", "build"), '"signoff why -- rm -rf build" names the rule.\n'),
        (("sh", "-c", "curl -sS -m 5 https://example.com"), '"signoff -c sandbox.network=on exec -- sh -c'),
    ],
)
def test_what_did_not_run_is_followed_by_what_to_do_next(
    workspace: Path, words: tuple[str, ...], next_step: str
) -> None:
    assert next_step in signoff("exec", "--", *words, cwd=workspace).err


def test_where_the_sandbox_cannot_hold_nothing_runs(workspace: Path, tmp_path: Path) -> None:
    (workspace / ".git").symlink_to(tmp_path)
    ended = signoff("exec", "--", "touch", "x", cwd=workspace)
    assert (ended.status, ended.out) == (44, "")
    assert ".git is a symbolic link and cannot be protected" in ended.err
    assert not (workspace / "x").exists()


def test_input_and_output_are_the_command_s_byte_for_byte(workspace: Path) -> None:
    ended = subprocess.run(
        [PROGRAM, "exec", "--", "cat"], input=bytes(range(256)), capture_output=True, cwd=workspace, timeout=60
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, bytes(range(256)), b"")


def without_chance(report: dict[str, Any]) -> str:
    report["run_id"], report["duration_ms"] = "…", 0
    if report["payload"]:
        report["payload"]["backend"] = "…"
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("allowed", ("echo", "hello")),
        ("refused", ("rm", "-rf", "build")),
        ("stopped", ("sh", "-c", "echo x > /etc/signoff-was-here")),
    ],
)
def test_golden_json(name: str, words: tuple[str, ...], workspace: Path, golden: Callable[[str, str], None]) -> None:
    ended = signoff("exec", "--json", "--", *words, cwd=workspace)
    assert ended.err == ""
    report = json.loads(ended.out)
    assert report["exit_status"] == ended.status
    golden(f"exec/{name}.json", without_chance(report))


def test_the_record_of_a_command(home: Path, workspace: Path) -> None:
    signoff("exec", "--", "echo", "hello", cwd=workspace)
    genesis, _, decision, result, close = last_run(home)
    assert isinstance(genesis, Genesis)
    assert (genesis.command, genesis.workspace) == (("signoff", "exec", "echo", "hello"), str(workspace))
    assert isinstance(decision, Decision)
    assert (decision.decision, decision.decided_by, decision.sandboxed) == ("allow", "policy", True)
    assert isinstance(result, Result)
    assert (result.ok, result.artifacts.commands_run) == (True, ("echo hello",))
    assert close.exit_code == 0  # type: ignore[union-attr]


def test_no_secret_reaches_the_ledger(home: Path, workspace: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    signoff("exec", "--", "echo", f"token={secret}", cwd=workspace)
    (ledger,) = ledgers(home)
    assert violations(History(ledger, len(ledger), secrets=(secret,))) == []


def test_being_told_to_end_stops_the_command_and_is_recorded(home: Path, workspace: Path) -> None:
    process = subprocess.Popen(
        [PROGRAM, "exec", "--", "sh", "-c", "echo started; sleep 300; sleep 300"],
        cwd=workspace,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    before = descendants(process.pid)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 130
    survivors = tuple(pid for pid in before if alive(pid))
    ledger = ledgers(home)[-1]
    assert violations(History(ledger, len(ledger), survivors=survivors)) == []
    results = [record for record in recorded(ledger) if isinstance(record, Result)]
    assert [result.error.code for result in results if result.error] == ["interrupted"]


def alive(pid: int) -> bool:
    """A dead one may wait a moment for the machine's first process to collect it."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def descendants(pid: int) -> list[int]:
    """Every process below this one."""
    found: list[int] = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            found += [child, *descendants(child)]
    return found


class TestAtTheTerminal:
    """The question appears in a terminal although input and output are pipes, and only the terminal answers it."""

    def ask(self, workspace: Path, command: str) -> Any:
        return pexpect.spawn(
            "/bin/sh", ["-c", command], cwd=str(workspace), encoding="utf-8", timeout=180, dimensions=(60, 100)
        )

    @pytest.fixture
    def patient(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("NO_COLOR", "1")

    def answer(self, terminal: Any, key: str) -> None:
        """Keys pressed at once do not count: press until it is taken."""
        terminal.expect_exact(STOP)
        while terminal.isalive():
            terminal.send(key)
            if terminal.expect([" → ", pexpect.TIMEOUT], timeout=0.5) == 0:
                return
        raise AssertionError("the question went away")

    def status(self, terminal: Any) -> int:
        terminal.expect(pexpect.EOF)
        terminal.close()
        return int(terminal.exitstatus)

    @pytest.mark.parametrize(
        ("key", "status", "decision"), [("y", 0, "approved"), ("a", 0, "approved_for_session"), ("\r", 40, "denied")]
    )
    def test_a_key_decides(
        self, key: str, status: int, decision: str, home: Path, workspace: Path, patient: None
    ) -> None:
        (workspace / "build").mkdir()
        terminal = self.ask(workspace, f"exec {PROGRAM} exec -- rm -rf build </dev/null")
        self.answer(terminal, key)
        assert self.status(terminal) == status
        assert (workspace / "build").exists() is (status != 0)
        reviews = [record for record in last_run(home) if isinstance(record, Review)]
        assert [(review.decision, review.reviewer) for review in reviews] == [(decision, "terminal")]

    @requirement("APR-053", "APR-055")
    def test_a_saved_rule_is_in_the_file_and_is_not_asked_again(
        self, home: Path, workspace: Path, patient: None
    ) -> None:
        terminal = self.ask(workspace, f"exec {PROGRAM} exec --approval untrusted -- make test")
        self.answer(terminal, "p")
        self.status(terminal)
        saved = home / ".config/signoff/rules/default.rules"
        assert saved.read_text(encoding="utf-8") == 'prefix_rule(pattern=["make", "test"], decision="allow")\n'
        signoff("exec", "--approval", "untrusted", "--", "make", "test", "again", cwd=workspace)
        (decision,) = [record for record in last_run(home) if isinstance(record, Decision)]
        assert (decision.decision, decision.decided_by, decision.sandboxed) == ("allow", DecidedBy.POLICY, False)

    def test_what_comes_through_a_pipe_is_no_answer(self, workspace: Path, patient: None) -> None:
        (workspace / "build").mkdir()
        terminal = self.ask(workspace, f"yes | {PROGRAM} -c policy.decision_timeout_ms=1500 exec -- rm -rf build")
        terminal.expect_exact(STOP)
        assert self.status(terminal) == 41
        assert (workspace / "build").exists()

    def test_a_question_is_seen_even_when_stderr_is_a_file(self, workspace: Path, patient: None) -> None:
        terminal = self.ask(workspace, f"exec {PROGRAM} exec -- rm -rf build 2>log")
        self.answer(terminal, "\r")
        assert self.status(terminal) == 40
        assert "rm -rf build" not in (workspace / "log").read_text(encoding="utf-8")

    def test_without_a_terminal_nobody_is_asked(self, workspace: Path) -> None:
        ended = subprocess.run(
            [PROGRAM, "exec", "--", "rm", "-rf", "build"],
            cwd=workspace,
            capture_output=True,
            timeout=60,
            start_new_session=True,
            env=dict(os.environ),
        )
        assert ended.returncode == 40
        assert ended.stderr.startswith(
            b"signoff: this needs approval and nobody is there to give it\n  Run it at a terminal"
        )


@pytest.mark.parametrize(("default_action", "answer"), [("ask", "deny"), ("allow", "allow")])
def test_with_a_limited_network_every_host_is_a_decision_of_the_gate(
    default_action: str, answer: str, home: Path, workspace: Path
) -> None:
    settings = ("-c", "sandbox.network=limited", "-c", f"policy.default_action={default_action}")
    fetch = "import urllib.request as u; u.urlopen('http://signoff-test.invalid/', timeout=20)"
    ended = signoff(*settings, "exec", "--", "python3", "-c", fetch, cwd=workspace)
    assert ended.status == 1  # the name leads nowhere, whatever was decided
    decisions = [record for record in last_run(home) if isinstance(record, Decision) and record.name == "network"]
    assert [(str(decision.decision), decision.decided_by) for decision in decisions] == [(answer, "unattended")]


def test_on_ask_fail_ends_with_the_same_status(workspace: Path) -> None:
    ended = signoff("-c", "policy.on_ask=fail", "exec", "--json", "--", "rm", "-rf", "build", cwd=workspace)
    assert (ended.status, json.loads(ended.out)["error"]["code"]) == (40, "review.aborted")


def test_golden_demo(home: Path, golden: Callable[[str, str], None]) -> None:
    ended = signoff("demo", cwd=home)
    assert (ended.status, ended.err) == (0, "")
    text = re.sub(r" +\d+ ms", "     N ms", ended.out)
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", text)
    text = re.sub(r"head [0-9a-f]{12}", "head HASH", text)
    text = re.sub(r"(fetch a URL[^\n]*\n)(?: {15}[^\n]*\n)+", r"\1", text)  # whatever this machine fetches with
    text = re.sub(r"\S+/signoff (?=why|exec)", "signoff ", text)  # where it is not found by its name
    golden("demo/pipe.txt", text)


def test_a_command_that_could_not_be_started_is_no_finding() -> None:
    refused = ToolResult("c", False, None, Failure("file.refused", "cannot open the lock file"), 0)
    assert _status(refused) == Exit.INTERNAL
