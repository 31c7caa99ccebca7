"""What a command in a warm sandbox costs, against the same command started bare and by bubblewrap; also from a big parent.

On one processor, where the figure is steady, and once more where the scheduler places the processes as it likes."""

import os
import shutil
import tempfile
from collections.abc import Callable

from benchmarks.figure import Figure, Unavailable, at_most, medians
from benchmarks.undisturbed import one_processor, undisturbed
from signoff.domain.errors import NotEnforceable
from signoff.sandbox.outcome import Backend, Request
from signoff.sandbox.profile import Profile
from signoff.sandbox.session import Session

ROUNDS = 300
BIG = 500 * 1024**2


def measure() -> list[Figure]:
    bubblewrap = shutil.which("bwrap")
    if bubblewrap is None:
        raise Unavailable("bubblewrap is not installed")
    with undisturbed():
        figures = _compare(bubblewrap, ", free to move")[:1]
    with undisturbed(), one_processor():
        figures += _compare(bubblewrap, "")
        ballast = bytearray(os.urandom(4096) * (BIG // 4096))
        figures += _compare(bubblewrap, f", {len(ballast) >> 20} MB parent")
        del ballast
    return figures


def _compare(bubblewrap: str, where: str) -> list[Figure]:
    with tempfile.TemporaryDirectory() as workspace:
        try:
            with Session(Profile(workspace=workspace), os.environ, only=Backend.NAMESPACES) as session:
                bare = _ratio(session, lambda: spawn(["/usr/bin/true"]))
                wrapped = _ratio(session, lambda: spawn([bubblewrap, "--unshare-all", "--ro-bind", "/", "/", "true"]))
        except NotEnforceable as error:
            raise Unavailable(error.message) from error
    return [
        at_most(f"sandboxed true{where}", bare, 1.5, reference="bare posix_spawn"),
        at_most(f"sandboxed true{where}", wrapped, 0.3, reference="bwrap --unshare-all"),
    ]


def _ratio(session: Session, other: Callable[[], object]) -> float:
    """Against each reference alone: what bubblewrap leaves the kernel to clear up belongs to no other arm."""
    request = Request(("true",))
    seconds = medians({"warm": lambda: session.run(request), "other": other}, rounds=ROUNDS, warm_up=10)
    return seconds["warm"] / seconds["other"]


def spawn(words: list[str]) -> None:
    os.waitpid(os.posix_spawn(words[0], words, {"PATH": "/usr/bin:/bin"}), 0)
