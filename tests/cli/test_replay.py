"""signoff replay: what other rules would have said."""

import json
import pathlib
import sys

import pytest

from tests.cli.program import signoff

EXAMPLE = str(pathlib.Path(__file__).parents[2] / "examples" / "agent.py")


@pytest.fixture
def recorded(home: pathlib.Path) -> pathlib.Path:
    workspace = home / "ws"
    workspace.mkdir()
    signoff("wrap", "--", sys.executable, EXAMPLE, "echo one", "make deploy", "curl http://127.0.0.1:9/", cwd=workspace)
    return workspace


def test_the_same_rules_change_nothing(recorded: pathlib.Path) -> None:
    ended = signoff("replay", "--json", cwd=recorded)
    report = json.loads(ended.out)
    assert (ended.status, report["changed"], len(report["calls"])) == (0, 0, 3)
    assert signoff("replay", cwd=recorded).out.endswith("3 calls judged again, 0 would be different\n")


def test_a_stricter_rule_shows_what_it_would_have_stopped(recorded: pathlib.Path) -> None:
    rules = recorded / "stricter.rules"
    rules.write_text('prefix_rule(pattern=["make", "deploy"], decision="forbidden")\n', encoding="utf-8")
    report = json.loads(signoff("replay", "--rules", str(rules), "--json", cwd=recorded).out)
    (changed,) = (call for call in report["calls"] if call["before"] != call["after"])
    assert (changed["before"], changed["after"], changed["decided"]) == ("allow", "deny", "allow")
    shown = signoff("replay", "--policy", str(rules), cwd=recorded).out
    assert "make deploy" in shown
    assert "3 calls judged again, 1 would be different" in shown


def test_what_is_no_ledger_is_refused(home: pathlib.Path) -> None:
    (home / "x.jsonl").write_text("{}\n", encoding="utf-8")
    ended = signoff("replay", str(home / "x.jsonl"), cwd=home)
    assert ended.status == 61
    assert "does not begin like a ledger" in ended.err


def test_nothing_in_a_record_steers_the_terminal(recorded: pathlib.Path, home: pathlib.Path) -> None:
    (record,) = (home / ".local" / "state" / "signoff" / "runs").glob("*.jsonl")
    hostile = record.read_bytes().replace(b'"rule_id":"', b'"rule_id":"\\u001b[2J\\u202e')
    (home / "x.jsonl").write_bytes(hostile)
    shown = signoff("replay", "--all", str(home / "x.jsonl"), cwd=recorded).out
    assert "‹ESC›[2J‹U+202E›" in shown
    assert not {"\x1b", "\u202e"} & set(shown)
