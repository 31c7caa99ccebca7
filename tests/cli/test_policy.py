"""signoff why, policy and execpolicy, as a person and a script use them."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clauses import requirement
from tests.cli.program import signoff

RULES = """\
prefix_rule(pattern=["git", ["status", "diff"]], justification="read only git")
prefix_rule(pattern=["git"], decision="prompt")
prefix_rule(pattern=["git", "push", "--force"], decision="forbidden", justification="never force push")
prefix_rule(pattern=[["npm", "pnpm"], ["test", "run"]])
prefix_rule(pattern=["ls"])
host_executable(name="git", paths=["/usr/bin/git"])
for name in ["a1", "a2"]:
    prefix_rule(pattern=[name], decision="forbidden")
"""


@pytest.fixture
def folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a rule file; texts then hold no path of the machine."""
    monkeypatch.delenv("TMPDIR", raising=False)
    project = home / "app"
    project.mkdir()
    (project / "a.rules").write_text(RULES, encoding="utf-8")
    return project


EXEC = [
    ("git status -s", "prompt", ["git status", "git"]),
    ("git push origin", "prompt", ["git"]),
    ("git push --force origin", "forbidden", ["git", "git push --force"]),
    ("/usr/bin/git status", None, []),
    ("pnpm run build", "allow", ["pnpm run"]),
    ("python3 x.py", None, []),
    ("a2", "forbidden", ["a2"]),
    ("LS", None, []),
]


@pytest.mark.parametrize(("line", "decision", "prefixes"), EXEC)
def test_execpolicy_check_answers_from_the_files_alone(
    folder: Path, line: str, decision: str | None, prefixes: list[str]
) -> None:
    ended = signoff("execpolicy", "check", "-r", "a.rules", "--", *line.split(), cwd=folder)
    assert (ended.status, ended.err) == (0, "")
    found = json.loads(ended.out)
    assert found.get("decision") == decision
    assert [" ".join(one["prefixRuleMatch"]["matchedPrefix"]) for one in found["matchedRules"]] == prefixes


def test_golden_execpolicy_check_is_the_known_shape_byte_for_byte(
    folder: Path, golden: Callable[[str, str], None]
) -> None:
    words = ["execpolicy", "check", "-r", "a.rules"]
    answers = [
        signoff(*words, "--resolve-host-executables", "/usr/bin/git", "diff", "--stat", cwd=folder).out,
        signoff(*words, "--pretty", "--", "git", "push", "--force", cwd=folder).out,
        signoff(*words, "nothing", cwd=folder).out,
        signoff(*words, "--", "bash", "-lc", "git status", cwd=folder).out,
    ]
    golden("policy/execpolicy.check.txt", "".join(answers))


def test_golden_why_says_every_rule_with_its_place_and_the_winner(
    folder: Path, golden: Callable[[str, str], None]
) -> None:
    script = "git status && ls > /dev/null; cargo test"
    told = [
        signoff("why", "-r", "a.rules", "--", "git", "push", "--force", cwd=folder),
        signoff("why", "-r", "a.rules", "--approval", "untrusted", "--script", script, cwd=folder),
        signoff("why", "-r", "a.rules", "--", "pnpm", "run", "build", cwd=folder),
        signoff("why", "-r", "a.rules", "--tool", "fs.write", "--args", '{"path": ".git/hooks/x"}', cwd=folder),
        signoff("why", "-r", "a.rules", "--script", "echo \u202e\x1b[2J hidden", cwd=folder),
    ]
    assert [one.status for one in told] == [0] * len(told)
    golden("policy/why.txt", "\n".join(one.out for one in told).replace(str(folder), "/app"))


@requirement("CLU-016")
def test_golden_why_as_json_has_one_shape(folder: Path, golden: Callable[[str, str], None]) -> None:
    words = ["why", "-r", "a.rules", "--json"]
    told = [
        signoff(*words, "--", "npm", "test", cwd=folder),
        signoff(*words, "--", "a1", cwd=folder),
        signoff(*words, "--approval", "untrusted", "--", "cargo", "test", cwd=folder),
    ]
    assert [json.loads(one.out)["outcome"]["type"] for one in told] == ["ALLOW", "DENY", "REQUIRE_CONFIRMATION"]
    golden("policy/why.json", "".join(one.out for one in told).replace(str(folder), "/app"))


BATCH = [
    {"id": 1, "argv": ["ls", "-la"]},
    {"id": "two", "script": "git status | head -5"},
    {"id": None, "argv": ["bash", "-lc", "rm -rf build"]},
    {"id": {"n": 4}, "script": "a1"},
    {"id": 5, "script": "echo \ud800"},
    {"id": 6, "argv": ["foo", "bar"]},
    {"id": 7, "script": ""},
]


