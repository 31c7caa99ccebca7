"""What each further tool call costs, ours against `codex exec` with its sandbox: the same model server, a `true` in each."""

import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks.agent_calls import MANY, seconds
from benchmarks.agent_model import serving, surroundings
from benchmarks.figure import Figure, Unavailable, at_most

ROUNDS = 5
NOBODY = 65534


def measure() -> list[Figure]:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    program = cache / "signoff-oracle" / "codex"
    if not program.exists():
        raise Unavailable("codex is not there; `make oracle` fetches it")
    ours: list[float] = []
    theirs: list[float] = []
    with tempfile.TemporaryDirectory() as folder, serving() as url:
        os.chmod(folder, 0o755)  # the other program runs as nobody where we are root
        environ = surroundings(folder, url)
        workspace = Path(folder, "workspace")
        workspace.mkdir()
        codex = _Codex(Path(folder, "codex"), program, url)
        for turn in range(ROUNDS + 1):
            mine = [seconds(calls, workspace, environ) for calls in (1, MANY)]
            other = [codex.seconds(calls) for calls in (1, MANY)]
            if turn:
                ours.append(mine[1] - mine[0])
                theirs.append(other[1] - other[0])
    ratio = statistics.median(ours) / statistics.median(theirs)
    return [at_most("a further tool call of the agent", ratio, 1 / 8, reference="codex exec with its sandbox")]


class _Codex:
    def __init__(self, folder: Path, program: Path, url: str) -> None:
        self._folder = folder
        self._url = url
        folder.mkdir()
        shutil.copy(program, folder / "codex")
        for place in ("home", "workspace"):
            (folder / place).mkdir()
            (folder / place).chmod(0o777)
        self._user = NOBODY if os.geteuid() == 0 else None

    def seconds(self, calls: int) -> float:
        home = str(self._folder / "home")
        provider = f'{{name="local",base_url="{self._url}",wire_api="responses",env_key="OPENAI_API_KEY"}}'
        words = [str(self._folder / "codex"), "exec", "--skip-git-repo-check", "--sandbox", "workspace-write"]
        words += ["-C", str(self._folder / "workspace"), "-c", "model_provider=local"]
        words += ["-c", f"model_providers.local={provider}", "-m", str(calls), "go"]
        environ = {"PATH": os.environ.get("PATH", os.defpath), "HOME": home, "CODEX_HOME": home, "OPENAI_API_KEY": "x"}
        started = time.perf_counter()
        ended = subprocess.run(
            words,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=120,
            user=self._user,
            group=self._user,
            extra_groups=None if self._user is None else [],
        )
        elapsed = time.perf_counter() - started
        if ended.returncode != 0 or ended.stderr.count(b"succeeded in") != calls:
            raise Unavailable(f"codex did not do its {calls} calls: {ended.stderr.decode()[-300:]}")
        return elapsed
