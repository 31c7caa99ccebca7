"""Start the installed program the way a person does, and look at what came out."""

import os
import pathlib
import subprocess
import sys
from typing import NamedTuple

PROGRAM = str(pathlib.Path(sys.executable).with_name("signoff"))
TIMEOUT_SECONDS = 180.0


class Ended(NamedTuple):
    status: int
    out: str
    err: str


def signoff(*words: str, cwd: pathlib.Path | None = None, stdin: str = "", **environ: str) -> Ended:
    """Run `signoff WORDS` with the environment of the test (use the `home` fixture) and these variables on top."""
    ended = subprocess.run(
        [PROGRAM, *words],
        input=stdin.encode(),
        capture_output=True,
        cwd=cwd,
        env={**os.environ, **environ},
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout.decode(), ended.stderr.decode())
