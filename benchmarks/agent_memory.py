"""Does the agent grow with its work? Memory at the end of a turn of 500 calls against one of 50, the same process each."""

import os
import tempfile
from pathlib import Path

from benchmarks.agent_calls import PROGRAM
from benchmarks.agent_model import serving, surroundings
from benchmarks.figure import Figure, at_most

FEW, MANY = 50, 500


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder, serving() as url:
        environ = surroundings(folder, url)
        workspace = Path(folder) / "workspace"
        workspace.mkdir()
        few, many = (_peak(calls, str(workspace), environ) for calls in (FEW, MANY))
    return [at_most(f"memory of a turn of {MANY} calls", many / few, 1.1, reference=f"the same of {FEW}")]


def _peak(calls: int, workspace: str, environ: dict[str, str]) -> int:
    words = [PROGRAM, "run", "--no-memory", "-C", workspace, "--context-tokens", "20000", "-m", f"openai/{calls}", "go"]
    quiet = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
    pid = os.posix_spawn(words[0], words, environ, file_actions=quiet)
    _, status, used = os.wait4(pid, 0)
    if status != 0:
        raise RuntimeError(f"a turn of {calls} calls ended with {os.waitstatus_to_exitcode(status)}")
    return used.ru_maxrss
