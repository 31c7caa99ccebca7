"""What a server sends that was never asked for is not taken in."""

import asyncio
import contextlib
import gzip
from collections.abc import Awaitable, Callable

import pytest

from signoff.providers.carrier import Carrier, Lost, Silent, Unreachable
from signoff.providers.over_httpx import OverHttpx
from signoff.providers.over_loopback import OverLoopback

BOMB = gzip.compress(b"data: " + b"\0" * 1_000_000)


Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def compressed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    head = (
        f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip\r\ncontent-length: {len(BOMB)}"
    )
    writer.write(head.encode() + b"\r\n\r\n" + BOMB)
    await writer.drain()
    writer.close()


async def notices(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while True:
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            await writer.drain()


async def asked(carrier: Carrier, answer: Answer) -> None:
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        async with carrier.send("POST", f"http://127.0.0.1:{port}/v1") as response:
            async for _ in response.events():
                pass
    finally:
        await carrier.aclose()
        server.close()


def test_a_compressed_answer_is_refused_before_it_is_unpacked() -> None:
    with pytest.raises(Lost, match="compressed"):
        asyncio.run(asyncio.wait_for(asked(OverHttpx({}, 10), compressed), 60))


@pytest.mark.parametrize("way", [OverHttpx, OverLoopback])
def test_notices_without_end_are_no_answer(
    way: Callable[[dict[str, str], float], Carrier], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signoff.providers.over_httpx.CONNECT_S", 1.0)
    with pytest.raises((Silent, Unreachable)):  # a machine with much to do may not even connect in a second
        asyncio.run(asyncio.wait_for(asked(way({}, 0.5), notices), 60))
