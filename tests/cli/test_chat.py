"""signoff chat in a real terminal: what stands on the screen, and what keys do."""

import contextlib
import io
import json
import os
import re
from pathlib import Path
from typing import Any

import pexpect
import pyte
import pytest
from rich.console import Console

from signoff.approvals.silence import Silence
from signoff.cli.output import Output
from signoff.cli.talk import Talk
from signoff.cli.view import View
from signoff.domain.event import CallProgress, Warned
from tests.clauses import requirement
from tests.cli.program import PROGRAM, signoff
from tests.cli.test_run import DONE, call, command, run, script, workspace
from tests.cli.test_tool_servers import SERVER

__all__ = ["workspace"]
WAIT = 120


class Screen:
    """A terminal of 100 by 40 with the program in it."""

    def __init__(self, workspace: Path, *words: str) -> None:
        environ = {**os.environ, "TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1"}
        environ = {name: value for name, value in environ.items() if name not in ("COLUMNS", "LINES")}
        self.child = pexpect.spawn(
            PROGRAM, list(words), cwd=str(workspace), env=environ, dimensions=(40, 100), timeout=WAIT, encoding=None
        )
        self._screen = pyte.HistoryScreen(100, 40, history=10_000)
        self._stream = pyte.ByteStream(self._screen)

    def text(self) -> str:
        above = ["".join(line[column].data for column in range(100)).rstrip() for line in self._screen.history.top]
        return "\n".join([*above, *(line.rstrip() for line in self._screen.display)])

    def until(self, wanted: str, times: int = 1, wait: int = WAIT) -> str:
        """Read until it stands on the screen so many times."""
        while self.text().count(wanted) < times:
            try:
                self._stream.feed(self.child.read_nonblocking(65_536, timeout=wait))
            except (pexpect.TIMEOUT, pexpect.EOF) as error:
                raise AssertionError(f"{wanted!r} never came ({type(error).__name__}):\n{self.text()}") from None
        return self.text()

    def presses(self, key: str, wanted: str, times: int = 1) -> None:
        """After a moment, since the first one of a question takes no answer; again only if nothing happens for long."""
        for wait in (1, *[WAIT] * 3):
            with contextlib.suppress(AssertionError):
                self.until(wanted, times, wait=wait)
                return
            self.types(key)
        raise AssertionError(self.text())

    def sees(self, pattern: str) -> str:
        """Read until something like it stands on the screen."""
        while not re.search(pattern, self.text()):
            self._stream.feed(self.child.read_nonblocking(65_536, timeout=WAIT))
        return self.text()

    def types(self, text: str) -> None:
        self.child.send(text.encode())

    def ends(self) -> int:
        self.child.expect(pexpect.EOF)
        self._stream.feed(self.child.before or b"")
        self.child.close()
        return int(self.child.exitstatus if self.child.exitstatus is not None else 128 + self.child.signalstatus)


@requirement("ACP-001", "ACP-008")
def test_a_conversation(workspace: Path) -> None:
    model = script(
        workspace,
        {
            "text": "# Looking\n\nI **look** first.",
            "tools": [call("read_file", path="cart.py"), command("echo a; sleep 1")],
        },
        {"text": "- one\n- two"},
        {"text": "You said more."},
    )
    screen = Screen(workspace, "chat", "-m", model)
    screen.until("›")
    screen.types("hello\r")
    text = screen.until("• two")
    assert "✓ read_file cart.py" in text and "✓ echo a; sleep 1" in text
    assert "**" not in text
    screen.until("›", 2)
    screen.types("one line\\\rand another\r")
    screen.until("You said more.")
    screen.until("›", 3)
    screen.types("/quit\r")
    assert screen.ends() == 0


def test_a_running_call_has_a_line_with_a_clock(workspace: Path) -> None:
    os.mkfifo(workspace / "gate")
    screen = Screen(workspace, "chat", "-m", script(workspace, {"tools": [command("echo busy; cat gate")]}, DONE), "go")
    text = screen.sees(r"● echo busy; cat gate [1-9]\d*\.")
    assert "busy" in text
    (workspace / "gate").write_text("")
    screen.until("All done.")
    screen.until("›")
    screen.types("\x04")
    assert screen.ends() == 0
    assert "● echo busy" not in screen.text()


