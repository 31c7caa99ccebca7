"""Two commands at once on two processors, and ten thousand in a row without a leak."""

import os
import tempfile
import threading
import time

from benchmarks.figure import Figure, Unavailable, at_least, at_most, medians
from signoff.domain.errors import NotEnforceable
from signoff.sandbox.outcome import Backend, Request
from signoff.sandbox.profile import Profile
from signoff.sandbox.session import Session

ROUNDS = 15
MANY = 10_000
SPIN_SECONDS = 0.05


def measure() -> list[Figure]:
    if len(os.sched_getaffinity(0)) < 2:
        raise Unavailable("there is only one processor")
    with tempfile.TemporaryDirectory() as workspace:
        try:
            with Session(Profile(workspace=workspace), os.environ, only=Backend.NAMESPACES) as session:
                return [_parallel(session), _leak(session)]
        except NotEnforceable as error:
            raise Unavailable(error.message) from error


def _parallel(session: Session) -> Figure:
    request = Request(("sh", "-c", f"i=0; while [ $i -lt {_turns(session)} ]; do i=$((i+1)); done"))

    def both() -> None:
        threads = [threading.Thread(target=session.run, args=(request,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    seconds = medians({"one": lambda: session.run(request), "two": both}, rounds=ROUNDS, warm_up=2)
    throughput = 2 * seconds["one"] / seconds["two"]
    return at_least("two 50 ms commands at once", throughput, 1.7, reference="one at a time, throughput")


def _turns(session: Session) -> int:
    """How many turns of the loop take fifty milliseconds here."""
    began = time.perf_counter()
    session.run(Request(("sh", "-c", "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done")))
    return int(50_000 * SPIN_SECONDS / (time.perf_counter() - began))


def _leak(session: Session) -> Figure:
    request = Request(("true",))
    session.run(request)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(MANY):
        session.run(request)
    return at_most(
        "descriptors after 10,000 commands",
        len(os.listdir("/proc/self/fd")) - before,
        0,
        reference="before",
        unit="more",
    )
