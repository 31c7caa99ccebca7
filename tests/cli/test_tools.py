"""signoff tools at the shell."""

import json
import pathlib
from collections.abc import Callable

import pexpect

from tests.clauses import requirement
from tests.cli.program import PROGRAM, signoff


def test_tools_are_listed_and_described(home: pathlib.Path, golden: Callable[[str, str], None]) -> None:
    listed = json.loads(signoff("tools", "list", "--json").out)["tools"]
    names = [one["name"] for one in listed]
    assert names == sorted(names)
    assert {"apply_patch", "read_file", "run_terminal_cmd", "undo"} <= set(names)
    assert [line.split()[0] for line in signoff("tools", "list").out.splitlines()] == names
    described = signoff("tools", "schema", "display").out
    golden("tools/schema.display.json", described)
    assert json.loads(described) in listed
    unknown = signoff("tools", "schema", "dispaly")
    assert (unknown.status, unknown.out) == (2, "")
    assert "display" in unknown.err


@requirement("CLU-001")
def test_a_call_goes_through_the_gate_and_leaves_its_record(home: pathlib.Path, tmp_path: pathlib.Path) -> None:
    space = tmp_path / "space"
    space.mkdir()
    (space / "a").write_text("one\n")
    ended = signoff("tools", "call", "read_file", "--args", '{"path": "a"}', cwd=space)
    assert (ended.status, ended.out, ended.err) == (0, "1\tone\n", "")
    patch = "*** Begin Patch\n*** Update File: a\n@@\n-one\n+two\n*** End Patch"
    args = json.dumps({"patch_text": patch})
    result = json.loads(signoff("tools", "call", "apply_patch", "--args", args, "--json", cwd=space).out)
    assert result["ok"]
    assert result["artifacts"] == {"files_changed": ["a"]}
    assert (space / "a").read_text() == "two\n"
    refused = signoff("tools", "call", "delete_file", "--args", '{"path": "a"}', cwd=space)
    assert (refused.status, refused.out) == (40, "")  # a delete asks, and nobody is there
    assert (space / "a").exists()
    assert signoff("undo", cwd=space).status == 0
    assert (space / "a").read_text() == "one\n"
    assert len(json.loads(signoff("audit", "list", "--json", cwd=space).out)["runs"]) == 3


def test_what_is_no_call_is_a_usage_error(home: pathlib.Path, tmp_path: pathlib.Path) -> None:
    for words in (("read_file", "--args", "["), ("read_file", "--args", "[]"), ("read_file",), ("nonesuch",)):
        ended = signoff("tools", "call", *words, cwd=tmp_path)
        assert (ended.status, ended.out) == (2, ""), words


def test_a_question_is_put_on_the_terminal_and_needs_one(home: pathlib.Path, tmp_path: pathlib.Path) -> None:
    words = ["tools", "call", "ask_user", "--args", '{"question": "Which one?", "options": ["red", "blue"]}']
    nobody = signoff(*words, cwd=tmp_path, SIGNOFF_POLICY_AUDIT="auto")
    person = pexpect.spawn(PROGRAM, words, cwd=str(tmp_path), encoding="utf-8", timeout=60)
    person.expect("Which one.*2. blue.*> ")
    person.sendline("2")
    person.expect("blue\r\n.*blue\r\n|blue\r\n")
    person.expect(pexpect.EOF)
    person.close()

    assert (nobody.status, "nobody is there" in nobody.err) == (41, True)
    assert person.exitstatus == 0
