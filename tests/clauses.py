"""The clauses the product promises, and which tests prove them.

`requirements.toml` gives each clause id one sentence; a test names the clauses it proves with `@requirement("APR-026")`.
`python -m tests.clauses` prints the table.
"""

import ast
import pathlib
import sys
import tomllib

import msgspec
import pytest

requirement = pytest.mark.requirement

HERE = pathlib.Path(__file__).parent


class Clause(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    says: str
    open: str | None = None  # the room that will bring it
    settled: str | None = None  # how the clause was changed, and by which decision


def clauses() -> dict[str, Clause]:
    return msgspec.convert(tomllib.loads((HERE / "requirements.toml").read_text(encoding="utf-8")), dict[str, Clause])


def proofs() -> dict[str, list[str]]:
    """Clause id -> the tests that name it, read from the source so that a skipped test still counts as written."""
    found: dict[str, list[str]] = {}
    for path in sorted(HERE.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                for decorator in node.decorator_list:
                    for clause in _named(decorator):
                        found.setdefault(clause, []).append(f"{path.relative_to(HERE)}::{node.name}")
    return found


def _named(decorator: ast.expr) -> list[str]:
    if isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Name) and decorator.func.id == "requirement":
        return [argument.value for argument in decorator.args if isinstance(argument, ast.Constant)]
    return []


def main() -> None:
    known, proved = clauses(), proofs()
    for name, clause in known.items():
        state = f"open: {clause.open}" if clause.open else f"proved by {len(proved.get(name, []))}"
        print(f"{name}  {state:28}  {clause.settled or '':4}  {clause.says}")
    still_open = sum(clause.open is not None for clause in known.values())
    changed = sum(clause.settled is not None for clause in known.values())
    print(f"{len(known)} clauses: {len(known) - still_open} proved, {still_open} open, {changed} changed by a decision")


if __name__ == "__main__":
    sys.exit(main())