def test_golden_a_batch_is_answered_line_by_line_in_its_order(folder: Path, golden: Callable[[str, str], None]) -> None:
    text = "\n".join(json.dumps(row) for row in BATCH)
    (folder / "rows.jsonl").write_text(text, encoding="utf-8")
    words = ["policy", "check", "--rules", "a.rules", "--approval", "untrusted", "--sandbox", "read-only", "--batch"]
    by_file, by_stdin = signoff(*words, "rows.jsonl", cwd=folder), signoff(*words, "-", cwd=folder, stdin=text)
    assert by_file == by_stdin
    answers = [json.loads(line) for line in by_file.out.splitlines()]
    assert [answer["id"] for answer in answers] == [row["id"] for row in BATCH]
    keys = ["id", "decision", "requirement", "reason", "matched_rules", "segments", "proposed_execpolicy_amendment"]
    assert all(list(answer) == keys for answer in answers)
    golden("policy/batch.jsonl", by_file.out.replace(str(folder), "/app"))


def test_a_verdict_never_changes_the_exit_status(folder: Path) -> None:
    for words in (("policy", "check"), ("why",)):
        ended = signoff(*words, "-r", "a.rules", "--", "a1", "x", cwd=folder)
        assert (ended.status, ended.err) == (0, "")
        assert ended.out.startswith("forbidden")


def test_why_judges_what_a_link_leads_to_as_the_door_does(folder: Path, home: Path) -> None:
    (home / ".ssh").mkdir()
    (home / ".ssh/id_rsa").write_text("key", encoding="utf-8")
    (folder / "notes").symlink_to(home / ".ssh/id_rsa")
    for words in (("--", "cat", "notes"), ("--script", "cat notes")):
        ended = signoff("why", "--json", *words, cwd=folder)
        assert json.loads(ended.out)["winner"]["rule_id"] == "builtin.path.credentials-touched"
    assert signoff("policy", "check", "--script", "cat notes", cwd=folder).out.startswith("prompt")


def test_why_asks_a_tool_of_ours_what_it_touches(folder: Path) -> None:
    patch = "*** Begin Patch\n*** Add File: /etc/outside.txt\n+x\n*** End Patch\n"
    ended = signoff("why", "--json", "--tool", "apply_patch", "--args", json.dumps({"patch_text": patch}), cwd=folder)
    found = json.loads(ended.out)
    assert (found["decision"], found["segments"][-1]["text"]) == ("prompt", "/etc/outside.txt")
    ended = signoff("why", "--tool", "run_terminal_cmd", "--args", '{"cmd": "ls"}', cwd=folder)
    assert (ended.status, ended.out) == (2, "")
    assert "run_terminal_cmd: " in ended.err


BAD = [
    ("why", "-r", "bad.rules", "--", "ls"),
    ("policy", "check", "-r", "bad.rules", "--", "ls"),
    ("policy", "list", "-r", "bad.rules"),
    ("execpolicy", "check", "-r", "bad.rules", "--", "ls"),
]


@pytest.mark.parametrize("words", BAD, ids=" ".join)
def test_a_bad_rule_file_is_named_with_line_and_column_and_ends_with_3(folder: Path, words: tuple[str, ...]) -> None:
    (folder / "bad.rules").write_text('# fine\n  \nprefix_rule(pattern=["a"], decision="deny")\n', encoding="utf-8")
    ended = signoff(*words, cwd=folder)
    assert (ended.status, ended.out) == (3, "")
    assert ended.err == (
        'signoff: bad.rules:3:28: invalid decision: deny\n  Write decision="allow", "prompt" or "forbidden".\n'
    )
    missing = signoff(*[word.replace("bad", "missing") for word in words], cwd=folder)
    assert (missing.status, missing.out) == (3, "")
    assert "failed to read policy at missing.rules" in missing.err


def test_bad_rules_of_the_user_end_with_3_too(home: Path, folder: Path) -> None:
    rules = home / ".config/signoff/rules"
    rules.mkdir(parents=True)
    (rules / "default.rules").write_text("prefix_rule(", encoding="utf-8")
    for words in (("why", "--", "ls"), ("policy", "check", "--", "ls"), ("policy", "list"), ("policy", "test")):
        ended = signoff(*words, cwd=folder)
        assert (ended.status, ended.out) == (3, "")
        assert f"{rules}/default.rules:1:" in ended.err


USAGE = [
    ("why",),
    ("why", "--script", "ls", "--", "ls"),
    ("why", "--tool", "x", "--args", "{"),
    ("policy", "check"),
    ("policy", "check", "--approval", "sometimes", "--", "ls"),
    ("policy", "check", "--batch", "nowhere.jsonl"),
    ("execpolicy", "check", "-r", "a.rules"),
    ("execpolicy", "check", "--", "ls"),
]


