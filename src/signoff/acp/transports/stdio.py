"""Serve one client over our own standard streams. Nothing but the protocol ever reaches its end of stdout.

The real streams are moved out of the way first: whatever a library prints goes to stderr, and no child can read what the
client sends. When the client closes our stdin we are done.
"""

import asyncio
import contextlib
import os
from collections.abc import Callable

from signoff.acp.peer import Outlet, Peer
from signoff.acp.transports.pipes import PipeLimits, Pipes

LINGER = 0.2  # seconds that requests still running get when the client has hung up, before they are cancelled
FLUSH = 5.0  # seconds it gets to read what was said: half a frame is worth nothing, and a busy machine may need some


def take_streams() -> tuple[int, int]:
    """Descriptors of the real stdin and stdout. From now on fd 0 is empty and fd 1 is stderr."""
    real_in, real_out = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # started without stderr
        os.dup2(nothing, 1)
    os.close(nothing)
    return real_in, real_out


async def serve(
    make_peer: Callable[[Outlet], Peer], streams: tuple[int, int], limits: PipeLimits | None = None
) -> None:
    """Until the client hangs up; then every handler has ended."""
    pipes = Pipes(*streams, limits)
    peer = make_peer(pipes)
    pipes.start(peer)
    try:
        await pipes.ended.wait()
        peer.fail_pending("the client hung up")
        if peer.running:
            await asyncio.wait(peer.running.values(), timeout=LINGER)
        with contextlib.suppress(TimeoutError):  # a client that reads no more keeps nobody here
            async with asyncio.timeout(FLUSH):
                await pipes.flushed()
    finally:
        peer.end("the client hung up")
        await peer.finished()
        pipes.close()
