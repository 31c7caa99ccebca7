"""The person's side, in a real pseudo-terminal: what stands on the screen, and what the keys do."""

import pathlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pexpect
import pyte
import pytest

from signoff.cli import terminal
from signoff.domain.review import (
    Abort,
    Approved,
    ApprovedExecpolicyAmendment,
    ApprovedForSession,
    Denied,
    ReviewDecision,
    Scope,
    TimedOut,
)

ROOT = pathlib.Path(__file__).parents[2]
Start = Callable[..., "Asked"]


class Asked:
    """A question on a screen of a given size."""

    def __init__(
        self, answers: pathlib.Path, scene: str, columns: int, lines: int, colour: bool, arm_s: float, limit_s: float
    ) -> None:
        self.answers = answers
        self.screen = pyte.Screen(columns, lines)
        self.stream = pyte.Stream(self.screen)
        arguments = ["-m", "tests.cli.ask_at_terminal", scene, "colour" if colour else "plain"]
        self.child: Any = pexpect.spawn(
            sys.executable,
            [*arguments, str(arm_s), str(limit_s), str(answers)],
            dimensions=(lines, columns),
            cwd=ROOT,
            encoding="utf-8",
            timeout=180,
            echo=False,
            env={"PATH": "/usr/bin:/bin", "TERM": "xterm", "PYTHONPATH": str(ROOT / "src"), "LANG": "C.UTF-8"},
        )

    def until(self, text: str) -> str:
        """Feed the screen until the text was printed; the screen then."""
        self.child.expect_exact(text)
        self.stream.feed(self.child.before + self.child.after)
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip() + "\n"

    def armed(self) -> "Asked":
        """Until a key counts: what comes while the question is being put is thrown away. A key without a meaning rings."""
        for _ in range(20):
            self.child.send("\t")
            if self.child.expect_exact(["\a", pexpect.TIMEOUT], timeout=10) == 0:
                return self
        raise AssertionError("no key ever counted")

    def insists(self, key: str, text: str) -> None:
        """The same where nothing rings: pressed until it shows."""
        for _ in range(20):
            self.child.send(key)
            if self.child.expect_exact([text, pexpect.TIMEOUT], timeout=10) == 0:
                return
        raise AssertionError(f"{key!r} was never taken")

    def decisions(self) -> list[ReviewDecision]:
        self.child.expect_exact("answered")
        self.child.expect(pexpect.EOF)
        return msgspec.json.decode(self.answers.read_bytes(), type=list[ReviewDecision])


@pytest.fixture
def start(tmp_path: pathlib.Path) -> Iterator[Start]:
    running: list[Asked] = []

    def begin(
        scene: str,
        columns: int = 80,
        lines: int = 60,
        colour: bool = False,
        arm_s: float = 0.0,
        limit_s: float = 600.0,
    ) -> Asked:
        running.append(Asked(tmp_path / "answers.json", scene, columns, lines, colour, arm_s, limit_s))
        return running[-1]

    yield begin
    for asked in running:
        asked.child.close(force=True)


STOP = "no, and stop"


@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.parametrize("scene", ["command", "hostile", "patch", "reading", "tool"])
def test_golden_screens(scene: str, columns: int, start: Start, golden: Callable[[str, str], None]) -> None:
    golden(f"terminal/{scene}-{columns}.txt", start(scene, columns=columns).until(STOP))


def test_colour_changes_the_looks_and_not_the_words(start: Start) -> None:
    plain, coloured = start("patch").until(STOP), start("patch", colour=True)
    assert coloured.until(STOP) == plain
    assert "\x1b[32m" in coloured.child.before


def test_hostile_text_reaches_the_terminal_without_a_single_control_character(start: Start) -> None:
    asked = start("hostile")
    asked.until(STOP)
    sent = asked.child.before + asked.child.after
    for ours in ("\r\n", "\r\x1b[K", terminal._SOBER):
        sent = sent.replace(ours, "")
    assert sent.isprintable()
    assert "\u202e" not in sent


