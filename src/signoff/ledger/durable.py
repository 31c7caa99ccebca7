"""Wait in an event loop until a record is on disk."""

from typing import TYPE_CHECKING

from signoff.domain.errors import LedgerUnwritable
from signoff.domain.late import late
from signoff.ledger.log import Ticket

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = late("asyncio")

LONGEST_SYNC_S = 30.0


async def durable(ticket: Ticket) -> None:
    """Wait for the disk without holding up anybody else."""
    loop = asyncio.get_running_loop()
    settled: asyncio.Future[None] = loop.create_future()

    def tell() -> None:
        if not settled.done():
            settled.set_result(None)

    def wake(ticket: Ticket) -> None:  # from the ledger's thread
        loop.call_soon_threadsafe(tell)

    ticket.add_done_callback(wake)
    try:
        async with asyncio.timeout(LONGEST_SYNC_S):
            await settled
    except TimeoutError as error:
        raise LedgerUnwritable(f"the ledger was not on disk after {LONGEST_SYNC_S:g} s") from error
    if ticket.error is not None:
        raise ticket.error
