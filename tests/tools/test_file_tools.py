"""The tools for single files and directories, on real trees, through a real gate."""

import os
import pathlib
from typing import Any

import pytest

from signoff.domain.event import Display, PlanEntry, PlanUpdated, ReviewAsked
from signoff.domain.review import Approved
from signoff.domain.settings import ApprovalPolicy
from signoff.tools.ask_user import AskArguments, AskUser
from signoff.tools.picture import LARGEST
from tests.clauses import requirement
from tests.tools.workbench import Workbench, tree, write

PIXEL = b"\x89PNG\r\n\x1a\n\0\0"
PICTURE = {"media_type": "image/png", "data": "iVBORw0KGgoAAA=="}


@pytest.fixture
def bench(tmp_path: pathlib.Path) -> Workbench:
    return Workbench(tmp_path)


def payload(bench: Workbench, name: str, /, **args: Any) -> dict[str, Any]:
    result = bench.call(name, **args)
    assert result.error is None
    assert result.payload is not None
    return result.payload


def refused(bench: Workbench, name: str, /, **args: Any) -> str:
    result = bench.call(name, **args)
    assert result.error is not None
    return f"{result.error.code}: {result.error.message}"


def test_write_file_makes_and_replaces(bench: Workbench) -> None:
    assert payload(bench, "write_file", path="d/a", content="é\n")["files"] == ({"path": "d/a", "change": "A"},)
    assert payload(bench, "write_file", path="./d/../d/a", content="b")["files"] == ({"path": "d/a", "change": "M"},)
    assert bench.tree() == {"d/": b"", "d/a": b"b"}


@pytest.mark.parametrize(
    ("before", "old", "new", "count", "after"),
    [
        ("a b a", "b", "c", 1, "a c a"),
        ("a b a", "a", "c", 2, "c b c"),
        ("a b a", "a", "c", 0, "c b c"),
        ("a\r\nb\r\n", "a\nb", "x\ny", 1, "x\r\ny\r\n"),
    ],
)
def test_edit_file_replaces_exactly(bench: Workbench, before: str, old: str, new: str, count: int, after: str) -> None:
    bench.put(f=before)
    payload(bench, "edit_file", path="f", old=old, new=new, expected_replacements=count)
    assert bench.tree() == {"f": after.encode()}


def test_edit_file_counts_before_it_writes(bench: Workbench) -> None:
    bench.put(f="a a")
    assert "occurs 2 times, not 1" in refused(bench, "edit_file", path="f", old="a", new="b")
    assert "occurs 0 times" in refused(bench, "edit_file", path="f", old="x", new="b", expected_replacements=0)
    assert "must not be empty" in refused(bench, "edit_file", path="f", old="", new="b")
    assert "not there" in refused(bench, "edit_file", path="g", old="a", new="b")
    assert bench.tree() == {"f": b"a a"}


def test_move_file_keeps_content_and_mode_and_overwrites_nothing(bench: Workbench) -> None:
    bench.put(f=b"\xff\0\r\n", g="g")
    (bench.workspace / "f").chmod(0o755)
    assert "is there already" in refused(bench, "move_file", source="f", destination="g")
    payload(bench, "move_file", source="f", destination="d/h")
    assert bench.tree() == {"d/": b"", "d/h": b"\xff\0\r\n", "g": b"g"}
    assert os.access(bench.workspace / "d" / "h", os.X_OK)


@requirement("CLU-035", "CLU-021")
def test_delete_file_asks_then_deletes_files_only(tmp_path: pathlib.Path) -> None:
    bench = Workbench(tmp_path, answers=[Approved()] * 3)
    bench.put(f="f")
    (bench.workspace / "d").mkdir()
    assert payload(bench, "delete_file", path="f")["files"] == ({"path": "f", "change": "D"},)
    assert "is a directory" in refused(bench, "delete_file", path="d")
    assert "not there" in refused(bench, "delete_file", path="f")
    assert len([event for event in bench.events if isinstance(event, ReviewAsked)]) == 3
    assert bench.call("undo").ok
    assert bench.tree() == {"d/": b"", "f": b"f"}


