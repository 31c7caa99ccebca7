"""The rules of the house that no linter checks."""

import ast
import pathlib

import pytest

ROOT = pathlib.Path(__file__).parents[1]
SOURCE = ROOT / "src" / "signoff"
GOLDEN = ROOT / "tests" / "golden"
PURE = ("domain", "policy", "wire")
IMPURE = {"os", "io", "asyncio", "subprocess", "socket", "time", "random", "logging", "threading", "tempfile", "shutil"}


def modules(*rooms: str) -> list[pathlib.Path]:
    return sorted(path for room in rooms for path in (SOURCE / room).rglob("*.py"))


@pytest.mark.parametrize("path", modules(*PURE), ids=lambda path: str(path.relative_to(SOURCE)))
def test_pure_rooms_do_no_input_or_output(path: pathlib.Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "open":
            names = ["io"]
        assert not [name for name in names if name.split(".")[0] in IMPURE], f"{path}:{node.lineno}"  # type: ignore[attr-defined]


def test_no_file_is_longer_than_a_reader_can_hold() -> None:
    files = [
        path for room in ("src", "tests", "benchmarks", "scripts", "examples") for path in (ROOT / room).rglob("*.py")
    ]
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    too_long = {str(path): length for path, length in lengths.items() if length > 400 and path.name != "acp_schema.py"}
    assert too_long == {}


def test_no_function_is_longer_than_a_screen() -> None:
    too_long = {}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                length = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
                if length > 40:
                    too_long[f"{path.name}: {node.name}"] = length
    assert too_long == {}


def test_no_module_has_a_name_that_says_nothing() -> None:
    empty_words = {"utils", "util", "helpers", "helper", "common", "manager", "base", "core", "misc"}
    assert [path for path in SOURCE.rglob("*") if path.stem in empty_words] == []


def test_every_golden_file_is_compared_by_a_test() -> None:
    tests = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    files = [str(path.relative_to(GOLDEN)) for path in GOLDEN.rglob("*") if path.is_file()]
    assert [name for name in files if name not in tests and name.rsplit("/", 1)[0] + "/" not in tests] == []
