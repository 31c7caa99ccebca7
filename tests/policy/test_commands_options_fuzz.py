"""Random options of every known-safe program that we would grant write nothing. Run unprivileged in a scratch directory."""

import contextlib
import hashlib
import os
import pathlib
import random
import re
import shutil
import string
import subprocess

import pytest

from signoff.policy.commands import Safe, classify
from signoff.policy.commands.inert import INERT
from signoff.policy.commands.safe import CHECKED_PROGRAMS
from signoff.policy.shell import read_argv
from tests.policy.granting import granted
from tests.policy.nobody import as_nobody

BUILTINS = {"cd", "exit", "type", ":", "command", "["}
SLOW = {"sleep"}
PROGRAMS = sorted(name for name in (INERT | CHECKED_PROGRAMS) - BUILTINS - SLOW if shutil.which(name))
TRIES, RUNS = 300, 8
SEED = int(os.environ.get("SIGNOFF_FUZZ_SEED", "1"))
WORDS = [
    "f",
    "g",
    "new",
    "sub",
    "sub/h",
    "1",
    "2",
    "a",
    ".",
    "-",
    "--",
    "x=y",
    "+%s",
    "1,2p",
    "s/a/b/",
    "{print $1}",
    ".a",
    "sub/new",
    "=new",
]
GIT = [
    *["status", "log", "diff", "show", "branch", "tag", "remote", "stash", "list", "worktree", "ls-files", "ls-tree", "rev-parse", "blame"],
    *["grep", "describe", "cat-file", "show-ref", "for-each-ref", "reflog", "shortlog", "HEAD", "-p", "-n", "new", "f", "--output=new", "-o", "a"],
]  # fmt: skip


def snapshot(directory: pathlib.Path) -> dict[str, tuple[int, str]]:
    """Every file's mode and content."""
    return {
        str(path): (path.lstat().st_mode, hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "")
        for path in sorted(directory.rglob("*"))
        if ".git" not in path.parts or path.name in ("HEAD", "config")
    }


def scratch(directory: pathlib.Path) -> None:
    (directory / "sub").mkdir()
    for name, text in (("f", "b\na\n"), ("g", "x y\n"), ("sub/h", '{"a": 1}\n')):
        (directory / name).write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "-q", str(directory)], check=True, timeout=60)
    for path in (directory, *directory.rglob("*")):
        if os.geteuid() == 0:
            os.chown(path, 65534, 65534)
        path.chmod(path.stat().st_mode | 0o666 | (0o111 if path.is_dir() else 0))


def long_options(program: str) -> list[str]:
    """The program's own long options, as its help shows them, and their abbreviations."""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        told = subprocess.run(
            [program, "--help"], stdin=subprocess.DEVNULL, capture_output=True, timeout=10, cwd="/", **as_nobody()
        )
        names = sorted(set(re.findall(rb"--[a-z0-9][a-z0-9-]+", told.stdout + told.stderr)))
        return [name.decode() for name in names if name not in (b"--help", b"--version")]
    return []


def random_argv(chance: random.Random, program: str, long: list[str]) -> tuple[str, ...]:
    words = [program]
    for _ in range(chance.randint(0, 4)):
        kind = chance.random()
        if kind < 0.4:
            words.append("-" + "".join(chance.choices(string.ascii_letters + string.digits, k=chance.randint(1, 3))))
        elif kind < 0.6 and long:
            name = chance.choice(long)
            words.append(name[: chance.randint(4, len(name))] + chance.choice(["", "", "=new", "=1", "=f"]))
        else:
            words.append(chance.choice(WORDS))
        if program == "git":
            words.append(chance.choice(GIT))
    return tuple(words)


def run(argv: tuple[str, ...], directory: pathlib.Path, seconds: float = 1.0) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=seconds, cwd=directory,
            env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", "TMPDIR": "/nonexistent"}, **as_nobody(),
        )  # fmt: skip


@pytest.fixture
def directory(tmp_path: pathlib.Path) -> pathlib.Path:
    place = tmp_path / "scratch"
    place.mkdir()
    scratch(place)
    for parent in [tmp_path, *list(tmp_path.parents)[:3]]:
        parent.chmod(parent.stat().st_mode | 0o011)
    return place


def test_a_write_would_be_seen(directory: pathlib.Path) -> None:
    before = snapshot(directory)
    run(("sort", "-o", "new", "f"), directory, seconds=60)
    assert snapshot(directory) != before


@pytest.mark.parametrize("program", PROGRAMS)
def test_known_safe_commands_write_nothing(program: str, directory: pathlib.Path) -> None:
    chance = random.Random(f"{SEED} {program}")
    long = long_options(program)
    before = snapshot(directory)
    runs = 0
    for _ in range(TRIES):
        argv = random_argv(chance, program, long)
        if isinstance(classify(argv), Safe) and granted(read_argv(argv, cwd=str(directory), home="/home/u")):
            run(argv, directory)
            runs += 1
            assert snapshot(directory) == before, argv
        if runs == RUNS:
            break
