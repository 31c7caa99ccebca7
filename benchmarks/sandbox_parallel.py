"""Two commands at once on two processors, and ten thousand in a row without a leak."""

import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable

from benchmarks.figure import Figure, Unavailable, at_least, at_most
from benchmarks.undisturbed import undisturbed
from signoff.domain.errors import NotEnforceable
from signoff.sandbox.outcome import Backend, Request
from signoff.sandbox.profile import Profile
from signoff.sandbox.session import Session

ROUNDS = 41
PAUSE_SECONDS = 0.01  # the kernel stops whoever goes before everybody else without ever pausing
MANY = 10_000
SPIN_SECONDS = 0.05


def measure() -> list[Figure]:
    if len(os.sched_getaffinity(0)) < 2:
        raise Unavailable("there is only one processor")
    with tempfile.TemporaryDirectory() as workspace:
        try:
            with undisturbed(), Session(Profile(workspace=workspace), os.environ, only=Backend.NAMESPACES) as session:
                figures = [_parallel(session)]
            with Session(Profile(workspace=workspace), os.environ, only=Backend.NAMESPACES) as session:
                return [*figures, _leak(session)]
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

    throughput = statistics.median(2 * _seconds(lambda: session.run(request)) / _seconds(both) for _ in range(ROUNDS))
    return at_least("two 50 ms commands at once", throughput, 1.7, reference="one at a time, throughput")


def _seconds(run: Callable[[], object]) -> float:
    time.sleep(PAUSE_SECONDS)
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


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
