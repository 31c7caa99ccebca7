"""What an editor holds open is read from it and handed back to it, after the gate; everything or nothing."""

import pathlib

from signoff.domain.event import FileEdited
from tests.tools.workbench import Workbench


class Editor:
    """Holds texts by path; `takes` False: it cannot save; `typing` changes a buffer behind a tool's back."""

    def __init__(self, buffers: dict[str, str], *, takes: bool = True, typing: str | None = None) -> None:
        self.buffers = buffers
        self.takes = takes
        self.typing = typing
        self.asked: list[str] = []

    async def read(self, path: str) -> str | None:
        name = pathlib.PurePath(path).name
        self.asked.append(name)
        found = self.buffers.get(name)
        if found is not None and self.typing is not None:
            self.buffers[name] += self.typing
        return found

    async def write(self, path: str, text: str) -> bool:
        if self.takes:
            self.buffers[pathlib.PurePath(path).name] = text
        return self.takes


def test_read_file_gives_the_unsaved_text(tmp_path: pathlib.Path) -> None:
    bench = Workbench(tmp_path, files=Editor({"a.py": "one\ntwo\nthree\n"}))
    bench.put(a__py="old\n")
    result = bench.call("read_file", path="a.py", offset=2)
    assert result.payload is not None
    assert (result.payload["content"], result.payload["more"]) == ("2\ttwo\n3\tthree", False)


def test_a_file_the_editor_does_not_hold_comes_from_the_disk(tmp_path: pathlib.Path) -> None:
    bench = Workbench(tmp_path, files=Editor({}))
    bench.put(a__py="old\n")
    result = bench.call("read_file", path="a.py")
    assert result.payload is not None
    assert result.payload["content"] == "1\told"


def test_an_edit_is_made_on_the_unsaved_text_and_handed_to_the_editor(tmp_path: pathlib.Path) -> None:
    editor = Editor({"a.py": "unsaved = 1\n"})
    bench = Workbench(tmp_path, files=editor)
    bench.put(a__py="old\n")
    assert bench.call("edit_file", path="a.py", old="1", new="2").ok
    assert editor.buffers == {"a.py": "unsaved = 2\n"}
    assert bench.tree() == {"a.py": b"old\n"}  # saving is the editor's business
    edited = [event for event in bench.events if isinstance(event, FileEdited)]
    assert edited == [FileEdited("call-1", str(bench.workspace / "a.py"), "unsaved = 1\n", "unsaved = 2\n")]


def test_an_editor_that_cannot_save_leaves_it_to_us(tmp_path: pathlib.Path) -> None:
    bench = Workbench(tmp_path, files=Editor({"a.py": "unsaved = 1\n"}, takes=False))
    bench.put(a__py="old\n")
    assert bench.call("edit_file", path="a.py", old="1", new="2").ok
    assert bench.tree() == {"a.py": b"unsaved = 2\n"}


def test_an_edit_does_not_overwrite_what_is_being_typed(tmp_path: pathlib.Path) -> None:
    editor = Editor({"a.py": "x = 1\n"}, typing="y")
    bench = Workbench(tmp_path, files=editor)
    bench.put(a__py="old\n", b__py="b\n")
    result = bench.call("edit_file", path="a.py", old="1", new="2")
    assert result.error is not None
    assert result.error.code == "tool.conflict"
    assert bench.tree() == {"a.py": b"old\n", "b.py": b"b\n"}


def test_what_the_gate_refuses_is_not_asked_of_the_editor(tmp_path: pathlib.Path) -> None:
    editor = Editor({"passwd": "text"})
    bench = Workbench(tmp_path, files=editor)
    assert not bench.call("write_file", path="/etc/passwd", content="x").ok
    assert editor.asked == []


def test_a_patch_over_disk_and_editor_is_all_or_nothing(tmp_path: pathlib.Path) -> None:
    class Stubborn(Editor):
        async def write(self, path: str, text: str) -> bool:
            raise OSError("the editor went away")

    bench = Workbench(tmp_path, files=Stubborn({"a.py": "x = 1\n"}))
    bench.put(a__py="old\n", b__py="b = 1\n")
    patch = (
        "*** Begin Patch\n*** Update File: b.py\n@@\n-b = 1\n+b = 2\n*** Update File: a.py\n@@\n-x = 1\n+x = 2\n"
        "*** End Patch"
    )
    assert not bench.patch(patch).ok
    assert bench.tree() == {"a.py": b"old\n", "b.py": b"b = 1\n"}
