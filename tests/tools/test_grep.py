"""grep: ripgrep and the Python process give the same, and neither shows what may not be read."""

import os
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from signoff.domain.settings import SandboxSettings
from signoff.sandbox.profile import resolve
from signoff.sandbox.sessions import Sessions
from signoff.tools import ripgrep
from signoff.tools.grep import Grep
from tests.clauses import requirement
from tests.tools.workbench import Workbench, write

FILES: dict[str, str | bytes] = {
    "a.py": "import os\nTODO one\n",
    "d/b.py": "x\r\ntodo two\r\n",
    "d/c.txt": "TODO three",
    "d/long": "TODO " + "x" * 900,
    "out/x.py": "TODO ignored\n",
    ".hidden": "TODO hidden\n",
    ".git/config": "TODO git\n",
    ".env": "TODO_SECRET=1\n",
    "binary": b"TODO\0",
    "latin": b"TODO caf\xe9\n",
    "été.py": "TODO été\n",
    ".gitignore": "out/\n",
    "multi": "begin\nend\nbegin end\n",
    "blank": "\n\nx\n",
}
ENGINES: list[Callable[[], str | None]] = [ripgrep.program, lambda: None]


@pytest.fixture(params=ENGINES, ids=["ripgrep", "python"])
def bench(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Iterator[Workbench]:
    if request.param is ENGINES[0] and ripgrep.program() is None:
        pytest.skip("there is no ripgrep here")
    for name, content in FILES.items():
        write(tmp_path / "space" / name, content)
    (tmp_path / "space" / "link").symlink_to("d")
    with Sessions(resolve(SandboxSettings(), str(tmp_path / "space")), dict(os.environ)) as sandboxes:
        yield Workbench(tmp_path, sandboxes=sandboxes, tools=[Grep(request.param)])


def places(bench: Workbench, **args: Any) -> list[str]:
    result = bench.call("grep", **args)
    assert result.error is None
    assert result.payload is not None
    return [f"{match['path']}:{match['line']}" for match in result.payload["matches"]]


@requirement("CLU-036")
def test_what_is_found(bench: Workbench) -> None:
    everywhere = [".hidden:1", "a.py:2", "d/c.txt:1", "d/long:1", "latin:1", "été.py:1"]
    for args, expected in (
        ({"pattern": "TODO"}, everywhere),
        ({"pattern": "todo", "-i": True, "glob": "*.py"}, ["a.py:2", "d/b.py:2", "été.py:1"]),
        ({"pattern": "TODO", "path": "d"}, ["d/c.txt:1", "d/long:1"]),
        ({"pattern": "TODO", "path": "a.py"}, ["a.py:2"]),
        ({"pattern": "TODO", "glob": "d/*.txt"}, ["d/c.txt:1"]),
        ({"pattern": "TODO", "glob": "*.{py,txt}"}, ["a.py:2", "d/c.txt:1", "été.py:1"]),
        ({"pattern": "two$"}, ["d/b.py:2"]),
        ({"pattern": "^$", "path": "blank"}, ["blank:1", "blank:2"]),
        ({"pattern": "begin.*end", "path": "multi"}, ["multi:3"]),
        ({"pattern": "begin\nend", "multiline": True}, ["multi:1"]),
        ({"pattern": "(?<=TODO )one"}, ["a.py:2"]),
        ({"pattern": "nothing like it"}, []),
    ):
        assert places(bench, **args) == expected, args


def test_texts_limits_and_secrets(bench: Workbench) -> None:
    result = bench.call("grep", pattern="TODO", head_limit=2)
    assert result.payload is not None
    assert result.payload["truncated"]
    assert [match["text"] for match in result.payload["matches"]] == ["TODO hidden", "TODO one"]
    (long,) = (bench.call("grep", pattern="x{9}").payload or {})["matches"]
    assert len(long["text"]) == 500
    assert "SECRET" not in str(bench.call("grep", pattern="SECRET"))
    assert bench.call("grep", pattern="SECRET", path=".env").error is not None


def test_what_is_wrong_is_said(bench: Workbench) -> None:
    bad = bench.call("grep", pattern="(open")
    assert bad.error is not None
    assert (bad.error.code, "is no regular expression" in bad.error.message) == ("tool.invalid_arguments", True)
    for path in ("missing", "../outside", "/etc/passwd"):
        assert not bench.call("grep", pattern="x", path=path).ok
