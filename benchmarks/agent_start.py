"""A whole turn with one tool call, from the start of the process to its end, against an interpreter that does nothing.

Counted in processor time, which other work on the machine does not stretch. Commands in the sandbox are counted too.
"""

import os
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks.agent_calls import PROGRAM
from benchmarks.agent_model import serving, surroundings
from benchmarks.figure import Figure, at_most

ROUNDS = 15


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder, serving() as url:
        environ = surroundings(folder, url)
        workspace = Path(folder) / "workspace"
        workspace.mkdir()
        arms = {
            "pass": [sys.executable, "-c", "pass"],
            "turn": [PROGRAM, "run", "-C", str(workspace), "-m", "openai/1", "go"],
        }
        seconds: dict[str, list[float]] = {name: [] for name in arms}
        for _ in range(ROUNDS):
            for name, words in arms.items():
                seconds[name].append(_processor(words, environ))
    ratio = statistics.median(seconds["turn"]) / statistics.median(seconds["pass"])
    return [at_most("a turn with one call, from process start", ratio, 25, reference="python -c pass")]


def _processor(words: list[str], environ: dict[str, str]) -> float:
    quiet = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
    pid = os.posix_spawn(words[0], words, environ, file_actions=quiet)
    _, status, used = os.wait4(pid, 0)
    if status != 0:
        raise RuntimeError(f"{words[1:]} ended with {os.waitstatus_to_exitcode(status)}")
    return used.ru_utime + used.ru_stime