@pytest.mark.parametrize("words", USAGE, ids=" ".join)
def test_wrong_arguments_end_with_2(folder: Path, words: tuple[str, ...]) -> None:
    ended = signoff(*words, cwd=folder)
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith("signoff: ")


ROWS = ["{", "[]", '{"id": 1}', '{"id": 1, "argv": []}', '{"id": 1, "argv": ["a"], "x": 1}', '{"argv": ["a"]}']


@pytest.mark.parametrize("row", ROWS)
def test_a_bad_row_of_a_batch_is_named(folder: Path, row: str) -> None:
    good = json.dumps({"id": 0, "script": "ls"})
    ended = signoff("policy", "check", "-r", "a.rules", "--batch", "-", cwd=folder, stdin=f"{good}\n{row}\n")
    assert ended.status == 2
    assert "stdin:2: " in ended.err


def test_policy_test_runs_every_example(folder: Path) -> None:
    (folder / "ok.rules").write_text('prefix_rule(["a"], match=["a b"], not_match=["b"])\n', encoding="utf-8")
    (folder / "bad.rules").write_text('\nprefix_rule(["a"], match=["b", "a"], not_match=["a"])\n', encoding="utf-8")
    (folder / "p.toml").write_text('[[rule]]\ndecision="ask"\ntool="x"\nmatch=["y"]\n', encoding="utf-8")
    assert signoff("policy", "test", "-r", "ok.rules", cwd=folder) == (0, "2 examples, 0 problems\n", "")
    found = signoff("policy", "test", "-r", "bad.rules", "-r", "p.toml", cwd=folder)
    assert found.status == 1
    assert [line.split(": ")[0] for line in found.out.splitlines()] == [
        "bad.rules:2",
        "bad.rules:2",
        "p.toml:1",
        "4 examples, 3 problems",
    ]


def test_policy_list_shows_every_rule_in_force_with_its_origin(home: Path, folder: Path) -> None:
    assert signoff("policy", "init", cwd=folder).status == 0
    text = signoff("policy", "list", cwd=folder)
    assert (text.status, text.err) == (0, "")
    entries = json.loads(signoff("policy", "list", "--json", cwd=folder).out)["rules"]
    assert len(text.out.splitlines()) == len(entries)
    ids = {entry["id"]: entry for entry in entries}
    assert ids["ask.workflows"]["source"] == f"{home}/.config/signoff/policy.toml:8"
    assert ids["builtin.path.credentials"]["layer"] == "builtin"
    assert "never" not in {entry["layer"] for entry in entries}
    rule = ids[f"{home}/.config/signoff/rules/commands.rules:16"]
    assert rule["rule"] == 'prefix_rule(pattern=[["mkfs", "shutdown", "reboot"]], decision="forbidden")'


def test_golden_policy_list_and_test_as_json(folder: Path, golden: Callable[[str, str], None]) -> None:
    listed = signoff("policy", "list", "-r", "a.rules", "--json", cwd=folder)
    tested = signoff("policy", "test", "-r", "a.rules", "--json", cwd=folder)
    assert (listed.status, tested.status) == (0, 0)
    golden("policy/list.json", listed.out)
    golden("policy/test.json", tested.out)


def test_policy_init_writes_a_starter_that_holds_and_touches_nothing_that_exists(home: Path, folder: Path) -> None:
    shown = signoff("policy", "init", "--print", cwd=folder)
    assert shown.status == 0
    assert not (home / ".config/signoff").exists()
    assert signoff("policy", "init", cwd=folder).status == 0
    written = (home / ".config/signoff/rules/commands.rules").read_text(encoding="utf-8")
    assert written in shown.out
    assert signoff("policy", "test", cwd=folder).out == "3 examples, 0 problems\n"
    again = signoff("policy", "init", cwd=folder)
    assert again.status == 2
    assert "exist already" in again.err
    assert signoff("policy", "check", "--", "reboot", cwd=folder).out.startswith("forbidden")
    # what is commented out is valid as well
    lines = [
        line.removeprefix("# ") if line.startswith(("# prefix", "# host", "# net", "#  ", "# )")) else line
        for line in written.splitlines()
    ]
    (folder / "all.rules").write_text("\n".join(lines), encoding="utf-8")
    assert signoff("policy", "test", "-r", "all.rules", cwd=folder) == (0, "4 examples, 0 problems\n", "")


def test_why_shows_no_secret_that_was_typed(home: Path) -> None:
    for more in ((), ("--json",)):
        told = signoff("why", *more, "--", "curl", "--api-key", "swordfish", "https://x.example", cwd=home)
        assert told.status == 0
        assert "swordfish" not in told.out
        assert "x.example" in told.out
