"""apply_patch on real trees: all or nothing, byte for byte what git would make of it, and never outside."""

import os
import pathlib
import subprocess
import tempfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from signoff.domain.errors import SignoffError
from signoff.domain.event import ReviewAsked
from signoff.domain.review import ApplyPatchApprovalRequestEvent, Approved, Denied, UpdateFile
from signoff.domain.settings import ApprovalPolicy
from signoff.files.ground import Ground
from signoff.tools.apply_patch import ApplyPatch
from signoff.tools.edits import carry_out, planned
from signoff.tools.patch_unified import parse_patch
from signoff.tools.tool import Place
from tests.clauses import requirement
from tests.tools.test_patch_format import marked
from tests.tools.workbench import Workbench, tree, write

REPLACE = ("@@", "-one", "+two")


@pytest.fixture
def bench(tmp_path: pathlib.Path) -> Workbench:
    return Workbench(tmp_path)


@requirement("CLU-034", "CLU-007", "CLU-006")
def test_files_are_added_changed_and_moved_together(bench: Workbench) -> None:
    bench.put(a="one\n", b="one\n")
    result = bench.patch(
        marked(
            "*** Add File: new/deep/c",
            "+c",
            "*** Update File: a",
            *REPLACE,
            "*** Update File: b",
            "*** Move to: d/b",
            *REPLACE,
        )
    )
    assert result.error is None
    assert bench.tree() == {
        "a": b"two\n",
        "d/": b"",
        "d/b": b"two\n",
        "new/": b"",
        "new/deep/": b"",
        "new/deep/c": b"c\n",
    }
    assert result.artifacts.files_changed == ("new/deep/c", "a", "d/b", "b")
    assert result.payload == {
        "applied": True,
        "diff": None,
        "files": (
            {"path": "new/deep/c", "change": "A"},
            {"path": "a", "change": "M"},
            {"path": "d/b", "change": "A"},
            {"path": "b", "change": "D"},
        ),
    }


@requirement("CLU-020")
def test_a_dry_run_shows_the_difference_and_changes_nothing(bench: Workbench) -> None:
    bench.put(a="one\n")
    result = bench.patch(marked("*** Update File: a", *REPLACE), dry_run=True)
    assert result.payload is not None
    assert result.payload["diff"] == "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+two\n"
    assert bench.tree() == {"a": b"one\n"}
    assert result.artifacts.files_changed == ()


@pytest.mark.parametrize(
    "failing",
    [
        ("*** Update File: b", "@@", "-nine", "+ten"),
        ("*** Update File: missing", *REPLACE),
        ("*** Delete File: missing",),
        ("*** Update File: d", *REPLACE),
        ("*** Add File: a/below", "+x"),
        ("*** Update File: ./a", *REPLACE),
    ],
)
def test_nothing_changes_when_one_change_fails(tmp_path: pathlib.Path, failing: tuple[str, ...]) -> None:
    bench = Workbench(tmp_path, answers=[Approved()] * 3)
    bench.put(a="one\n", b="one\n")
    (bench.workspace / "d").mkdir()
    before = bench.tree()
    result = bench.patch(marked("*** Add File: x/y", "+new", "*** Update File: a", *REPLACE, *failing))
    assert not result.ok
    assert bench.tree() == before


def test_what_was_done_is_taken_back_when_writing_fails_half_way(bench: Workbench) -> None:
    bench.put(a="one\n", b="one\n")
    os.link(bench.workspace / "b", bench.workspace.parent / "outside")  # found out only when it is written
    before = bench.tree()
    result = bench.patch(
        marked("*** Add File: x/y/z", "+new", "*** Update File: a", *REPLACE, "*** Update File: b", *REPLACE)
    )
    assert result.error is not None
    assert "hard links" in result.error.message
    assert bench.tree() == before


