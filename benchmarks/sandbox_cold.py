"""How long a person waits for `signoff sandbox -- true`, against the same interpreter doing nothing."""

import pathlib
import subprocess
import sys
import tempfile

from benchmarks.figure import Figure, Unavailable, at_most, medians

REFERENCE = "python -c pass"
ROUNDS = 20


def measure() -> list[Figure]:
    program = pathlib.Path(sys.executable).with_name("signoff")
    if not program.exists():
        raise Unavailable("signoff is not installed beside this interpreter")
    with tempfile.TemporaryDirectory() as workspace:
        commands = {REFERENCE: [sys.executable, "-c", "pass"], "sandbox": [str(program), "sandbox", "--", "true"]}
        arms = {name: lambda words=words: start(words, workspace) for name, words in commands.items()}
        seconds = medians(arms, rounds=ROUNDS)
    return [at_most("signoff sandbox -- true", seconds["sandbox"] / seconds[REFERENCE], 10, reference=REFERENCE)]


def start(words: list[str], workspace: str) -> None:
    subprocess.run(words, check=True, cwd=workspace, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=60)
