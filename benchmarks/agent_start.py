"""A whole turn with one tool call, from the start of the process to its end, against an interpreter that does nothing.

By the clock, and before everything else that runs on the machine.
"""

import functools
import os
import sys
import tempfile
from pathlib import Path

from benchmarks.agent_calls import PROGRAM
from benchmarks.agent_model import serving, surroundings
from benchmarks.figure import Figure, at_most, medians
from benchmarks.undisturbed import undisturbed

ROUNDS = 15


def measure() -> list[Figure]:
    with undisturbed(), tempfile.TemporaryDirectory() as folder, serving() as url:
        environ = surroundings(folder, url)
        workspace = Path(folder) / "workspace"
        workspace.mkdir()
        arms = {
            "pass": [sys.executable, "-c", "pass"],
            "turn": [PROGRAM, "run", "-C", str(workspace), "-m", "openai/1", "go"],
        }
        runs = {name: functools.partial(_run, words, environ) for name, words in arms.items()}
        seconds = medians(runs, rounds=ROUNDS)
    ratio = seconds["turn"] / seconds["pass"]
    return [at_most("a turn with one call, from process start", ratio, 25, reference="python -c pass")]


def _run(words: list[str], environ: dict[str, str]) -> None:
    quiet = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
    _, status = os.waitpid(os.posix_spawn(words[0], words, environ, file_actions=quiet), 0)
    if status != 0:
        raise RuntimeError(f"{words[1:]} ended with {os.waitstatus_to_exitcode(status)}")
