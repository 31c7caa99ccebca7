"""What a command in a warm sandbox costs, against the same command started bare and by bubblewrap; also from a big parent."""

import os
import shutil
import tempfile
from collections.abc import Callable

from benchmarks.figure import Figure, Unavailable, at_most, medians
from benchmarks.undisturbed import undisturbed
from signoff.domain.errors import NotEnforceable
from signoff.sandbox.outcome import Backend, Request
from signoff.sandbox.profile import Profile
from signoff.sandbox.session import Session

ROUNDS = 200
BIG = 500 * 1024**2


def measure() -> list[Figure]:
    bubblewrap = shutil.which("bwrap")
    if bubblewrap is None:
        raise Unavailable("bubblewrap is not installed")
    with undisturbed():
        figures = _compare(bubblewrap, "")
        ballast = bytearray(os.urandom(4096) * (BIG // 4096))
        figures += _compare(bubblewrap, f", {len(ballast) >> 20} MB parent")
        del ballast
    return figures


def _compare(bubblewrap: str, where: str) -> list[Figure]:
    with tempfile.TemporaryDirectory() as workspace:
        try:
            with Session(Profile(workspace=workspace), os.environ, only=Backend.NAMESPACES) as session:
                request = Request(("true",))
                wrapped = [bubblewrap, "--unshare-all", "--ro-bind", "/", "/", "true"]
                arms: dict[str, Callable[[], object]] = {
                    "bare": lambda: spawn(["/usr/bin/true"]),
                    "warm": lambda: session.run(request),
                    "bubblewrap": lambda: spawn(wrapped),
                }
                seconds = medians(arms, rounds=ROUNDS, warm_up=10)
        except NotEnforceable as error:
            raise Unavailable(error.message) from error
    return [
        at_most(f"sandboxed true{where}", seconds["warm"] / seconds["bare"], 1.5, reference="bare posix_spawn"),
        at_most(
            f"sandboxed true{where}", seconds["warm"] / seconds["bubblewrap"], 0.3, reference="bwrap --unshare-all"
        ),
    ]


def spawn(words: list[str]) -> None:
    os.waitpid(os.posix_spawn(words[0], words, {"PATH": "/usr/bin:/bin"}), 0)
