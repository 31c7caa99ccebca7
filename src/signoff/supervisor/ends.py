"""How a supervised run ends, and with which status. Pure."""

import signal

import msgspec

from signoff.domain.errors import Exit
from signoff.domain.settings import DenyExit
from signoff.supervisor.arbiter import Stop
from signoff.supervisor.pending import Tally


class Ending(msgspec.Struct, frozen=True):
    exit_code: int
    reason: str
    bad: bool  # worth a bundle for diagnosis


_BY_ERROR: dict[str, Exit] = {
    "policy.denied": Exit.DENIED,
    "review.aborted": Exit.DENIED,
    "control.stdin_broken": Exit.CHILD,
    "ledger.unwritable": Exit.INTERNAL,
    "sandbox.unavailable": Exit.NOT_ENFORCEABLE,
    "runner.hung": Exit.TIMEOUT,
    "tool.timeout": Exit.TIMEOUT,
}


def stopped(stop: Stop) -> Ending:
    """We ended it."""
    exit_code = _BY_ERROR.get(stop.error, Exit.CHILD)
    return Ending(exit_code, stop.reason, bad=True)


def signalled(number: int) -> Ending:
    """Somebody ended us."""
    return Ending(128 + number, f"stopped by {signal.Signals(number).name}", bad=False)


def ended(status: int, tally: Tally, deny_exit: DenyExit) -> Ending:
    """It ended by itself. A success in which something was denied is not a success without a word."""
    denied = f"{tally.denied} of {tally.requests} requests denied"
    if status != 0 or tally.denied == 0 or deny_exit is DenyExit.CHILD:
        reason = f"killed by signal {status - 128}" if status > 128 else f"the agent ended with {status}"
        return Ending(status, f"{reason}; {denied}" if tally.denied else reason, bad=status > 128)
    if tally.timed_out == tally.denied:
        return Ending(Exit.REVIEW_TIMEOUT, f"{denied}, for nobody answered in time", bad=False)
    return Ending(Exit.DENIED, denied, bad=False)
