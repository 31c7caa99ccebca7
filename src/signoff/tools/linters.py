"""The linters that are known, one row each, and how to read what they say. Pure."""

import enum
import json
import re
from collections.abc import Callable

import msgspec


class Severity(enum.StrEnum):
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Finding(msgspec.Struct, frozen=True, order=True):
    path: str
    line: int
    column: int
    severity: Severity
    code: str
    message: str
    linter: str


class Linter(msgspec.Struct, frozen=True):
    """`configured_by`: it only runs where one of these files is in the workspace; empty: wherever it is installed.
    `whole_project`: it takes no paths."""

    name: str
    endings: tuple[str, ...]
    options: tuple[str, ...]
    read: Callable[[str], list[Finding]]
    configured_by: tuple[str, ...] = ()
    whole_project: bool = False


def _ruff(text: str) -> list[Finding]:
    return [
        Finding(
            one["filename"],
            one["location"]["row"],
            one["location"]["column"],
            Severity.ERROR if one["code"] is None or one["code"].startswith(("E9", "F")) else Severity.WARNING,
            one["code"] or "syntax",
            one["message"],
            "ruff",
        )
        for one in json.loads(text or "[]")
    ]


def _eslint(text: str) -> list[Finding]:
    return [
        Finding(
            file["filePath"],
            one.get("line") or 1,
            one.get("column") or 1,
            Severity.ERROR if one["severity"] == 2 else Severity.WARNING,
            one.get("ruleId") or "syntax",
            one["message"],
            "eslint",
        )
        for file in json.loads(text or "[]")
        for one in file["messages"]
    ]


def _shellcheck(text: str) -> list[Finding]:
    levels = {"error": Severity.ERROR, "warning": Severity.WARNING}
    return [
        Finding(
            one["file"],
            one["line"],
            one["column"],
            levels.get(one["level"], Severity.INFO),
            f"SC{one['code']}",
            one["message"],
            "shellcheck",
        )
        for one in json.loads(text or "[]")
    ]


_MYPY = re.compile(r"^(.+?):(\d+):(?:(\d+):)? (error|warning|note): (.*?)(?:  \[([\w-]+)\])?$", re.MULTILINE)
_TSC = re.compile(r"^(.+?)\((\d+),(\d+)\): (error|warning) (TS\d+): (.*)$", re.MULTILINE)
_MYPY_LEVELS = {"error": Severity.ERROR, "warning": Severity.WARNING, "note": Severity.INFO}


def _mypy(text: str) -> list[Finding]:
    return [
        Finding(path, int(line), int(column or 1), _MYPY_LEVELS[level], code or "", message, "mypy")
        for path, line, column, level, message, code in _MYPY.findall(text)
    ]


def _tsc(text: str) -> list[Finding]:
    return [
        Finding(path, int(line), int(column), Severity(level), code, message, "tsc")
        for path, line, column, level, code, message in _TSC.findall(text)
    ]


_PYTHON = (".py", ".pyi")
_SCRIPT = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx")
_ESLINT_FILES = tuple(f"eslint.config.{ending}" for ending in ("js", "mjs", "cjs", "ts")) + tuple(
    f".eslintrc{ending}" for ending in ("", ".js", ".cjs", ".json", ".yml", ".yaml")
)

LINTERS = (
    Linter("ruff", _PYTHON, ("check", "--quiet", "--no-cache", "--force-exclude", "--output-format=json"), _ruff),
    Linter(
        "mypy",
        _PYTHON,
        ("--show-column-numbers", "--show-error-codes", "--no-error-summary", "--no-pretty", "--cache-dir=/dev/null"),
        _mypy,
        configured_by=("mypy.ini", ".mypy.ini", "setup.cfg", "pyproject.toml"),
    ),
    Linter("eslint", _SCRIPT, ("--format=json",), _eslint, configured_by=_ESLINT_FILES),
    Linter(
        "tsc",
        (".ts", ".tsx"),
        ("--noEmit", "--pretty", "false"),
        _tsc,
        configured_by=("tsconfig.json",),
        whole_project=True,
    ),
    Linter("shellcheck", (".sh", ".bash"), ("--format=json",), _shellcheck),
)
