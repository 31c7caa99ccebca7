"""A tree of 100,000 files: nothing takes more than it needs, and every answer is bounded."""

import os
import pathlib
import shutil
from collections.abc import Iterator

import pytest

from signoff.domain.settings import SandboxSettings
from signoff.sandbox.profile import resolve
from signoff.sandbox.sessions import Sessions
from signoff.undo.records import history
from tests.tools.workbench import Workbench, write

FILES, DIRECTORIES = 100_000, 50


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workbench]:
    top = tmp_path_factory.mktemp("large")
    space = top / "space"
    each = FILES // DIRECTORIES // 2
    for directory in range(DIRECTORIES):
        (space / f"d{directory}").mkdir(parents=True)
        for number in range(each):
            os.mknod(space / f"d{directory}" / f"f{number}.txt")
    (space / "flat").mkdir()
    for number in range(FILES // 2):
        os.mknod(space / "flat" / f"f{number}.txt")
    write(space / "d7" / "here.py", "the needle\n")
    with Sessions(resolve(SandboxSettings(), str(space)), dict(os.environ)) as sandboxes:
        yield Workbench(top, sandboxes=sandboxes)
    shutil.rmtree(top)


def test_files_are_found_by_name_and_content_and_listed_within_bounds(bench: Workbench) -> None:
    listed = bench.call("list_dir", path="flat").payload
    named = bench.call("glob_file_search", glob_pattern="here.*").payload
    every = bench.call("glob_file_search", glob_pattern="*.txt").payload
    matched = bench.call("grep", pattern="needle").payload

    assert listed is not None and (len(listed["entries"]), listed["omitted"]) == (2_000, FILES // 2 - 2_000)
    assert named is not None and named["files"] == ("d7/here.py",)
    assert every is not None and (len(every["files"]), every["truncated"]) == (1_000, True)
    assert matched is not None and [one["path"] for one in matched["matches"]] == ["d7/here.py"]


def test_a_change_of_one_file_saves_one_file(bench: Workbench) -> None:
    assert bench.call("edit_file", path="d7/here.py", old="needle", new="thread").ok

    (snapshot,) = history(str(bench.undo))
    copies = sum(len(files) for _, _, files in os.walk(bench.undo / "objects"))
    assert ([entry.path for entry in snapshot.entries], copies) == (["d7/here.py"], 2)
    assert bench.call("undo").ok
    assert pathlib.Path(bench.workspace / "d7" / "here.py").read_text() == "the needle\n"


def test_a_command_is_saved_for_as_far_as_the_limit_and_that_is_said(bench: Workbench) -> None:
    assert bench.call("run_terminal_cmd", command="echo x >> d0/f0.txt").ok

    last = history(str(bench.undo))[-1]
    assert ([entry.path for entry in last.entries], last.complete) == (["d0/f0.txt"], False)
