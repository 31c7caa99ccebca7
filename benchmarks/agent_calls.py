"""What each further tool call of our own agent costs: model asked, judged, recorded durably, run in the sandbox, told."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.agent_model import serving, surroundings
from benchmarks.figure import Figure, at_most

ROUNDS = 9
MANY = 20
PROGRAM = str(Path(sys.executable).with_name("signoff"))


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder, serving() as url:
        environ = surroundings(folder, url)
        workspace = Path(folder) / "workspace"
        workspace.mkdir()
        bare: list[float] = []
        slopes: list[float] = []
        for turn in range(ROUNDS + 1):
            one, many = (seconds(calls, workspace, environ) for calls in (1, MANY))
            bash = statistics.median(_bash() for _ in range(MANY))
            if turn:
                slopes.append((many - one) / (MANY - 1))
                bare.append(bash)
    ratio = statistics.median(slopes) / statistics.median(bare)
    return [at_most("a further tool call of the agent", ratio, 12, reference="bash -c true")]


def seconds(calls: int, workspace: Path, environ: dict[str, str]) -> float:
    started = time.perf_counter()
    words = [PROGRAM, "run", "--no-memory", "-m", f"openai/{calls}", "go"]
    ended = subprocess.run(
        words, cwd=workspace, env=environ, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    elapsed = time.perf_counter() - started
    if ended.returncode != 0 or ended.stderr.count(b"true") != calls:
        raise RuntimeError(f"the agent did not do its {calls} calls: {ended.stderr.decode()}")
    return elapsed


def _bash() -> float:
    started = time.perf_counter()
    os.waitpid(os.posix_spawn("/bin/bash", ["bash", "-c", "true"], dict(os.environ)), 0)
    return time.perf_counter() - started