@requirement("APR-019", "APR-045")
def test_the_person_sees_the_true_difference_and_a_yes_covers_each_file(tmp_path: pathlib.Path) -> None:
    bench = Workbench(tmp_path, approval=ApprovalPolicy.UNTRUSTED, answers=[Denied()])
    bench.put(a="one\nkeep\n")
    patch = marked("*** Update File: a", " one", "+more")
    assert not bench.patch(patch).ok
    (asked,) = [event.request for event in bench.events if isinstance(event, ReviewAsked)]
    assert isinstance(asked, ApplyPatchApprovalRequestEvent)
    path = str(bench.workspace / "a")
    assert asked.changes == {path: UpdateFile("--- a/a\n+++ b/a\n@@ -1,2 +1,3 @@\n one\n+more\n keep\n")}
    tool, arguments = ApplyPatch(), ApplyPatch.arguments(marked("*** Add File: x", "+", "*** Delete File: y"))
    assert [key.path for key in tool.approval_keys(arguments, bench.place)] == [
        str(bench.workspace / "x"),
        str(bench.workspace / "y"),
    ]


@requirement("CLU-012", "CLU-013", "CLU-022", "CLU-023")
@pytest.mark.parametrize(
    "path",
    [
        "../outside/f",
        "sub/../../outside/f",
        "{outside}/f",
        "link/f",
        "link_to_file",
        "/proc/self/root{outside}/f",
        "/proc/self/cwd/f",
        "a\0b",
        "a\nb",
        ".git/hooks/post-commit",
        ".GIT/hooks/x",
        ".g\u200dit/hooks/x",
        ".git\u200b/hooks/x",
        "hard",
    ],
)
def test_no_spelling_leads_outside_or_into_what_is_protected(tmp_path: pathlib.Path, path: str) -> None:
    bench = Workbench(tmp_path, approval=ApprovalPolicy.NEVER)
    outside = tmp_path / "outside"
    write(outside / "f", "one\n")
    (bench.workspace / "sub").mkdir()
    (bench.workspace / "link").symlink_to(outside)
    (bench.workspace / "link_to_file").symlink_to(outside / "f")
    os.link(outside / "f", bench.workspace / "hard")
    before = tree(tmp_path / "outside"), bench.tree()
    named = path.format(outside=outside)
    for patch in (
        marked(f"*** Add File: {named}", "+two"),
        marked(f"*** Update File: {named}", *REPLACE),
        marked("*** Add File: ok", "+x", "*** Update File: ok2", f"*** Move to: {named}", *REPLACE),
    ):
        assert not bench.patch(patch).ok
        assert (tree(outside), bench.tree()) == before


def test_a_link_swapped_after_the_judgement_is_not_followed(tmp_path: pathlib.Path) -> None:
    workspace, outside = tmp_path / "space", tmp_path / "outside"
    write(workspace / "d" / "f", "one\n")
    write(outside / "f", "one\n")
    place = Place(str(workspace), str(tmp_path))
    with Ground(place.workspace) as ground:
        edits = planned(parse_patch(marked("*** Update File: d/f", *REPLACE)), ground, place)
        (workspace / "d").rename(workspace / "was")
        (workspace / "d").symlink_to(outside)
        with pytest.raises(Exception, match="outside the workspace"):
            carry_out(edits, ground)
    assert (outside / "f").read_text() == "one\n"


def test_a_path_outside_that_was_approved_is_used_only_without_links(tmp_path: pathlib.Path) -> None:
    bench = Workbench(tmp_path, answers=[Approved(), Approved()])
    outside = tmp_path / "outside"
    write(outside / "f", "one\n")
    (tmp_path / "way").symlink_to(outside)
    assert bench.patch(marked(f"*** Update File: {outside}/f", *REPLACE)).ok
    assert (outside / "f").read_text() == "two\n"
    assert not bench.patch(marked(f"*** Add File: {tmp_path}/way/g", "+x")).ok
    assert not (outside / "g").exists()


@requirement("CLU-021")
def test_a_delete_is_asked_about(bench: Workbench) -> None:
    bench.put(a="one\n")
    assert not bench.patch(marked("*** Delete File: a")).ok  # nobody answers
    assert len([event for event in bench.events if isinstance(event, ReviewAsked)]) == 1
    assert bench.tree() == {"a": b"one\n"}


LINE = st.text("ab =-+@\\é\t\r", max_size=4)
ENDING = st.sampled_from(["\n", "\n", "\n", "\r\n"])
NAME = st.sampled_from(["plain", "with space", "été", "日本", 'quo"te', "back\\slash"])