@requirement("CLU-033")
@pytest.mark.parametrize(
    ("content", "args", "expected"),
    [
        (b"a\nb\nc\n", {}, {"content": "1\ta\n2\tb\n3\tc", "lines": 3, "more": False, "encoding": "utf-8"}),
        (b"a\nb\nc\n", {"offset": 2, "limit": 1}, {"content": "2\tb", "more": True, "next_offset": 3}),
        (b"a\nb\nc", {"offset": 3}, {"content": "3\tc", "more": False, "next_offset": None}),
        (b"a\n", {"offset": 9}, {"content": "", "lines": 0, "more": False}),
        (b"", {}, {"content": "", "lines": 0, "more": False, "size": 0}),
        (b"a\r\nb\r\n", {}, {"content": "1\ta\n2\tb"}),
        (b"\xef\xbb\xbfa\n", {}, {"content": "1\ta", "encoding": "utf-8-sig"}),
        ("é\nb\n".encode("utf-16"), {"offset": 2}, {"content": "2\tb", "encoding": "utf-16"}),
        (b"caf\xe9 long enough\n", {}, {"content": "1\tcafé long enough", "encoding": "latin-1"}),
        (b"x" * 3_000, {}, {"content": "1\t" + "x" * 2_000 + "… [1000 more]"}),
        (PIXEL, {}, {"kind": "image", "media_type": "image/png", "content": None, "images": (PICTURE,)}),
        (PIXEL + bytes(LARGEST), {}, {"kind": "image", "media_type": "image/png", "images": ()}),
        (b"BM\0\0", {}, {"kind": "image", "media_type": "image/bmp", "images": ()}),
        (b"a\0b", {}, {"kind": "binary", "media_type": "application/octet-stream"}),
        (b"y\n" * 300_000 + b"last\n", {"offset": 300_001}, {"content": "300001\tlast", "more": False}),
        (b"y\n" * 300_000, {"offset": 131_073, "limit": 2}, {"content": "131073\ty\n131074\ty", "more": True}),
    ],
)
def test_read_file(bench: Workbench, content: bytes, args: dict[str, int], expected: dict[str, Any]) -> None:
    bench.put(f=content)
    found = payload(bench, "read_file", path="f", **args)
    assert {key: found[key] for key in expected} == expected


def test_a_piece_of_a_huge_file_costs_that_piece(bench: Workbench) -> None:
    with (bench.workspace / "huge").open("wb") as file:
        file.write(b"first\n" + b"more\n" * 2_000)
        file.truncate(1 << 40)  # a hole: reading it whole would never end
    assert payload(bench, "read_file", path="huge", limit=1)["content"] == "1\tfirst"


@requirement("CLU-031")
def test_list_dir(bench: Workbench) -> None:
    bench.put(b="12", a__pyc="x")
    (bench.workspace / "d").mkdir()
    (bench.workspace / "l").symlink_to("/etc")
    found = payload(bench, "list_dir", ignore_globs=["*.pyc"])
    assert [(entry["name"], entry["kind"]) for entry in found["entries"]] == [
        ("b", "file"),
        ("d", "directory"),
        ("l", "link"),
    ]
    assert "not_found" in refused(bench, "list_dir", path="missing")
    assert "refused" in refused(bench, "list_dir", path="b")


@requirement("CLU-032")
@pytest.mark.parametrize(
    ("pattern", "where", "expected"),
    [
        ("*.py", ".", ("a.py", "d/b.py", "d/e/c.py")),
        ("d/*.py", ".", ("d/b.py",)),
        ("**/*.py", ".", ("a.py", "d/b.py", "d/e/c.py")),
        ("d/**", ".", ("d/b.py", "d/e/c.py", "d/keep.txt")),
        ("*.py", "d", ("d/b.py", "d/e/c.py")),
        ("e/*.py", "d", ("d/e/c.py",)),
        ("?.[a-p]y", ".", ("a.py", "d/b.py", "d/e/c.py")),
        ("*.rs", ".", ()),
        ("{a,b}.{py,rs}", ".", ("a.py", "d/b.py")),
    ],
)
def test_glob_file_search(bench: Workbench, pattern: str, where: str, expected: tuple[str, ...]) -> None:
    for name in ("a.py", "d/b.py", "d/e/c.py", "out/x.py", ".git/y.py", "d/keep.txt"):
        write(bench.workspace / name, "x")
    write(bench.workspace / ".gitignore", "/out/\n")
    (bench.workspace / "link").symlink_to(bench.workspace / "d")
    assert payload(bench, "glob_file_search", glob_pattern=pattern, target_directory=where)["files"] == expected


