"""Two peers without a transport, for tests and for a client that serves its own agent: what one writes the other receives."""

import asyncio
from collections.abc import Callable

from signoff.acp.peer import Peer


class Link:
    """The outlet of one peer that leads to another."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.room = asyncio.Event()
        self.room.set()
        self.deliver: Callable[[bytes], None] | None = None
        self._loop = asyncio.get_running_loop()

    @property
    def congested(self) -> bool:
        return not self.room.is_set()

    def write(self, frame: bytes) -> None:
        self.sent.append(frame)
        if self.deliver is not None:
            self._loop.call_soon(self.deliver, frame)

    async def drain(self) -> None:
        await self.room.wait()

    def close(self) -> None:
        self.room.set()
        self.deliver = None  # each peer would keep the other


def join(one: Peer, other: Peer) -> None:
    """From now on each receives what the other writes."""
    assert isinstance(one.outlet, Link)
    assert isinstance(other.outlet, Link)
    one.outlet.deliver = other.receive
    other.outlet.deliver = one.receive
