"""The two ways to reach an agent: start it and talk over its pipes, or find it at an address."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Protocol

from signoff.acp.client import Connect, Hello
from signoff.acp.failures import ConnectionLost
from signoff.acp.peer import Outlet, Peer
from signoff.acp.transports.pipes import Pipes
from signoff.sandbox import child


class Carrier(Outlet, Protocol):
    """An outlet that outlives connections and carries frames until the end (`transports.socket_client`)."""

    async def run(self, peer: Peer, on_open: Hello) -> None: ...


END = "our client is done"
LAST_WORDS_S = 0.5  # for an agent to end by itself when its stdin closes


def program(argv: tuple[str, ...], *, cwd: str, environ: Mapping[str, str]) -> Connect:
    """An agent that is started for this connection, and ended with it, family and all."""

    @contextlib.asynccontextmanager
    async def connect(make_peer: Callable[[Outlet], Peer], hello: Hello) -> AsyncIterator[Peer]:
        agent = child.start(argv, environ=environ, cwd=cwd, stderr=child.Stream.INHERIT)
        try:
            told, said, _ = agent.hand_over()
            assert told is not None and said is not None
            pipes = Pipes(said, told)
            peer = make_peer(pipes)
            pipes.start(peer)
            watching = asyncio.create_task(_watch(pipes, peer, agent))
            try:
                await hello()
                yield peer
            finally:
                watching.cancel()
                peer.end(END)
                await peer.finished()
                pipes.close()
        finally:
            await asyncio.to_thread(agent.wait, LAST_WORDS_S)
            await asyncio.to_thread(agent.close)

    return connect


async def _watch(pipes: Pipes, peer: Peer, agent: child.Child) -> None:
    await pipes.ended.wait()
    status = await asyncio.to_thread(agent.wait, LAST_WORDS_S)
    peer.end("the agent closed its output" if status is None else f"the agent ended with status {status}")


def address(open_client: Callable[[], Carrier]) -> Connect:
    """An agent at an address; when the connection is lost another is opened."""

    @contextlib.asynccontextmanager
    async def connect(make_peer: Callable[[Outlet], Peer], hello: Hello) -> AsyncIterator[Peer]:
        carrier = open_client()
        peer = make_peer(carrier)
        greeted = asyncio.Event()

        async def greet() -> None:
            await hello()
            greeted.set()

        carrying = asyncio.create_task(carrier.run(peer, greet))
        waiting = asyncio.create_task(greeted.wait())
        try:
            await asyncio.wait({carrying, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if not greeted.is_set():
                carrying.result()
                raise ConnectionLost(peer.ended or "no connection to the agent")
            yield peer
        finally:
            waiting.cancel()
            peer.end(END)
            await peer.finished()
            await carrying

    return connect
