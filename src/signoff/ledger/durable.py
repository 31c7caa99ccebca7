"""Wait in an event loop until a record is on disk."""

import collections
import weakref
from typing import TYPE_CHECKING

from signoff.domain.errors import LedgerUnwritable
from signoff.domain.late import late
from signoff.ledger.log import Afterwards, Ticket

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = late("asyncio")

LONGEST_SYNC_S = 30.0


async def durable(ticket: Ticket) -> None:
    """Wait for the disk without holding up anybody else."""
    loop = asyncio.get_running_loop()
    doorbell = _doorbells.get(loop)
    if doorbell is None:
        doorbell = _doorbells[loop] = _Doorbell(loop)
    await doorbell.waiting_for(ticket)
    if ticket.error is not None:
        raise ticket.error


class _Doorbell:
    """From the ledger's thread into a loop: many records become durable with one sync, and wake the loop once."""

    def __init__(self, loop: "asyncio.AbstractEventLoop") -> None:
        self._loop = weakref.ref(loop)
        self._waiting: dict[asyncio.Future[None], float] = {}  # until when; the first waits the longest
        self._settled: collections.deque[asyncio.Future[None]] = collections.deque()
        self._rung = False
        self._watched = False

    def waiting_for(self, ticket: Ticket) -> "asyncio.Future[None]":
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        self._waiting[waiter] = loop.time() + LONGEST_SYNC_S
        ticket.add_done_callback(lambda _: self._known(waiter))
        if not self._watched:
            self._watched = True
            loop.call_later(LONGEST_SYNC_S, self._give_up, loop)
        return waiter

    def _known(self, waiter: "asyncio.Future[None]") -> Afterwards:
        self._settled.append(waiter)
        return self._ring

    def _ring(self) -> None:
        loop = self._loop()
        if not self._rung and loop is not None:
            self._rung = True
            loop.call_soon_threadsafe(self._answer)

    def _answer(self) -> None:
        self._rung = False  # first: whoever rings from here on is heard, now or with the next ring
        while self._settled:
            waiter = self._settled.popleft()
            self._waiting.pop(waiter, None)
            if not waiter.done():
                waiter.set_result(None)

    def _give_up(self, loop: "asyncio.AbstractEventLoop") -> None:
        """On those who waited too long; one timer for all of them."""
        while self._waiting:
            waiter, until = next(iter(self._waiting.items()))
            if until > loop.time():
                loop.call_at(until, self._give_up, loop)
                return
            del self._waiting[waiter]
            if not waiter.done():
                waiter.set_exception(LedgerUnwritable(f"the ledger was not on disk after {LONGEST_SYNC_S:g} s"))
        self._watched = False


_doorbells: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Doorbell]" = weakref.WeakKeyDictionary()