PREFIX = ("npm", "install")
ANSWERS: dict[str, tuple[list[str], ReviewDecision]] = {
    "y once": (["y"], Approved()),
    "a for the session": (["a"], ApprovedForSession()),
    "p saves the narrowest rule": (["p"], ApprovedExecpolicyAmendment((*PREFIX, "--save-dev", "left-pad@1.3.0"))),
    "2 then p saves the prefix": (["2", "p"], ApprovedExecpolicyAmendment(PREFIX)),
    "Enter is no": (["\r"], Denied()),
    "n without a reason": (["n", "\r"], Denied()),
    "n with a reason": (["n", "use pnpm, pleasee", "\x7f", "\r"], Denied("use pnpm, please")),
    "n, then another mind": (["n", "\x1b", "y"], Approved()),
    "Esc stops": (["\x1b"], Abort()),
    "other keys are nothing": (["q", "\t", "4", "\x1b[A", "yy", "y\r", "\r"], Denied()),
    "e edits the rule": (
        ["e", "\x15", "npm install @project for 8h", "\r", "y"],
        ApprovedExecpolicyAmendment(PREFIX, Scope.PROJECT, 8 * 3_600_000),
    ),
    "e with a mistake, then right": (
        ["e", "\x15", "npm install @world", "\r", "\x15", "npm install @session", "\r", "y"],
        ApprovedExecpolicyAmendment(PREFIX, Scope.SESSION),
    ),
    "e with a rule for something else, then right": (
        ["e", "\x15", "npm ci @user", "\r", "\x15", "npm install @user", "\r", "y"],
        ApprovedExecpolicyAmendment(PREFIX),
    ),
    "e, then no after all": (["e", "\r", "n", "\x1b", "\r"], Denied()),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_keys(name: str, start: Start) -> None:
    keys, expected = ANSWERS[name]
    asked = start("command")
    asked.until(STOP)
    asked.armed()
    for number, key in enumerate(keys, 1):
        asked.child.send(key)
        if number < len(keys) or key not in (
            "y",
            "a",
            "p",
            "\r",
            "\x1b",
        ):  # keys sent together would count as one paste
            asked.child.expect(r"y / n |\n\r\x1b\[K" if key == "\r" else r"\a|\x1b\[K")
    assert asked.decisions() == [expected]


def test_nothing_is_approved_before_its_last_line_was_on_the_screen(start: Start) -> None:
    asked = start("long", lines=24)
    assert "echo line 60" not in asked.until("Esc: stop")
    for key in "ya\rp":
        asked.child.send(key)
    for _ in range(2):
        asked.child.send(" ")
        asked.until("Esc: stop")
    asked.child.send(" ")
    assert "echo line 60" in asked.until(STOP)
    asked.armed().child.send("y")
    assert asked.decisions() == [Approved()]


@pytest.mark.parametrize(("key", "expected"), [("n", Denied()), ("\x1b", Abort())])
def test_a_long_question_can_be_refused_unread(key: str, expected: ReviewDecision, start: Start) -> None:
    asked = start("long", lines=24)
    asked.until("Esc: stop")
    asked.child.send(key)
    assert asked.decisions() == [expected]


def test_what_was_typed_before_the_question_does_not_answer_it(start: Start) -> None:
    asked = start("command")
    asked.child.send("yyyy\ry")
    asked.until(STOP)
    asked.armed().child.send("\r")
    assert asked.decisions() == [Denied()]


def test_a_key_pressed_at_once_does_not_answer_either(start: Start) -> None:
    asked = start("command", arm_s=3_600.0, limit_s=2.0)
    asked.until(STOP)
    asked.child.send("y")
    assert asked.decisions() == [TimedOut()]


@pytest.mark.parametrize("scene", ["command", "long"])
def test_an_interrupt_is_one_for_the_whole_program_and_needs_no_second_thought(scene: str, start: Start) -> None:
    asked = start(scene, lines=40, arm_s=3_600.0)
    asked.until("Esc: stop" if scene == "long" else STOP)
    asked.insists("\x03", "the question was withdrawn; nothing was approved")
    asked.child.expect_exact("KeyboardInterrupt")
    asked.child.expect(pexpect.EOF)
    assert not asked.answers.exists()


def test_a_question_longer_than_the_screen_is_read_in_both_directions(start: Start) -> None:
    asked = start("long", lines=24)
    first = asked.until("Esc: stop")
    asked.child.send(" ")
    second = asked.until("Esc: stop")
    asked.child.send("b")
    again = asked.until("Esc: stop")
    assert rows(again) == rows(first)
    assert rows(second) != rows(first)
    for key in ("\x1b[B", "\x1b[A"):  # a line down, a line up
        asked.child.send(key)
        moved = asked.until("Esc: stop")
    assert rows(moved) == rows(first)
    asked.child.send("G")
    last = asked.until(STOP)
    assert "echo line 60" in last
    asked.armed().child.send("b")
    back = asked.until("Esc: stop")
    assert "echo line 60" not in back
    assert "echo line 40" in back
    for key in "ya\rp":  # not the end of the question: no answer
        asked.child.send(key)
    asked.child.send("\x1b[F")
    assert rows(asked.until(STOP)) == rows(last)
    asked.armed().child.send("y")
    assert asked.decisions() == [Approved()]


def test_in_a_window_of_another_size_the_question_is_laid_out_anew_before_it_is_answered(start: Start) -> None:
    asked = start("long", lines=100)
    asked.until(STOP)
    asked.armed().child.setwinsize(24, 60)
    asked.child.send("y")
    asked.screen.resize(24, 60)
    assert "echo line 60" not in asked.until("Esc: stop")  # it no longer fits, so it has to be read again
    asked.child.send("G")
    assert "echo line 60" in asked.until(STOP)
    asked.armed().child.send("y")
    assert asked.decisions() == [Approved()]


def test_a_refusal_counts_in_a_window_of_any_size(start: Start) -> None:
    asked = start("command")
    asked.until(STOP)
    asked.armed().child.setwinsize(24, 60)
    asked.child.send("\r")
    assert asked.decisions() == [Denied()]


def rows(screen: str) -> list[str]:
    return [line for line in screen.splitlines() if "│" in line]


def test_what_a_program_did_to_the_terminal_does_not_hide_the_question(start: Start) -> None:
    asked = start("command")
    for trick in ("\x1b[3;4r", "\x1b[8m", "\x1b(0", "\x0e", "\x1b[4h", "\x1b[?7l"):
        asked.stream.feed(trick)
    asked.stream.feed("\x1b[20;1H")
    seen = asked.until(STOP)
    assert "npm install --save-dev left-pad@1.3.0" in seen
    assert "run_terminal_cmd wants to run a command" in seen


def test_two_questions_wait_for_each_other_and_the_count_is_shown(start: Start) -> None:
    asked = start("two")
    assert "run_terminal_cmd wants to run a command" in asked.until("(1 more waiting)")
    asked.armed().child.send("y")
    screen = asked.until("calendar.create wants to act: net") + asked.until(STOP)
    assert "more waiting" not in screen.rsplit("calendar.create", 1)[1]
    asked.armed().child.send("\r")
    assert asked.decisions() == [Approved(), Denied()]


def test_a_question_that_times_out_is_withdrawn_and_the_terminal_is_as_before(start: Start) -> None:
    asked = start("command", limit_s=0.5)
    asked.until("nothing was approved")
    assert asked.decisions() == [TimedOut()]
