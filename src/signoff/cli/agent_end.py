"""How a run of our own agent ends: its exit status, and what a person is told. Pure."""

from typing import assert_never

from signoff.agent.event import Denial, Reason, TurnEnd
from signoff.domain.errors import Exit, ReviewTimeout, exit_of
from signoff.domain.settings import DenyExit


def status_of(end: TurnEnd, deny_exit: DenyExit = DenyExit.DENIED) -> Exit:
    """A success in which something was denied is not a success without a word."""
    match end.reason:
        case Reason.END:
            return _denied(end.denials) if end.denials and deny_exit is DenyExit.DENIED else Exit.OK
        case Reason.CANCELLED:
            return Exit.INTERRUPTED
        case Reason.ABORTED:
            return Exit.DENIED
        case Reason.BUDGET:
            return Exit.BUDGET
        case Reason.LOOP:
            return Exit.LOOP
        case Reason.LENGTH | Reason.REFUSED:
            return Exit.UPSTREAM
        case Reason.ERROR:
            return exit_of(end.error.code) if end.error is not None else Exit.INTERNAL
        case _:
            assert_never(end.reason)


def _denied(denials: tuple[Denial, ...]) -> Exit:
    late = all(denial.code == ReviewTimeout.code for denial in denials)
    return Exit.REVIEW_TIMEOUT if late else Exit.DENIED


def words(end: TurnEnd) -> list[str]:
    """What has to be said besides the answer, a sentence a line."""
    said = [f"denied: {one.title} ({one.rule_id or one.code}): {one.reason}" for one in end.denials]
    match end.reason:
        case Reason.END:
            pass
        case Reason.CANCELLED:
            said.append("stopped; what had begun is recorded")
        case Reason.LENGTH:
            said.append("the answer was cut: the model reached the length of its answers")
        case Reason.REFUSED:
            said.append("the model refused to answer")
        case _:
            said.append(end.error.message if end.error is not None else f"ended: {end.reason}")
    return said