def test_ctrl_c_stops_the_turn_and_a_second_one_leaves(workspace: Path) -> None:
    model = script(workspace, {"text": "I sleep.", "tools": [command("sleep 100")]}, {"text": "second answer"})
    screen = Screen(workspace, "chat", "-m", model, "go")
    screen.until("● sleep 100")
    screen.types("\x03")
    screen.until("stopped; what had begun is recorded")
    screen.until("›")
    screen.types("again\r")
    screen.until("second answer")
    screen.until("›", 2)
    screen.types("\x03")
    screen.until("Ctrl-C again leaves")
    screen.types("\x03")
    assert screen.ends() == 0
    assert "Traceback" not in screen.text() and "never retrieved" not in screen.text()


def test_a_question_shows_the_diff_and_has_the_screen_to_itself(workspace: Path) -> None:
    patch = "*** Begin Patch\n*** Update File: cart.py\n@@\n-total = 1\n+total = 2\n*** End Patch\n"
    model = script(workspace, {"tools": [call("apply_patch", patch_text=patch)]}, DONE)
    screen = Screen(workspace, "chat", "-m", model, "--approval", "untrusted", "go")
    text = screen.until("yes, once")
    assert "-total = 1" in text and "+total = 2" in text
    screen.presses("y", "→ yes, once")
    screen.until("All done.")
    assert (workspace / "cart.py").read_text() == "total = 2\n"
    screen.until("›")
    screen.types("/undo\r")
    screen.until("undo wants to act")
    screen.presses("y", "→ yes, once", 2)
    screen.until("›", 2)
    assert (workspace / "cart.py").read_text() == "total = 1\n"
    screen.types("/quit\r")
    assert screen.ends() == 0


SLASHES = {
    "/help": "/permissions",
    "/model": "model scripted/",
    "/permissions": "→ ask",
    "/permissions auto": "→ auto",
    "/permissions nonsense": "there is no mode 'nonsense'",
    "/plan": "mode plan",
    "/diff": "fatal: not a git repository",
    "/undo": "nothing",
    "/cost": "0 answers",
    "/memory": "nothing fits",
    "/sessions": "go on with one",
    "/compact": "0 messages are left",
    "/clear": "begins anew",
    "/nonsense": "there is no /nonsense",
}


def test_every_slash_command_answers(workspace: Path) -> None:
    script(workspace, DONE)
    screen = Screen(workspace, "chat", "-m", "scripted/../script.jsonl")
    screen.until("›")
    for count, (line, answer) in enumerate(SLASHES.items(), start=2):
        screen.types(f"{line}\r")
        if line not in ("/undo", "/diff"):
            screen.until(answer)
        screen.until("›", count)
    screen.types("/quit\r")
    assert screen.ends() == 0
    assert "Traceback" not in screen.text()


def test_a_used_up_budget_is_asked_about(workspace: Path) -> None:
    model = script(workspace, {"tools": [command("echo a")]}, {"text": "went on"})
    screen = Screen(workspace, "run", "-m", model, "--max-turns", "1", "go")
    screen.until("Go on for 1 more? [y/N]")
    screen.types("y\r")
    screen.until("went on")
    assert screen.ends() == 0


def test_a_question_of_the_agent_is_answered_in_the_chat(workspace: Path) -> None:
    ask = call("ask_user", question="Which one?", options=["red", "green"])
    model = script(workspace, {"tools": [ask]}, {"text": "So be it.", "expect": "green"})
    screen = Screen(workspace, "chat", "-m", model, "go")
    screen.until("2. green")
    screen.types("2\r")
    screen.until("So be it.")
    screen.until("›", 1)
    screen.types("/quit\r")
    screen.ends()


@requirement("ACP-008")
@pytest.mark.parametrize("words", [(), ("--json",)])
def test_in_a_pipe_it_answers_once(workspace: Path, words: tuple[str, ...]) -> None:
    ended = signoff("chat", "-m", "echo/echo", *words, "hello", cwd=workspace, stdin="there")
    assert ended.status == 0
    text = json.loads(ended.out)["text"] if words else ended.out.strip()
    assert text == "hello\n\nthere"
    assert signoff("chat", "-m", "echo/echo", cwd=workspace).status == 2


