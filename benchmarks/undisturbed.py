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
