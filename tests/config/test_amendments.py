"""Writing amendments while others write, and dying at every step."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from signoff.config.amendments import allow_tool, forbid_tool, grant, remember
from signoff.domain.errors import RulesInvalid, ToolConflict
from signoff.domain.review import ToolRule
from signoff.policy.execpolicy.amend import prefix_line
from signoff.policy.execpolicy.language import read_rules
from signoff.policy.grants import read_grants
from signoff.policy.rules.approved import approved, rule_text
from signoff.policy.rules.written import read_policy
from tests.clauses import requirement

SYSTEM = {"posix", "fcntl", "_io", "builtins"}
WRITERS, LINES = 6, 12


def in_child(act: Callable[[], None]) -> int:
    """Run it in a process of its own and give the raw status."""
    child = os.fork()
    if child == 0:
        try:
            act()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1]


def dying_at(step: int, act: Callable[[], None]) -> Callable[[], None]:
    """The same, killed from outside just before its `step`-th call into the system."""

    def doomed() -> None:
        left = step

        def look(_frame: object, event: str, function: object) -> None:
            nonlocal left
            if event == "c_call" and getattr(function, "__module__", None) in SYSTEM:
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.setprofile(look)
        act()

    return doomed


def deaths(act: Callable[[], None]) -> Iterator[int]:
    """Every way of dying on the way, until it gets through."""
    for step in range(1, 1_000):
        status = in_child(dying_at(step, act))
        if os.waitstatus_to_exitcode(status) == 0:
            return
        assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
        yield step
    raise AssertionError("it never got through")


BEFORE = ["", "# mine, without an end", prefix_line(("old",)) + "\n"]


@pytest.mark.parametrize("before", BEFORE)
def test_whoever_is_killed_at_any_step_leaves_the_old_file_or_the_new_one(tmp_path: Path, before: str) -> None:
    path = tmp_path / "default.rules"
    line = prefix_line(("new", "é"))
    after = f"{before}\n{line}\n" if before and not before.endswith("\n") else f"{before}{line}\n"
    died = 0
    path.write_text(before, encoding="utf-8")
    for _ in deaths(lambda: void(remember(tmp_path, ("new", "é")))):
        found = path.read_text(encoding="utf-8")
        died += 1
        assert found in (before, after)
        remember(tmp_path, ("new", "é"))  # nothing is in the way of the next one, and it is idempotent
        assert path.read_text(encoding="utf-8") == after
        path.write_text(before, encoding="utf-8")
    assert died > 5
    assert path.read_text(encoding="utf-8") == after
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [".default.rules.lock", "default.rules"]


def void(_: object) -> None:
    """For a lambda that must give nothing back."""


def insist(directory: Path, words: tuple[str, ...]) -> None:
    """Among many writers one may find the lock held for longer than it waits; it tries again, as it is told to."""
    for _ in range(100):
        try:
            remember(directory, words)
        except ToolConflict:
            continue
        return
    raise AssertionError("the lock was never free")


@requirement("APR-055")
def test_many_writers_lose_nothing_and_repeat_nothing(tmp_path: Path) -> None:
    def write(own: int) -> None:
        for number in range(LINES):
            insist(tmp_path, ("shared", str(number)))
            insist(tmp_path, (f"own{own}", str(number)))

    children = []
    for own in range(WRITERS):
        child = os.fork()
        if child == 0:
            try:
                write(own)
            except BaseException:
                os._exit(1)
            os._exit(0)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * WRITERS
    lines = (tmp_path / "default.rules").read_text(encoding="utf-8").splitlines()
    names = ["shared", *(f"own{own}" for own in range(WRITERS))]
    assert sorted(lines) == sorted(prefix_line((name, str(number))) for name in names for number in range(LINES))


def test_writers_that_are_killed_while_others_write_leave_every_finished_line_once(tmp_path: Path) -> None:
    done, told = os.pipe()
    children = []
    for own in range(4):
        child = os.fork()
        if child == 0:
            try:
                for number in range(10_000):
                    insist(tmp_path, (f"own{own}", str(number)))
                    os.write(told, f"{own} {number}\n".encode())
            finally:
                os._exit(0)
        children.append(child)
    os.close(told)
    with os.fdopen(done, encoding="utf-8") as finished:
        rows = [next(finished).split() for _ in range(40)]
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        rows += [line.split() for line in finished if line.endswith("\n")]
    rules = read_rules((tmp_path / "default.rules").read_text(encoding="utf-8"), "default.rules").prefixes
    written = [tuple(position[0] for position in rule.pattern) for rule in rules]
    assert len(written) == len(set(written))
    assert {(f"own{own}", number) for own, number in rows} <= set(written)


def test_another_program_that_holds_the_file_itself_is_waited_for(tmp_path: Path) -> None:
    import fcntl

    path = tmp_path / "default.rules"
    path.write_text("", encoding="utf-8")
    ready, go = os.pipe()
    child = os.fork()
    if child == 0:
        with path.open("a", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            os.write(go, b"x")
            # the test's own process is blocked in `remember` as soon as it can be; a line that arrives meanwhile stays
            file.write(prefix_line(("theirs",)) + "\n")
        os._exit(0)
    assert os.read(ready, 1) == b"x"
    remember(tmp_path, ("ours",))
    os.waitpid(child, 0)
    assert path.read_text(encoding="utf-8").splitlines() == [prefix_line(("theirs",)), prefix_line(("ours",))]


def test_a_grant_survives_a_death_at_any_step(tmp_path: Path) -> None:
    path = tmp_path / "grants.toml"
    grant(path, ("old",), 5_000, now_ms=1_000)
    before = path.read_bytes()
    for _ in deaths(lambda: grant(path, ("new", 'a "b"'), 9_000, now_ms=2_000)):
        found = read_grants(path.read_text(encoding="utf-8"), "grants.toml")
        assert [one.prefix for one in found] in ([("old",)], [("old",), ("new", 'a "b"')])
        path.write_bytes(before)
    kept = read_grants(path.read_text(encoding="utf-8"), "grants.toml")
    assert [(one.prefix, one.expires_ms) for one in kept] == [(("old",), 5_000), (("new", 'a "b"'), 9_000)]


HAND_WRITTEN = """\
default_action = "ask"   # unless told otherwise

