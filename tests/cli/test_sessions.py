"""signoff sessions, and sessions as `run` and `chat` use them."""

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import PROGRAM, signoff
from tests.cli.test_run import DONE, command, script, without_chance, workspace

__all__ = ["workspace"]


def listed(workspace: Path, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(signoff("sessions", "list", "--json", *words, cwd=workspace).out)[
        "sessions"
    ]
    return found


def test_a_session_in_which_nothing_could_be_said_is_not_kept(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert signoff("run", "-m", "openai/gpt-5", "fix it", cwd=workspace).status == 3
    assert listed(workspace) == []


def test_a_session_through_its_whole_life(workspace: Path, tmp_path: Path) -> None:
    assert signoff("sessions", "list", cwd=workspace).out == ""
    signoff(
        "run", "-m", script(workspace, {"tools": [command("true")]}, DONE, {"text": "more"}), "fix it", cwd=workspace
    )
    (one,) = listed(workspace)
    assert (one["title"], one["mode"], one["cwd"]) == ("fix it", "ask", str(workspace))
    short = one["id"][:13]
    shown = signoff("sessions", "show", short, cwd=workspace).out
    assert "## You\n\nfix it" in shown and "- run_terminal_cmd: true" in shown and "All done." in shown
    forked = signoff("sessions", "fork", one["id"], cwd=workspace).out.strip()
    assert signoff("sessions", "rename", forked, "another", cwd=workspace).status == 0
    assert {(each["id"], each["title"]) for each in listed(workspace)} == {(one["id"], "fix it"), (forked, "another")}
    resumed = signoff("sessions", "resume", forked, "go on", cwd=workspace)
    assert (resumed.status, resumed.out) == (0, "more\n")
    exported = signoff("sessions", "export", forked, cwd=workspace).out.splitlines()
    assert json.loads(exported[0])["what"]["forked_from"] == one["id"]
    assert "go on" in signoff("sessions", "export", forked, "--format", "markdown", cwd=workspace).out
    assert signoff("sessions", "delete", forked, cwd=workspace).status == 0
    assert [each["id"] for each in listed(workspace)] == [one["id"]]
    assert listed(tmp_path) == []
    assert len(listed(tmp_path, "--all")) == 1


@pytest.mark.parametrize("verb", ["show", "fork", "delete", "export", "resume"])
def test_a_session_that_is_not_there(workspace: Path, verb: str) -> None:
    ended = signoff("sessions", verb, "nothing", *(["go on"] if verb == "resume" else []), cwd=workspace)
    assert ended.status == 1
    assert "no session begins with 'nothing'" in ended.err


def test_the_json_of_a_session(workspace: Path, golden: Callable[[str, str], None]) -> None:
    signoff("run", "-m", script(workspace, DONE), "hello", cwd=workspace)
    (one,) = listed(workspace)
    for verb, words in {"list": (), "show": (one["id"],)}.items():
        document = json.loads(signoff("sessions", verb, *words, "--json", cwd=workspace).out)
        golden(f"run/sessions-{verb}.json", json.dumps(plainly(document), indent=2) + "\n")


def plainly(value: Any) -> Any:
    match value:
        case dict():
            return {
                key: "…" if key in ("id", "created_ms", "updated_ms", "model") else plainly(one)
                for key, one in without_chance(value).items()
            }
        case list():
            return [plainly(one) for one in value]
        case _:
            return value


@pytest.mark.parametrize(
    "moment", ["session", "text", "tool.started", "tool.judged", "tool.progress", "tool.finished", "usage"]
)
def test_a_killed_run_is_gone_on_with(workspace: Path, moment: str) -> None:
    """Killed right after each kind of event was told; then resumed, with every request of the model answered."""
    turns: tuple[dict[str, Any], ...] = (
        {"text": "I begin now", "delay_ms": 20, "tools": [command("echo out; sleep 1"), command("echo second")]},
        {"text": "half way", "tools": [command("echo third; sleep 30")]},
        *({"text": "gone on"} for _ in range(3)),
    )
    model = script(workspace, *turns)
    child = subprocess.Popen(
        [PROGRAM, "run", "-m", model, "--output-format", "stream-json", "the task"],
        cwd=workspace,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert child.stdout is not None
    for line in child.stdout:
        if json.loads(line)["type"] == moment:
            break
    os.kill(child.pid, signal.SIGKILL)
    child.wait(30)
    child.stdout.close()
    (one,) = listed(workspace)
    assert one["title"] == ("the task" if moment != "session" else one["title"])
    ended = signoff("run", "-c", "-m", script(workspace, {"text": "gone on"}), "and now", cwd=workspace)
    assert (ended.status, ended.out) == (0, "gone on\n"), ended.err
    entries = json.loads(signoff("sessions", "show", one["id"], "--json", cwd=workspace).out)["entries"]
    messages = [entry["what"]["message"] for entry in entries if entry["what"]["type"] == "said"]
    asked = [request["id"] for message in messages for request in message["tool_requests"]]
    answered = [message["tool_request_id"] for message in messages if message["role"] == "tool"]
    assert answered == asked
    assert len(listed(workspace)) == 1


def test_what_is_no_file_among_the_sessions_is_passed_over(workspace: Path, home: Path) -> None:
    assert signoff("run", "-m", "echo/echo", "hello", cwd=workspace).status == 0
    folder = home / ".local/state/signoff/sessions"
    os.mkfifo(folder / "01a1e35e-2267-7091-9097-44e292cd91d4.jsonl")
    (folder / "index.db").unlink(missing_ok=True)
    assert len(listed(workspace)) == 1
    checks = {
        check["id"]: check["code"] for check in json.loads(signoff("doctor", "--json", cwd=workspace).out)["checks"]
    }
    assert checks["sessions"] == "sessions.damaged"
