"""One client: its connection, what it said it can do, and the ways to ask something of it.

Nothing is ever asked that the client did not offer.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from signoff.acp.failures import ConnectionLost
from signoff.acp.peer import Peer, nowhere
from signoff.domain.errors import PeerError
from signoff.wire import acp_schema as schema
from signoff.wire.acp import encode

Answer = TypeVar("Answer")


class Link:
    def __init__(self) -> None:
        self.peer: Peer | None = None  # set when the connection's peer is made
        self.post: Callable[[bytes], object] = nowhere  # a frame that is made already; the peer's
        self.capabilities: schema.ClientCapabilities | None = None  # set by `initialize`
        self.signed_out = False
        self.sessions: set[str] = set()  # those it owns

    @property
    def alive(self) -> bool:
        return self.peer is not None and self.peer.ended is None

    @property
    def forms(self) -> bool:
        """Can it put a question with a form to the person?"""
        offered = self.capabilities.elicitation if self.capabilities else None
        return bool(offered) and isinstance(offered, schema.ElicitationCapabilities) and _is(offered.form)

    def breathe(self) -> Awaitable[None] | None:
        """What to wait for while the client does not read what it was sent."""
        return self.peer.outlet.drain() if self.peer is not None and self.peer.outlet.congested else None

    async def request(
        self, method: str, params: object, answer: type[Answer], *, within: float | None = None
    ) -> Answer:
        if self.peer is None:
            raise ConnectionLost("nobody is connected")
        found = await self.peer.request(method, params, within=within)
        if not isinstance(found, answer):
            raise PeerError(f"the answer to {method} is not of its kind")
        return found


def heading(session_id: str) -> bytes:
    """How every update of this session begins; what is told follows, and the two braces."""
    return b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%b,"update":' % encode(session_id)


def _is(value: object) -> bool:
    return isinstance(value, msgspec.Struct)