# deletes are mine
[[rule]]
id = "mine"
tool = "delete_file"
decision = "deny"  # always"""
CALENDAR = ToolRule("calendar.create")
PLACES = ToolRule("write_file", "fs.write", paths=('/srv/a "b"', "/srv/é\x7f"))


def test_what_a_tool_may_do_is_added_to_a_policy_and_taken_out_without_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(HAND_WRITTEN, encoding="utf-8")
    for rule, expires in ((CALENDAR, None), (PLACES, 4_102_444_800_000), (CALENDAR, None)):
        allow_tool(path, rule, expires)
    text = path.read_text(encoding="utf-8")
    assert text == f"{HAND_WRITTEN}\n\n{rule_text(PLACES, 4_102_444_800_000)}\n{rule_text(CALENDAR)}"
    assert approved(text) == [(PLACES, 4_102_444_800_000), (CALENDAR, None)]
    later = text + '\n# and this one too is mine\n[[rule]]\nid = "more"\ntool = "x"\ndecision = "ask"\n'
    path.write_text(later, encoding="utf-8")
    forbid_tool(path, CALENDAR, None)
    forbid_tool(path, PLACES, 4_102_444_800_000)
    left = path.read_text(encoding="utf-8")
    assert approved(left) == []
    assert [rule.id for rule in read_policy(left, "policy.toml").rules] == ["mine", "more"]
    assert left.startswith(HAND_WRITTEN)
    assert "# and this one too is mine" in left


def test_another_end_takes_the_place_of_the_first(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    for expires in (4_000_000_000_000, None, 4_102_444_800_000):
        allow_tool(path, CALENDAR, expires)
    assert path.read_text(encoding="utf-8") == rule_text(CALENDAR, 4_102_444_800_000)


def test_a_rule_that_a_person_changed_is_theirs() -> None:
    for changed in (
        rule_text(CALENDAR).replace("allow", "deny"),
        rule_text(CALENDAR) + 'paths = ["/only/here"]\n',
        rule_text(CALENDAR).replace("\n", " # so it is\n", 1),
    ):
        assert approved(changed) == []


@pytest.mark.parametrize("text", ["rule = []\n", "not toml", '[[rule]]\ntool = "x"\n'])
def test_a_policy_that_would_not_load_is_left_alone(text: str, tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RulesInvalid):
        allow_tool(path, CALENDAR, None)
    assert path.read_text(encoding="utf-8") == text


def test_a_policy_survives_a_death_at_any_step(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(HAND_WRITTEN, encoding="utf-8")
    died = 0
    for _ in deaths(lambda: allow_tool(path, CALENDAR, None)):
        died += 1
        assert path.read_text(encoding="utf-8") in (HAND_WRITTEN, f"{HAND_WRITTEN}\n\n{rule_text(CALENDAR)}")
        path.write_text(HAND_WRITTEN, encoding="utf-8")
    assert died > 5
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [".policy.toml.lock", "policy.toml"]