@requirement("CLU-047")
def test_with_live_what_is_displayed_stays_in_a_window_else_it_is_a_line(workspace: Path) -> None:
    turns: tuple[dict[str, Any], ...] = (
        {
            "tools": [
                call("display", content="reading the tests", level="progress", thought="they tell most"),
                command("echo x; cat gate"),
            ]
        },
        DONE,
    )
    os.mkfifo(workspace / "gate")
    screen = Screen(workspace, "run", "--live", "-m", script(workspace, *turns), "go")
    text = screen.sees(r"● echo x; cat gate [1-9]\d*\.")
    assert "the agent shows" in text and "reading the tests" in text and "they tell most" in text
    (workspace / "gate").write_text("")
    screen.until("All done.")
    assert screen.ends() == 0
    (workspace / "gate").unlink()
    ended = run(workspace, "go", turns=turns)
    assert "… reading the tests" in ended.err and "the agent shows" not in ended.err


def test_what_a_session_took_is_kept_when_the_model_changes(workspace: Path) -> None:
    model = script(workspace, {"text": "one"}, {"text": "two"})
    screen = Screen(workspace, "chat", "-m", model, "go")
    screen.until("one")
    screen.until("›")
    screen.types("/cost\r")
    screen.until("1 answers")
    screen.types("/model echo/echo\r")
    screen.until("model echo/echo")
    screen.types("hello\r")
    screen.until("›", 4)
    screen.types("/cost\r")
    screen.until("2 answers")
    screen.types("/quit\r")
    assert screen.ends() == 0


def test_a_shape_is_for_one_answer(workspace: Path) -> None:
    (workspace / "shape.json").write_text('{"type": "object"}', encoding="utf-8")
    screen = Screen(workspace, "chat", "-m", script(workspace, DONE), "--output-schema", "shape.json", "go")
    assert screen.ends() == 2
    assert "--output-schema is for one answer" in screen.text()


def test_a_chat_uses_the_tools_of_a_live_server(workspace: Path, home: Path) -> None:
    folder = home / ".config" / "signoff"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"calc": SERVER}}), encoding="utf-8")
    model = script(workspace, {"tools": [call("mcp__calc__add", a=20, b=22)]}, DONE)
    screen = Screen(workspace, "chat", "-m", model, "add")
    screen.until("mcp__calc__add")
    screen.presses("y", "→ yes, once")
    screen.until("All done.")
    screen.until("›")
    screen.types("/quit\r")
    assert screen.ends() == 0


@pytest.mark.parametrize("words", [("run", "--live"), ("run",)])
def test_a_question_in_a_run_has_the_screen_to_itself(workspace: Path, words: tuple[str, ...]) -> None:
    patch = "*** Begin Patch\n*** Update File: cart.py\n@@\n-total = 1\n+total = 2\n*** End Patch\n"
    turns = ({"tools": [call("display", content="shown")]}, {"tools": [call("apply_patch", patch_text=patch)]}, DONE)
    screen = Screen(workspace, *words, "-m", script(workspace, *turns), "--approval", "untrusted", "go")
    text = screen.until("yes, once")
    assert "the agent shows" not in text, "the window is gone while the question stands"
    screen.presses("y", "→ yes, once")
    screen.until("All done.")
    assert screen.ends() == 0
    assert "✓ apply_patch" in screen.text() and (workspace / "cart.py").read_text() == "total = 2\n"


def test_what_happens_beside_a_question_is_told_after_the_last_one(capfd: pytest.CaptureFixture[str]) -> None:
    output, silence = Output(), Silence()
    page = io.StringIO()
    view = View(Console(file=page, width=80), output.paint, silence)
    talk = Talk(output, silence, streams=False)
    with view, contextlib.ExitStack() as later:
        later.enter_context(view.paused())
        with view.paused():
            for show in (view, talk):
                show(Warned("one"))
                show(CallProgress("c", "text"))
        assert "one" not in page.getvalue() + capfd.readouterr().err
    assert "one" in page.getvalue() and "one" in capfd.readouterr().err
