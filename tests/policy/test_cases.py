"""The attack and benign cases that lie beside the repository, judged as a whole: by rules, tables and built-in rules."""

import json
import pathlib
from typing import Any

import pytest

from signoff.domain.intent import Intent
from signoff.domain.verdict import Decision
from signoff.policy.decide import decide
from signoff.policy.intents import argv_intent
from tests.policy.judged import (
    FULL_ACCESS,
    HOME,
    NEVER,
    ON_REQUEST,
    READ_ONLY,
    UNTRUSTED,
    WORKSPACE,
    WORKSPACE_WRITE,
    context,
    rules,
    script,
)

PREFIXES = {"allow-prefix: ": "allow", "deny-prefix: ": "forbidden", "ask-prefix: ": "prompt"}


def rows(cases: pathlib.Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (cases / "policy" / name).read_text(encoding="utf-8").splitlines()]


def prefix_rules(prefixes: list[str], decision: str) -> str:
    return "\n".join(f'prefix_rule(pattern={json.dumps(one.split())}, decision="{decision}")' for one in prefixes)


def decision(row: dict[str, Any]) -> Decision:
    said = row["policy"] or ""
    text = ""
    for mark, word in PREFIXES.items():
        if said.startswith(mark):
            text = prefix_rules(said.removeprefix(mark).split(" (")[0].split("|"), word)
    circumstances = context(UNTRUSTED, READ_ONLY)
    if "danger-full-access" in said:
        circumstances = context(ON_REQUEST, FULL_ACCESS)
    elif "workspace-write" in said:
        circumstances = context(ON_REQUEST, WORKSPACE_WRITE)
    return decide(script(row["command"]), rules(text), circumstances).decision


def test_no_attack_is_allowed_and_what_is_to_be_denied_is_denied(cases: pathlib.Path) -> None:
    attacks = [row for row in rows(cases, "bypass.jsonl") if "command" in row and row["expected"] != "allow"]
    least = {"deny": Decision.DENY, "ask": Decision.ASK, "not_auto_allow": Decision.ASK}
    assert [row["id"] for row in attacks if decision(row) < least[row["expected"]]] == []
    assert len(attacks) > 100


def test_at_most_two_in_a_hundred_benign_commands_are_asked_about(cases: pathlib.Path) -> None:
    benign = [row for row in rows(cases, "bypass.jsonl") if "command" in row and row["expected"] == "allow"]
    asked = [row["id"] for row in benign if decision(row) > Decision.ALLOW]
    assert len(asked) <= 0.02 * len(benign), asked


# Why a label of another project's test is not ours: the known-safe table keeps git's reading verbs; whoever walks a
# broken script still finds what it would remove.
ANOTHER_VIEW = {"git_commands_are_not_known_safe", "non_forced_or_non_literal_rm_is_not_dangerous"}


def upstream(row: dict[str, Any]) -> Intent:
    return argv_intent(tuple(row["argv"]), cwd=WORKSPACE, home=HOME)


@pytest.mark.parametrize("function", ["is_known_safe_command", "command_might_be_dangerous"])
def test_the_tables_agree_with_the_projects_they_were_learnt_from(cases: pathlib.Path, function: str) -> None:
    found = [row for row in rows(cases, "upstream_vectors.jsonl") if row["fn"] == function]
    differing = []
    for row in found:
        if function == "is_known_safe_command":
            allowed = decide(upstream(row), rules(), context(UNTRUSTED, READ_ONLY)).decision == Decision.ALLOW
            agrees = allowed == (row["expected"] == "safe")
        else:
            blocked = decide(upstream(row), rules(), context(NEVER, FULL_ACCESS)).decision == Decision.DENY
            agrees = blocked == (row["expected"] == "dangerous")
        if not agrees and row["test"] not in ANOTHER_VIEW:
            differing.append(row["id"])
    assert differing == []


def test_rules_split_scripts_as_strictly_as_another_project_does(cases: pathlib.Path) -> None:
    """Never milder; stricter where that project grants substitutions and redirections, milder only by the known-safe
    table, which it does not have."""
    words = {"allow": Decision.ALLOW, "ask_user": Decision.ASK, "deny": Decision.DENY}
    for row in [row for row in rows(cases, "upstream_vectors.jsonl") if row["fn"] == "policy.check"]:
        word = "forbidden" if row["expected"] == "deny" else "prompt" if "(rule)" in row["test"] else "allow"
        known = rules(prefix_rules(row.get("allow_prefixes") or row["rule_prefixes"], word))
        verdict = decide(script(row["command"]), known, context(UNTRUSTED, READ_ONLY))
        by_table = any(match.rule_id == "builtin.command.safe" for match in verdict.matches)
        assert verdict.decision >= words[row["expected"]] or by_table, row["id"]


def test_real_command_lines_are_judged_without_an_exception(cases: pathlib.Path) -> None:
    known, circumstances = rules('prefix_rule(["git"])\nprefix_rule(["rm"], decision="prompt")'), context(UNTRUSTED)
    lines = (cases / "commands" / "tldr.txt").read_text(encoding="utf-8").splitlines()
    judged = [decide(script(line), known, circumstances).decision for line in lines]
    assert len(judged) == len(lines)
    assert 0 < judged.count(Decision.ALLOW) < len(lines) / 4
