"""The attack and benign commands that lie beside the repository, as far as reading the command decides them."""

import json
import pathlib
import shutil
import subprocess
import sys

import pytest

from signoff.domain.intent import Command, Opaque
from signoff.policy.shell import Reading, read_argv
from signoff.policy.shell.examine import Findings
from signoff.policy.shell.plain import RESERVED, read_plain
from signoff.policy.shell.script import SIMPLE
from signoff.policy.shell.tree import follow_tree
from tests.policy.granting import CWD, HOME, commands, granted, is_dangerous, read


def prefixes(policy: str | None, kind: str) -> list[tuple[str, ...]]:
    if not (policy or "").startswith(kind):
        return []
    return [tuple(text.partition(" (")[0].split()) for text in (policy or "")[len(kind) :].split("|")]


@pytest.fixture(scope="module")
def bypass(cases: pathlib.Path) -> list[dict[str, str]]:
    lines = (cases / "policy" / "bypass.jsonl").read_text(encoding="utf-8").splitlines()
    return [case for case in map(json.loads, lines) if "command" in case]


def test_no_attack_is_granted(bypass: list[dict[str, str]]) -> None:
    attacks = [case for case in bypass if case["expected"] != "allow" and not case["policy"].startswith("ask-prefix")]
    through = [
        case["id"] for case in attacks if granted(read(case["command"]), prefixes(case.get("policy"), "allow-prefix:"))
    ]
    assert len(attacks) > 100
    assert through == []


def test_benign_commands_are_granted(bypass: list[dict[str, str]]) -> None:
    benign = [case for case in bypass if case["expected"] == "allow" and case["kind"] != "benign_sandboxed"]
    asked = [
        case["id"] for case in benign if not granted(read(case["command"]), prefixes(case["policy"], "allow-prefix:"))
    ]
    assert len(benign) >= 50
    assert asked == []


def test_a_denied_program_is_found_wherever_it_stands(bypass: list[dict[str, str]]) -> None:
    missed = [
        case["id"]
        for case in bypass
        for (denied,) in prefixes(case["policy"], "deny-prefix:")
        if not any((words[0] or "").rpartition("/")[2] == denied for words in commands(case["command"]))
    ]
    assert missed == []


def test_dangerous_commands_are_known_as_such(bypass: list[dict[str, str]]) -> None:
    wrong = [
        case["id"]
        for case in bypass
        if case["kind"] in ("dangerous", "not_dangerous")
        and is_dangerous(read(case["command"])) != (case["kind"] == "dangerous")
    ]
    assert wrong == []


def test_the_vectors_of_other_projects_agree_but_for_known_differences(cases: pathlib.Path) -> None:
    lines = (cases / "policy" / "upstream_vectors.jsonl").read_text(encoding="utf-8").splitlines()
    different = set()
    for vector in map(json.loads, lines):
        if "argv" in vector:
            reading = read_argv(tuple(vector["argv"]), cwd=CWD, home=HOME)
            judge = granted if vector["fn"] == "is_known_safe_command" else is_dangerous
            if judge(reading) != (vector["expected"] in ("safe", "dangerous")):
                different.add(vector["id"])
    newer_refuses_git = {f"up-{number:03}" for number in (*range(57, 66), 67)}
    broken_but_dangerous = {"up-132"}
    assert different == newer_refuses_git | broken_but_dangerous


@pytest.fixture(scope="module")
def readings(cases: pathlib.Path) -> dict[str, Reading]:
    lines = (cases / "commands" / "tldr.txt").read_text(encoding="utf-8").splitlines()
    return {line: read(line) for line in lines}


def test_every_known_command_line_says_something(readings: dict[str, Reading]) -> None:
    assert len(readings) > 29_000
    assert [line for line, reading in readings.items() if not reading.aspects] == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_what_bash_refuses_is_not_plain(readings: dict[str, Reading]) -> None:
    """Each plain line becomes a function body, thousands at a time; only a file that fails is looked at closer."""
    plain = [line for line, reading in readings.items() if reading.plain]
    assert len(plain) > 20_000
    assert [line for line in _suspects(plain) if not _bash_accepts(line)] == []


def _suspects(lines: list[str]) -> list[str]:
    if not lines or _bash_accepts("".join(f"f() {{\n{line}\n}}\n" for line in lines)):
        return []
    if len(lines) == 1:
        return lines
    middle = len(lines) // 2
    return _suspects(lines[:middle]) + _suspects(lines[middle:])


def _bash_accepts(script: str) -> bool:
    run = subprocess.run(["bash", "-n"], input=script.encode(), capture_output=True, timeout=60, check=False)
    return run.returncode == 0 and not run.stderr


def test_the_fast_path_reads_what_the_careful_one_reads(readings: dict[str, Reading]) -> None:
    for line in readings:
        if SIMPLE.fullmatch(line):
            words = [segment.words for segment in read_plain(line, HOME)] if line.split()[0] not in RESERVED else None
            assert words is None or words == [line.split()]


def test_the_strict_reader_and_the_grammar_agree(readings: dict[str, Reading]) -> None:
    """Two readers, written apart, find the same words in every line of which both claim to know them."""
    for line, reading in readings.items():
        if reading.plain and not SIMPLE.fullmatch(line):
            findings = Findings(CWD, HOME)
            follow_tree(findings, line, 0)
            if not any(isinstance(aspect, Opaque) and aspect.asks for aspect in findings.aspects):
                ours = [aspect.words for aspect in reading.aspects if isinstance(aspect, Command)]
                theirs = [aspect.words for aspect in findings.aspects if isinstance(aspect, Command)]
                assert [words for words in ours if words not in theirs] == [], line


def test_the_grammar_is_loaded_only_for_what_needs_it() -> None:
    code = (
        "import sys; from signoff.policy.shell import read_script\n"
        "read_script(\"git log --format='%h %s' | head\", cwd='/', home='/'); assert 'tree_sitter' not in sys.modules\n"
        "read_script('echo $(date)', cwd='/', home='/'); assert 'tree_sitter' in sys.modules\n"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0
