"""Keep other programs of the machine from taking the processors away while something short is timed."""

import contextlib
import os
from collections.abc import Iterator


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Whoever may, goes before everybody else, children included; whoever may not is measured as the machine is. Both
    arms of a comparison belong inside."""
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    try:
        yield
    finally:
        os.sched_setscheduler(0, *before)


@contextlib.contextmanager
def one_processor() -> Iterator[None]:
    """Everything on one processor, children included. What a virtual machine takes to wake an idle one (20 to 90
    microseconds, for whole stretches of time) would otherwise decide a comparison of fractions of a millisecond. Nothing
    overlaps here: what an arm leaves to be done behind its answer counts too."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
