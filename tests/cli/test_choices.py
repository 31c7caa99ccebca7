"""Options that take a word take it as it is written everywhere else."""

import pathlib
import subprocess
import sys

import pytest

PROGRAM = [sys.executable, "-c", "from signoff.cli.main import main; main()"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["policy", "check", "--approval", "untrusted", "--sandbox", "read-only", "--", "ls"],
        ["why", "--approval", "on-failure", "--", "ls"],
        ["why", "--tool", "x", "--action", "read", "--args", "{}"],
    ],
)
def test_the_documented_words_are_the_ones_that_work(arguments: list[str], home: pathlib.Path) -> None:
    done = subprocess.run([*PROGRAM, *arguments], cwd=home, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, "Invalid value" in done.stderr) == (0, False), done.stderr
