"""read_lints: real linters where they are installed, recorded words of the others."""

import os
import pathlib
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from signoff.domain.settings import SandboxMode, SandboxSettings
from signoff.sandbox.profile import resolve
from signoff.sandbox.sessions import Sessions
from signoff.tools.linters import LINTERS, Finding, Severity
from tests.clauses import requirement
from tests.tools.workbench import Workbench

BIN = pathlib.Path(sys.executable).parent


@pytest.fixture
def bench(tmp_path: pathlib.Path) -> Iterator[Workbench]:
    settings = SandboxSettings(
        mode=SandboxMode.DANGER_FULL_ACCESS
    )  # the linters of this project lie outside of the space
    (tmp_path / "space").mkdir()
    with Sessions(resolve(settings, str(tmp_path / "space")), dict(os.environ)) as sandboxes:
        yield Workbench(tmp_path, sandboxes=sandboxes)


def lints(bench: Workbench, *paths: str) -> dict[str, Any]:
    result = bench.call("read_lints", paths=list(paths))
    assert result.error is None
    assert result.payload is not None
    return result.payload


@requirement("CLU-049")
def test_findings_come_in_one_form_and_who_ran_is_said(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{BIN}:/usr/bin:/bin")
    bench.put(a__py="import os\n", b__py="x: int = ''\n", c__ts="x", mypy__ini="[mypy]\n")
    (bench.workspace / "-rf.py").write_text("import sys\n")
    found = lints(bench, "a.py", "c.ts", "-rf.py")
    assert [(one["path"], one["line"], one["code"], one["linter"]) for one in found["findings"]] == [
        ("-rf.py", 1, "F401", "ruff"),
        ("a.py", 1, "F401", "ruff"),
    ]
    assert "ruff" in found["ran"]
    assert {one["linter"] for one in found["missing"]} >= {"eslint", "tsc"}
    whole = lints(bench, ".")
    assert ("b.py", "mypy", "assignment") in [(one["path"], one["linter"], one["code"]) for one in whole["findings"]]
    assert not bench.call("read_lints", paths=["missing.py"]).ok
    assert not bench.call("read_lints", paths=[]).ok


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "eslint",
            '[{"filePath":"/w/a.js","messages":[{"ruleId":"semi","severity":2,"message":"Missing.","line":3,"column":4}]}]',
            Finding("/w/a.js", 3, 4, Severity.ERROR, "semi", "Missing.", "eslint"),
        ),
        (
            "tsc",
            "src/a.ts(3,7): error TS2322: Type 'string' is not assignable.\n",
            Finding("src/a.ts", 3, 7, Severity.ERROR, "TS2322", "Type 'string' is not assignable.", "tsc"),
        ),
        (
            "mypy",
            "a.py:1:2: note: See here\n",
            Finding("a.py", 1, 2, Severity.INFO, "", "See here", "mypy"),
        ),
        (
            "shellcheck",
            '[{"file":"a.sh","line":2,"column":1,"level":"style","code":2006,"message":"Use $()."}]',
            Finding("a.sh", 2, 1, Severity.INFO, "SC2006", "Use $().", "shellcheck"),
        ),
        (
            "ruff",
            '[{"filename":"a.py","location":{"row":1,"column":2},"code":null,"message":"bad"}]',
            Finding("a.py", 1, 2, Severity.ERROR, "syntax", "bad", "ruff"),
        ),
    ],
)
def test_what_linters_say(name: str, text: str, expected: Finding) -> None:
    (linter,) = [linter for linter in LINTERS if linter.name == name]
    assert linter.read(text) == [expected]
    assert linter.read("") == []
