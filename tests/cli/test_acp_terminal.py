"""signoff acp connect at a terminal: the agent's options and forms are the person's to answer, all of them shown."""

import json
import pathlib
import re
from collections.abc import Callable, Iterator
from typing import Any

import pexpect
import pytest

from tests.cli.test_acp import SIGNOFF, connect, script, serve, space

__all__ = ["space"]
ASK = {"name": "ask_user", "args": {"question": "Which \x1b[2Jcolour?", "options": ["red", "blue"]}}
Start = Callable[..., Any]


@pytest.fixture
def start(space: pathlib.Path, home: pathlib.Path) -> Iterator[Start]:
    started: list[Any] = []

    def begin(*words: str) -> Any:
        child = pexpect.spawn(
            SIGNOFF,
            ["acp", "connect", *words],
            dimensions=(50, 120),
            cwd=str(space),
            encoding="utf-8",
            timeout=180,
        )
        started.append(child)
        return child

    yield begin
    for child in started:
        child.close(force=True)


def press(child: Any, key: str, until: str) -> None:
    """Again until it counts: what is pressed in the first moment does not."""
    for _ in range(180):
        child.send(key)
        if child.expect_exact([until, pexpect.TIMEOUT], timeout=1) == 0:
            return
    raise AssertionError(f"{key} was never taken")


@pytest.mark.parametrize(
    ("key", "says", "stays"),
    [
        ("1", "→ Allow once", False),
        ("2", "→ Always allow this in this session", False),
        ("3", "→ Reject", True),
        ("4", "→ Always reject this in this session", True),
        ("\r", "→ Reject", True),
        ("\x1b", "→ called off", True),
    ],
)
def test_every_option_is_shown_by_name_and_the_chosen_one_is_answered(
    space: pathlib.Path, start: Start, key: str, says: str, stays: bool
) -> None:
    (space / "a.txt").write_text("content\n")
    model = script(space, {"tools": [{"name": "delete_file", "args": {"path": "a.txt"}}]}, {"text": "done"})
    child = start("--cmd", serve(model), "--prompt", "go")
    child.expect_exact("Allow once (allow_once)")
    for name in ("(allow_always)", "Reject (reject_once)", "(reject_always)", "Esc: call it off"):
        child.expect_exact(name)
    press(child, key, says)
    child.expect(pexpect.EOF)
    assert (space / "a.txt").exists() is stays


def test_a_form_is_filled_in_at_the_terminal(space: pathlib.Path, start: Start) -> None:
    child = start("--cmd", serve(script(space, {"tools": [ASK]}, {"text": "ok", "expect": "blue"})), "--prompt", "go")
    child.expect("Which (.*)colour")
    assert "\x1b[2J" not in child.match.group(1)  # made visible
    child.expect_exact("blue")
    child.expect_exact("Answer: ")
    press(child, "9\r", "one of the 2 choices")
    child.send("\x15" + "2")
    child.send("\r")
    child.expect_exact("→ answered")
    child.expect_exact("ok")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


def test_a_form_that_is_given_up_is_declined(space: pathlib.Path, start: Start) -> None:
    child = start("--cmd", serve(script(space, {"tools": [ASK]}, {"text": "ok"})), "--prompt", "go")
    child.expect_exact("Answer: ")
    press(child, "\x1b", "→ not answered")
    child.expect_exact("the person did not answer")
    child.expect(pexpect.EOF)


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_without_a_terminal_a_form_is_declined_and_the_reason_said(space: pathlib.Path, flags: tuple[str, ...]) -> None:
    model = script(space, {"tools": [ASK]}, {"text": "ok"})
    ended = connect("--cmd", serve(model), "--prompt", "go", *flags)
    assert ended.returncode == 0, ended.stderr
    if not flags:
        assert "declined, nobody is at a terminal to answer" in ended.stderr
        return
    (told,) = [row for line in ended.stdout.splitlines() if (row := json.loads(line))["type"] == "elicitation"]
    assert re.fullmatch(r"[0-9a-f-]{36}", told.pop("sessionId"))
    assert told == {
        "type": "elicitation",
        "action": "decline",
        "message": ASK["args"]["question"],  # type: ignore[index]
        "reason": "nobody is at a terminal to answer",
    }