@requirement("CLU-011", "CLU-012", "CLU-013", "CLU-022", "CLU-023")
@pytest.mark.parametrize(
    "path",
    [
        "../outside/f",
        "d/../../outside/f",
        "{outside}/f",
        "link/f",
        "link_to_file",
        "/proc/self/root{outside}/f",
        "/proc/self/environ",
        "f\0",
        "f\nf",
        "",
        "~/f",
    ],
)
def test_no_tool_reads_or_writes_outside(tmp_path: pathlib.Path, path: str) -> None:
    bench = Workbench(tmp_path)
    outside = tmp_path / "outside"
    write(outside / "f", "secret")
    write(bench.workspace / "ok", "ok")
    (bench.workspace / "d").mkdir()
    (bench.workspace / "link").symlink_to(outside)
    (bench.workspace / "link_to_file").symlink_to(outside / "f")
    before = bench.tree()
    named = path.format(outside=outside)
    for name, args in (
        ("read_file", {"path": named}),
        ("write_file", {"path": named, "content": "x"}),
        ("edit_file", {"path": named, "old": "secret", "new": "x"}),
        ("move_file", {"source": named, "destination": "stolen"}),
        ("move_file", {"source": "ok", "destination": named}),
        ("list_dir", {"path": named.removesuffix("/f")}),
        ("glob_file_search", {"glob_pattern": "*", "target_directory": named.removesuffix("/f")}),
    ):
        if path == "link_to_file" and name == "move_file" and args["source"] == "ok":
            continue  # the name is taken, whatever it leads to
        result = bench.call(name, **args)
        assert not result.ok, (name, args)
        assert "secret" not in str(result)
    assert (tree(outside), bench.tree()) == ({"f": b"secret"}, before)


def test_what_holds_secrets_is_not_read(bench: Workbench) -> None:
    write(bench.workspace / ".env", "TOKEN=1")
    assert refused(bench, "read_file", path=".env").startswith("policy.denied")
    assert refused(bench, "edit_file", path=".env", old="x", new="y").startswith("policy.denied")


@requirement("CLU-009", "CLU-010", "CLU-008")
@pytest.mark.parametrize(
    ("name", "args", "says"),
    [
        ("read_file", {}, "missing required field `path`"),
        ("read_file", {"path": "a", "colour": "red"}, "unknown field `colour`"),
        ("read_file", {"path": 1}, "$.path"),
        ("update_plan", {"entries": [{"content": "a", "status": "done"}]}, "$.entries[0].status"),
        ("list_dir", {"ignore_globs": [1]}, "$.ignore_globs[0]"),
        ("display", {"content": "x", "level": "loud"}, "$.level"),
        ("display", {"content": ""}, "$.content"),
    ],
)
def test_arguments_are_strict_and_the_field_is_named(
    bench: Workbench, name: str, args: dict[str, Any], says: str
) -> None:
    message = refused(bench, name, **args)
    assert message.startswith("tool.invalid_arguments")
    assert says in message


@requirement("CLU-039", "CLU-040", "CLU-041", "CLU-042", "CLU-043", "CLU-044")
def test_display_reaches_the_person_at_once_and_is_never_asked_about(tmp_path: pathlib.Path) -> None:
    bench = Workbench(tmp_path, approval=ApprovalPolicy.UNTRUSTED)
    before = bench.tree()
    assert payload(bench, "display", content="# Hi", title="t", thought="because", evidence=["a.py:1"]) == {
        "shown": True,
        "truncated": False,
    }
    assert payload(bench, "display", content="x" * 20_000, level="progress")["truncated"]
    shown = [event for event in bench.events if isinstance(event, Display)]
    assert shown[0] == Display("# Hi", "info", "t", "because", ("a.py:1",))
    assert (shown[1].level, len(shown[1].content)) == ("progress", 10_000)
    assert [event for event in bench.events if isinstance(event, ReviewAsked)] == []
    assert bench.tree() == before


def test_the_plan_is_shown_whole(bench: Workbench) -> None:
    entries = [{"content": "a", "status": "completed"}, {"content": "b", "status": "in_progress", "priority": "high"}]
    result = bench.call("update_plan", entries=entries)
    assert (result.payload, result.display) == ({"completed": 1, "total": 2}, "[x] a\n[~] b")
    (event,) = [event for event in bench.events if isinstance(event, PlanUpdated)]
    assert event.entries == (PlanEntry("a", "completed"), PlanEntry("b", "in_progress", "high"))
    assert "only one" in refused(bench, "update_plan", entries=[entries[1], entries[1]])


def test_a_question_is_answered_by_whoever_is_there(tmp_path: pathlib.Path) -> None:
    async def answer(question: AskArguments) -> str | None:
        return question.options[0] if question.options else None

    bench = Workbench(tmp_path, tools=[AskUser(answer)], approval=ApprovalPolicy.UNTRUSTED)
    assert payload(bench, "ask_user", question="Which?", options=["one", "two"]) == {"answer": "one"}
    assert refused(bench, "ask_user", question="Which?").startswith("review.timeout")
