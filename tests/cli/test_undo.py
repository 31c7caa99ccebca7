"""signoff undo at the shell."""

import json
import pathlib

from tests.cli.program import signoff

SET = ("exec", "--sandbox", "danger-full-access", "--approval", "never", "--", "sh", "-c")


def test_what_a_command_did_is_listed_shown_and_put_back(home: pathlib.Path, tmp_path: pathlib.Path) -> None:
    space = tmp_path / "space"
    space.mkdir()
    (space / "a").write_text("one\n")
    assert signoff("undo", cwd=space).status == 1
    assert signoff(*SET, "echo two >a; echo new >b", cwd=space).status == 0
    (row,) = json.loads(signoff("undo", "--list", "--json", cwd=space).out)["calls"]
    assert sorted(row) == ["at", "call_id", "complete", "files", "run_id", "tool", "undone"]
    assert row["files"] == ["a", "b"]
    assert (
        signoff("undo", "--diff", cwd=space).out
        == "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-two\n+one\n--- a/b\n+++ b/b\n@@ -1 +0,0 @@\n-new\n"
    )
    (space / "b").write_text("mine\n")
    refused = signoff("undo", cwd=space)
    assert (refused.status, refused.out) == (1, "")
    assert "b" in refused.err
    assert (space / "a").read_text() == "two\n"
    ended = signoff("undo", row["run_id"], "--force", "--json", cwd=space)
    assert json.loads(ended.out)["restored"] == ["a", "b"]
    assert (space / "a").read_text() == "one\n"
    assert not (space / "b").exists()
    assert signoff("undo", json.loads(ended.out)["call_id"], cwd=space).status == 0
    assert (space / "b").read_text() == "mine\n"


def test_what_the_sandbox_puts_there_for_itself_is_no_change(home: pathlib.Path, tmp_path: pathlib.Path) -> None:
    space = tmp_path / "space"
    space.mkdir()
    assert signoff("exec", "--", "sh", "-c", "echo new >a; mkdir empty", cwd=space).status == 0
    assert signoff("exec", "--", "sh", "-c", "exit 0", cwd=space).status == 0
    (row,) = json.loads(signoff("undo", "--list", "--json", cwd=space).out)["calls"]
    assert row["files"] == ["a", "empty"]
