"""The attack and benign commands that lie beside the repository, as far as reading the command decides them."""

import json
import pathlib

import pytest

from signoff.domain.intent import Command
from signoff.policy.shell import read_argv
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


def test_every_known_command_line_is_read_without_an_exception(cases: pathlib.Path) -> None:
    for line in (cases / "commands" / "tldr.txt").read_text(encoding="utf-8").splitlines():
        assert any(isinstance(aspect, Command) for aspect in read(line).aspects) or not read(line).plain
