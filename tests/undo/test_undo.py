"""What a call changed can be put back, byte for byte, unless somebody changed it since."""

import os
import pathlib
import shutil
import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signoff.domain.errors import FileRefused, NotFound, ToolConflict
from signoff.undo.records import history
from signoff.undo.restore import chosen, restore
from signoff.undo.snapshot import Undo
from tests.clauses import requirement
from tests.tools.test_patch_format import marked
from tests.tools.workbench import Workbench, tree, write


class Yard:
    """A workspace and its undo store, without a gate."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.workspace, self.store = directory / "space", directory / "undo"
        self.workspace.mkdir()
        self.undo = Undo(str(self.store), str(self.workspace), "run-1")
        self.calls = 0

    def changed(self, *paths: str, whole: bool = False) -> "Yard.Change":
        self.calls += 1
        return Yard.Change(
            self, None if whole else [str(self.workspace / path) for path in paths], f"call-{self.calls}"
        )

    class Change:
        def __init__(self, yard: "Yard", paths: list[str] | None, call: str) -> None:
            self._pending = yard.undo.before(call, "tool", paths)

        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> None:
            self._pending.after()

    def back(self, name: str | None = None, *, force: bool = False, by: str = "undo-1") -> list[str]:
        snapshots = chosen(history(str(self.store), str(self.workspace)), name)
        return restore(str(self.store), str(self.workspace), snapshots, force=force, by=by)


@pytest.fixture
def yard(tmp_path: pathlib.Path) -> Yard:
    return Yard(tmp_path)


@requirement("CLU-020")
def test_a_patch_is_undone_with_the_directories_it_made(tmp_path: pathlib.Path) -> None:
    bench = Workbench(tmp_path)
    bench.put(a="one\n", b="keep\n")
    before = bench.tree()
    result = bench.patch(marked("*** Update File: a", "@@", "-one", "+two", "*** Add File: x/y/z", "+new"))
    assert result.ok
    assert bench.tree() != before
    snapshots = chosen(history(str(bench.undo)), "call-1")
    assert restore(str(bench.undo), str(bench.workspace), snapshots, force=False, by="undo-1") == ["a", "x/y/z"]
    assert bench.tree() == before


def test_a_call_that_changed_nothing_leaves_no_trace(tmp_path: pathlib.Path) -> None:
    bench = Workbench(tmp_path)
    bench.put(a="one\n")
    assert not bench.patch(marked("*** Update File: a", "@@", "-nine", "+two")).ok
    assert history(str(bench.undo)) == []


def test_a_command_that_may_write_is_undone_as_well(tmp_path: pathlib.Path) -> None:
    bench = Workbench(tmp_path)
    bench.put(a="one\n", b="two\n", __gitignore="ignored\n", ignored="x")
    (bench.workspace / "link").symlink_to("a")
    before = bench.tree()

    def devastate() -> None:
        (bench.workspace / "a").unlink()
        (bench.workspace / "link").unlink()
        (bench.workspace / "b").write_text("three\n")
        (bench.workspace / "b").chmod(0o755)
        write(bench.workspace / "new" / "c", "c")

    bench.sandboxes.before = devastate
    result = bench.call("run_terminal_cmd", command="make everything")
    assert result.artifacts.files_changed == ("a", "b", "link", "new/c")
    restore(str(bench.undo), str(bench.workspace), chosen(history(str(bench.undo)), None), force=False, by="undo-1")
    assert bench.tree() == before
    assert not os.access(bench.workspace / "b", os.X_OK)


def test_a_command_that_only_reads_is_not_worth_a_snapshot(tmp_path: pathlib.Path) -> None:
    bench = Workbench(tmp_path)
    bench.put(a="one\n")
    assert bench.call("run_terminal_cmd", command="cat a").ok
    assert not bench.undo.exists()


def test_what_a_person_changed_since_stays_unless_told(yard: Yard) -> None:
    write(yard.workspace / "a", "one")
    write(yard.workspace / "b", "one")
    with yard.changed("a", "b"):
        write(yard.workspace / "a", "two")
        write(yard.workspace / "b", "two")
    write(yard.workspace / "b", "mine")
    with pytest.raises(ToolConflict, match="changed since by somebody else: b"):
        yard.back()
    assert tree(yard.workspace) == {"a": b"two", "b": b"mine"}
    assert yard.back(force=True) == ["a", "b"]
    assert tree(yard.workspace) == {"a": b"one", "b": b"one"}
    assert yard.back("undo-1") == ["a", "b"]  # and an undo is undone like anything else
    assert tree(yard.workspace) == {"a": b"two", "b": b"mine"}


def test_a_whole_run_goes_back_to_its_beginning_but_not_over_edits_in_between(yard: Yard) -> None:
    write(yard.workspace / "a", "1")
    for text in ("2", "3"):
        with yard.changed("a", "n"):
            write(yard.workspace / "a", text)
            write(yard.workspace / "n", text)
    assert yard.back("run-1") == ["a", "n"]
    assert tree(yard.workspace) == {"a": b"1"}
    write(yard.workspace / "a", "edited by hand")
    with yard.changed("a"):
        write(yard.workspace / "a", "4")
    with pytest.raises(ToolConflict):
        yard.back("run-1")


def test_a_call_that_was_cut_short_is_only_put_back_when_told(yard: Yard) -> None:
    write(yard.workspace / "a", "one")
    yard.undo.before("cut", "tool", [str(yard.workspace / "a")])
    write(yard.workspace / "a", "half")
    with pytest.raises(ToolConflict):
        yard.back("cut")
    yard.back("cut", force=True)
    assert tree(yard.workspace) == {"a": b"one"}


def test_a_damaged_or_lost_copy_is_never_put_back(yard: Yard) -> None:
    write(yard.workspace / "a", "one")
    with yard.changed("a"):
        write(yard.workspace / "a", "two")
    copies = [path for path in (yard.store / "objects").rglob("*") if path.is_file() and path.read_bytes() == b"one"]
    copies[0].write_bytes(b"evil")
    with pytest.raises(FileRefused, match="damaged"):
        yard.back()
    copies[0].unlink()
    with pytest.raises(NotFound, match="gone"):
        yard.back()
    assert tree(yard.workspace) == {"a": b"two"}


def test_a_directory_swapped_for_a_link_is_not_written_through(yard: Yard, tmp_path: pathlib.Path) -> None:
    write(yard.workspace / "d" / "a", "one")
    with yard.changed("d/a"):
        write(yard.workspace / "d" / "a", "two")
    write(tmp_path / "outside" / "a", "two")
    shutil.rmtree(yard.workspace / "d")
    (yard.workspace / "d").symlink_to(tmp_path / "outside")
    for force in (False, True):
        with pytest.raises((ToolConflict, FileRefused)):
            yard.back(force=force)
    assert tree(tmp_path / "outside") == {"a": b"two"}


def test_what_is_too_large_is_left_and_said(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signoff.undo.states.LARGEST_FILE", 3)
    write(yard.workspace / "big", "12345")
    with yard.changed("big"):
        (yard.workspace / "big").unlink()
    with pytest.raises(ToolConflict, match="could not be saved: big"):
        yard.back()


@pytest.mark.parametrize("limit", ["MOST_FILES", "MOST_BYTES"])
def test_a_workspace_that_is_too_large_is_saved_as_far_as_the_limit(
    yard: Yard, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(f"signoff.undo.snapshot.{limit}", 2)
    for name in "abc":
        write(yard.workspace / name, name)
    with yard.changed(whole=True):
        (yard.workspace / "a").unlink()
        write(yard.workspace / "aa", "n")  # nobody can tell whether it was there
    (snapshot,) = history(str(yard.store))
    assert (snapshot.complete, [entry.path for entry in snapshot.entries]) == (False, ["a"])
    assert yard.back() == ["a"]
    assert tree(yard.workspace) == {"a": b"a", "aa": b"n", "b": b"b", "c": b"c"}


def test_what_is_pushed_beyond_the_limit_by_something_new_has_not_changed(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signoff.undo.snapshot.MOST_FILES", 2)
    for name in "bcd":
        write(yard.workspace / name, name)
    with yard.changed(whole=True):
        write(yard.workspace / "a", "new")
    assert history(str(yard.store)) == []


def test_what_could_not_be_looked_at_afterwards_needs_force(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    write(yard.workspace / "a", "one")
    with yard.changed(whole=True):
        write(yard.workspace / "a", "much longer than before")
        monkeypatch.setattr("signoff.undo.snapshot.MOST_BYTES", 3)
    with pytest.raises(ToolConflict):
        yard.back()
    assert yard.back(force=True) == ["a"]
    assert tree(yard.workspace) == {"a": b"one"}


NAMES = st.sampled_from(["a", "b", "d/c", "d/e/f", "été"])
CONTENTS = st.dictionaries(NAMES, st.binary(max_size=20), max_size=4)


@settings(max_examples=25)
@given(CONTENTS, CONTENTS, st.booleans())
def test_a_change_and_its_undo_are_nothing(before: dict[str, bytes], after: dict[str, bytes], whole: bool) -> None:
    with tempfile.TemporaryDirectory() as directory:
        yard = Yard(pathlib.Path(directory))
        for name, content in before.items():
            write(yard.workspace / name, content)
        first = tree(yard.workspace)
        with yard.changed(*before, *after, whole=whole):
            for name in before.keys() - after.keys():
                (yard.workspace / name).unlink()
            for name, content in after.items():
                write(yard.workspace / name, content)
        if before != after:
            yard.back()
        assert tree(yard.workspace) == first


def test_an_agent_takes_back_its_own_calls_and_no_one_elses(tmp_path: pathlib.Path) -> None:
    bench = Workbench(tmp_path)
    other = Undo(str(bench.undo), str(bench.workspace), "run-0")
    bench.put(a="one\n")
    pending = other.before("theirs", "tool", [str(bench.workspace / "a")])
    bench.put(a="zwei\n")
    pending.after()
    assert not bench.call("undo").ok
    assert not bench.call("undo", call_id="theirs").ok
    assert bench.patch(marked("*** Update File: a", "@@", "-zwei", "+two", "*** Add File: b", "+b")).ok
    result = bench.call("undo")
    assert result.payload == {"call_id": "call-3", "restored": ("a", "b")}
    assert bench.tree() == {"a": b"zwei\n"}
    assert [one.call_id for one in history(str(bench.undo))] == ["theirs", "call-3", "call-4"]
    assert not bench.call("undo").ok  # there is nothing further back
    assert bench.call("undo", call_id="call-4").ok
    assert bench.tree() == {"a": b"two\n", "b": b"b\n"}


def test_undoing_a_long_command_leaves_what_another_run_wrote_meanwhile(yard: Yard) -> None:
    """A file tool of another run, and a call of the same run, finished while the command ran."""
    write(yard.workspace / "theirs", "old\n")
    write(yard.workspace / "both", "old\n")
    other = Undo(str(yard.store), str(yard.workspace), "run-2")
    with yard.changed(whole=True):
        saved = other.before(
            "other-1", "write_file", [str(yard.workspace / name) for name in ("theirs", "new", "both")]
        )
        for name in ("theirs", "new", "both"):
            write(yard.workspace / name, "of the other run\n")
        saved.after()
        write(yard.workspace / "both", "of the command\n")
        write(yard.workspace / "mine", "of the command\n")

    assert sorted(yard.back("call-1")) == ["both", "mine"]
    assert tree(yard.workspace) == dict.fromkeys(("theirs", "new", "both"), b"of the other run\n")
    yard.back("other-1")
    assert tree(yard.workspace) == {"theirs": b"old\n", "both": b"old\n"}


def test_a_call_that_began_before_the_command_and_ended_in_it_keeps_its_own(yard: Yard) -> None:
    other = Undo(str(yard.store), str(yard.workspace), "run-2")
    saved = other.before("other-1", "write_file", [str(yard.workspace / "theirs")])
    with yard.changed(whole=True):
        write(yard.workspace / "theirs", "x")
        saved.after()
        write(yard.workspace / "mine", "y")

    assert yard.back("call-1") == ["mine"]
    assert tree(yard.workspace) == {"theirs": b"x"}


@pytest.mark.parametrize("whole", [True, False])
def test_a_call_that_changed_nothing_leaves_nothing(whole: bool, yard: Yard) -> None:
    with yard.changed("a", whole=whole):
        pass
    assert list((yard.store / "calls").iterdir()) == []
    with yard.changed("a", whole=whole):
        (yard.workspace / "a").write_text("new", encoding="utf-8")
    with yard.changed("b", whole=whole):
        pass
    assert [path.name for path in (yard.store / "calls").iterdir()] == ["run-1"]
    assert yard.back() == ["a"]


def test_each_further_undo_goes_further_back_and_an_undo_is_undone_by_its_name(yard: Yard) -> None:
    for text in ("one", "two", "three"):
        with yard.changed("a"):
            write(yard.workspace / "a", text)
    assert (yard.back(by="undo-1"), tree(yard.workspace)) == (["a"], {"a": b"two"})
    assert (yard.back(by="undo-2"), tree(yard.workspace)) == (["a"], {"a": b"one"})
    assert (yard.back("undo-2", by="undo-3"), tree(yard.workspace)) == (["a"], {"a": b"two"})
    assert (yard.back(by="undo-4"), tree(yard.workspace)) == (["a"], {"a": b"one"})
    assert (yard.back(by="undo-5"), tree(yard.workspace)) == (["a"], {})
    with pytest.raises(NotFound, match="undone already"):
        yard.back(by="undo-6")


def test_what_a_person_put_back_by_hand_does_not_stand_in_the_way(yard: Yard) -> None:
    for name in ("a", "b"):
        with yard.changed(name):
            write(yard.workspace / name, "text")
    (yard.workspace / "b").unlink()
    assert yard.back(by="undo-1") == []
    assert yard.back(by="undo-2") == ["a"]


def test_calls_stay_in_order_although_the_clock_is_set_back(yard: Yard) -> None:
    yard.undo = Undo(str(yard.store), str(yard.workspace), "run-1", clock=iter((2_000, 1_000)).__next__)
    for name in ("first", "second"):
        with yard.changed(name):
            write(yard.workspace / name, "text")
    assert yard.back() == ["second"]
