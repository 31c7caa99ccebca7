"""signoff run --external-policy: somebody else decides about every call that our own rules do not forbid."""

import json
import subprocess
from pathlib import Path
from typing import Any

from signoff.ledger.records import Decision, Genesis, Record
from tests.cli.program import PROGRAM, signoff
from tests.cli.test_exec import ledgers
from tests.cli.test_run import DONE, call, command, script, workspace
from tests.faults.history import recorded

__all__ = ["workspace"]
PREFIX = "@@MEM_TOOL_EVENT@@ "


class Outside:
    """Plays the supervisor by hand."""

    def __init__(self, workspace: Path, *turns: dict[str, Any]) -> None:
        self._child = subprocess.Popen(
            [PROGRAM, "run", "--external-policy", "-m", script(workspace, *turns), "x"],
            cwd=workspace,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines: list[str] = []
        self.say(v=1, type="policy.ping", id="ping", timeout_ms=60_000, nonce="n-1")

    def say(self, **message: Any) -> None:
        assert self._child.stdin is not None
        self._child.stdin.write(json.dumps(message) + "\n")
        self._child.stdin.flush()

    def hear(self, kind: str) -> dict[str, Any]:
        """The next event of that type."""
        assert self._child.stdout is not None
        for line in self._child.stdout:
            self.lines.append(line)
            event: dict[str, Any] = json.loads(line.removeprefix(PREFIX)) if line.startswith(PREFIX) else {}
            if event.get("type") == kind:
                return event
        raise AssertionError(f"no {kind}: {self.lines}")

    def decide(self, request: dict[str, Any], decision: str, **more: Any) -> None:
        self.say(v=1, type="policy.decision", id=request["id"], decision=decision, **more)

    def end(self) -> tuple[int, str]:
        out, _ = self._child.communicate(timeout=60)
        return self._child.returncode, "".join(line for line in out.splitlines(True) if not line.startswith(PREFIX))


def test_every_call_is_announced_and_waits(workspace: Path) -> None:
    outside = Outside(workspace, {"tools": [call("read_file", path="cart.py"), command("echo hi")]}, DONE)
    first = outside.hear("tool.request")
    assert (first["tool"], first["action"], first["args"]) == ("read_file", "read", {"path": "cart.py"})
    assert (first["requires_policy"], first["nonce"]) == (True, "n-1")
    outside.decide(first, "allow")
    assert outside.hear("tool.result")["ok"] is True
    second = outside.hear("tool.request")
    assert (second["tool"], second["args"]["command"]) == ("run_terminal_cmd", "echo hi")
    outside.decide(second, "deny", reason="not today")
    assert outside.hear("tool.result")["error"] == "not today"
    assert outside.end() == (40, "All done.\n")


def test_what_our_own_rules_forbid_is_not_even_asked(workspace: Path) -> None:
    outside = Outside(workspace, {"tools": [call("write_file", path="/etc/x", content=""), command("true")]}, DONE)
    request = outside.hear("tool.request")
    assert request["args"] == {"command": "true"}
    outside.decide(request, "allow")
    assert outside.end()[0] == 40
    assert not Path("/etc/x").exists()


def test_an_abort_ends_the_run(workspace: Path) -> None:
    outside = Outside(workspace, {"tools": [command("touch made")]}, DONE)
    outside.hear("tool.request")
    outside.say(v=1, type="policy.abort", id="abort", reason="enough")
    assert outside.end()[0] == 40
    assert not (workspace / "made").exists()


def test_a_supervisor_that_goes_away_is_a_no(workspace: Path) -> None:
    outside = Outside(workspace, {"tools": [command("touch made")]}, DONE)
    outside.hear("tool.request")
    status, _ = outside.end()  # closes standard input
    assert status in (40, 41)
    assert not (workspace / "made").exists()


def test_one_signoff_over_another(workspace: Path, home: Path) -> None:
    """End to end: wrap judges what run announces; the outer rules decide, both ledgers hold."""
    model = script(workspace, {"tools": [command("echo hi > made.txt"), command("rm -rf build")]}, DONE)
    ended = signoff("wrap", "--", PROGRAM, "run", "--external-policy", "-m", model, "tidy up", cwd=workspace)
    assert ended.out == "All done.\n"
    assert ended.status == 40
    assert (workspace / "made.txt").read_text() == "hi\n"
    by_command = {str(_genesis(records).command[1]): records for records in map(recorded, ledgers(home))}
    outer, inner = _decisions(by_command["wrap"]), _decisions(by_command["run"])
    assert [one.decision for one in outer] == ["allow", "deny"] == [one.decision for one in inner]
    assert [one.tool_call_id for one in outer] == [one.tool_call_id for one in inner]


def _genesis(records: list[Record]) -> Genesis:
    return next(record for record in records if isinstance(record, Genesis))


def _decisions(records: list[Record]) -> list[Decision]:
    return [record for record in records if isinstance(record, Decision)]
