"""How long a person waits for `signoff version` and `signoff --help`, against the same interpreter doing nothing."""

import pathlib
import subprocess
import sys

from benchmarks.figure import Figure, Unavailable, at_most, medians

REFERENCE = "python -c pass"
ROUNDS = 30


def measure() -> list[Figure]:
    program = pathlib.Path(sys.executable).with_name("signoff")
    if not program.exists():
        raise Unavailable("signoff is not installed beside this interpreter")
    commands = {
        REFERENCE: [sys.executable, "-c", "pass"],
        "version": [str(program), "version"],
        "--help": [str(program), "--help"],
    }
    seconds = medians({name: lambda words=words: start(words) for name, words in commands.items()}, rounds=ROUNDS)
    return [
        at_most("signoff version", seconds["version"] / seconds[REFERENCE], 1.8, reference=REFERENCE),
        at_most("signoff --help", seconds["--help"] / seconds[REFERENCE], 2.5, reference=REFERENCE),
    ]


def start(words: list[str]) -> None:
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, timeout=60)