@st.composite
def texts(draw: st.DrawFn) -> str:
    lines = draw(st.lists(st.tuples(LINE, ENDING), max_size=12))
    text = "".join(line + ending for line, ending in lines)
    return text + draw(st.sampled_from(["", "", "end"]))


@st.composite
def trees(draw: st.DrawFn) -> tuple[dict[str, str], dict[str, str]]:
    """A tree, and the same tree after somebody worked on it."""
    before = draw(st.dictionaries(NAME, texts(), max_size=3))
    after = {}
    for name, text in before.items():
        lines = text.splitlines(keepends=True)
        for _ in range(draw(st.integers(0, 3))):
            at = draw(st.integers(0, len(lines)))
            lines[at : at + draw(st.integers(0, 2))] = [draw(LINE) + draw(ENDING)] * draw(st.integers(0, 2))
        if draw(st.integers(0, 5)):
            after[name] = "".join(lines)
    after |= draw(st.dictionaries(NAME, texts(), max_size=1))
    # an empty file that comes or goes has no `---` line, and without a repository git does not say on which side it was
    both = before.keys() & after
    return {k: v for k, v in before.items() if v or k in both}, {k: v for k, v in after.items() if v or k in both}


def git_diff(before: dict[str, str], after: dict[str, str], directory: pathlib.Path) -> str:
    """What git says the difference is."""
    for side, files in (("a", before), ("b", after)):
        (directory / side).mkdir()
        for name, text in files.items():
            write(directory / side / name, text)
    environ = {"PATH": os.environ["PATH"], "HOME": str(directory), "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "diff", "--no-index", "--no-prefix", "--no-renames", "--text", "a", "b"]
    return subprocess.run(command, cwd=directory, env=environ, capture_output=True, check=False).stdout.decode()


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(trees())
def test_a_diff_made_by_git_gives_the_same_bytes(pair: tuple[dict[str, str], dict[str, str]]) -> None:
    before, after = pair
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        patch = git_diff(before, after, pathlib.Path(first))
        for name, text in before.items():
            write(pathlib.Path(second) / name, text)
        if not patch:
            return
        place = Place(second, "/nowhere")
        with Ground(place.workspace) as ground:
            carry_out(planned(parse_patch(patch), ground, place), ground)
        assert tree(pathlib.Path(second)) == {name: text.encode() for name, text in after.items()}


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(trees())
def test_a_patch_and_its_undo_are_nothing(pair: tuple[dict[str, str], dict[str, str]]) -> None:
    before, after = pair
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        patch = git_diff(before, after, pathlib.Path(first))
        if not patch:
            return
        # deletes are asked about, as are more than twenty files
        bench = Workbench(pathlib.Path(second), answers=[Approved()])
        for name, text in before.items():
            write(bench.workspace / name, text)
        assert bench.patch(patch).ok
        assert bench.tree() == {name: text.encode() for name, text in after.items()}
        assert bench.call("undo").ok
        assert bench.tree() == {name: text.encode() for name, text in before.items()}


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(trees(), st.sampled_from(["missing", "there already", "not found"]), st.booleans())
def test_nothing_changes_when_any_part_of_a_random_patch_fails(
    pair: tuple[dict[str, str], dict[str, str]], wrong: str, first_of_all: bool
) -> None:
    before, after = pair
    broken = {
        "missing": "--- nowhere\n+++ nowhere\n@@ -1 +1 @@\n-x\n+y\n",
        "there already": "--- /dev/null\n+++ standing\n@@ -0,0 +1 @@\n+y\n",
        "not found": "--- standing\n+++ standing\n@@ -1 +1 @@\n-quite another line\n+y\n",
    }[wrong]
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        patch = git_diff(before, after, pathlib.Path(first))
        top = pathlib.Path(second)
        for name, text in {**before, "standing": "the only line\n"}.items():
            write(top / name, text)
        was = tree(top)
        place = Place(second, "/nowhere")
        with Ground(place.workspace) as ground, pytest.raises(SignoffError):
            carry_out(planned(parse_patch(broken + patch if first_of_all else patch + broken), ground, place), ground)
        assert tree(top) == was
