"""Ask, and wait no longer than allowed. Whatever goes wrong on the way to a yes is a no.

A reviewer is anything with `review(request)`: the terminal, an editor, a script, nobody.
"""

import contextlib
import functools
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Protocol

from signoff.approvals.request import ReviewRequest
from signoff.domain.errors import SignoffError
from signoff.domain.late import late
from signoff.domain.review import Approved, Denied, ReviewDecision, TimedOut

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = late("asyncio")

UNREACHED = "nobody could be asked"
OVERLOADED = Denied(rejection="overload: too many questions are waiting already")


class Presumed(Approved, frozen=True, tag="approved"):
    """A yes that nobody gave: nobody could be asked, and the settings let it pass then."""


class Reviewer(Protocol):
    @property
    def name(self) -> str:
        """For the record: terminal, acp, unattended …"""
        ...

    @property
    def is_person(self) -> bool: ...

    async def review(self, request: ReviewRequest) -> ReviewDecision: ...


async def ask(reviewer: Reviewer, request: ReviewRequest, limit_s: float) -> ReviewDecision:
    """The reviewer's answer; `timed_out` after the limit (the loop's clock is monotonic), `denied` if the reviewer drops
    the question or fails."""
    try:
        async with asyncio.timeout(limit_s):
            return await reviewer.review(request)
    except TimeoutError:
        return TimedOut()
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise  # it is we who are stopped, not the question
        return Denied()
    except (SignoffError, OSError) as error:
        return Denied(rejection=f"{UNREACHED}: {error}")


def unreached(decision: ReviewDecision) -> bool:
    """The reviewer failed: whatever the answer is, it is nobody's."""
    if isinstance(decision, Presumed):
        return True
    return isinstance(decision, Denied) and (decision.rejection or "").startswith(UNREACHED)


class Line:
    """First come, first asked: one question at a time on one screen. `behind` is how many wait for the current one."""

    def __init__(self, most: int = 1_000, changed: Callable[[], None] = lambda: None) -> None:
        self._most = most
        self._changed = changed
        self.behind = 0

    @functools.cached_property
    def _lock(self) -> "asyncio.Lock":
        return asyncio.Lock()

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator[bool]:
        """Enter when it is your turn; False at once when too many wait already."""
        if self.behind >= self._most:
            yield False
            return
        self.behind += 1
        self._changed()
        try:
            await self._lock.acquire()
        finally:
            self.behind -= 1
        try:
            yield True
        finally:
            self._lock.release()
