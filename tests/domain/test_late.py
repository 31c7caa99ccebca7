"""What is made late is the real thing, and what a command does not use it does not load."""

import importlib
import json
import pkgutil
import re
import subprocess
import sys

import pytest

import signoff
from signoff.domain.late import LatePattern, late, late_pattern


def test_a_late_module_is_the_module() -> None:
    assert late("json").loads is json.loads


def test_a_late_pattern_answers_as_a_compiled_one() -> None:
    given = late_pattern(r"(a)(b)?", re.IGNORECASE)
    assert [match.groups() for match in given.finditer("xAb a")] == [("A", "b"), ("a", None)]
    assert given.fullmatch("ac") is None
    assert late_pattern(rb"a+").sub(b"x", b"baad") == b"bxd"


def test_every_late_pattern_compiles() -> None:
    made = 0
    for found in pkgutil.walk_packages(signoff.__path__, "signoff."):
        for value in vars(importlib.import_module(found.name)).values():
            if isinstance(value, LatePattern):
                re.compile(value.pattern, value.flags)
                made += 1
    assert made > 40


UNUSED = {"asyncio", "ssl", "tomllib", "difflib", "starlark", "tree_sitter", "socket", "tempfile", "logging"}


@pytest.mark.parametrize("module", ["signoff.cli.app", "signoff.cli.sandbox", "signoff.cli.policy", "signoff.cli.wrap"])
def test_a_command_loads_only_what_it_surely_needs(module: str) -> None:
    spy = f"import {module}, sys; print(*sys.modules)"
    loaded = set(subprocess.run([sys.executable, "-c", spy], capture_output=True, text=True, check=True).stdout.split())
    assert loaded & UNUSED == set()
