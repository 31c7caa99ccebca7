"""What a server sends that was never asked for is not taken in."""

import asyncio
import gzip

import pytest

from signoff.providers.carrier import Lost
from signoff.providers.over_httpx import OverHttpx

BOMB = gzip.compress(b"data: " + b"\0" * 1_000_000)


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    head = (
        f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip\r\ncontent-length: {len(BOMB)}"
    )
    writer.write(head.encode() + b"\r\n\r\n" + BOMB)
    await writer.drain()
    writer.close()


async def asked() -> None:
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    carrier = OverHttpx({}, 10)
    try:
        async with carrier.send("POST", f"http://127.0.0.1:{port}/v1") as response:
            async for _ in response.events():
                pass
    finally:
        await carrier.aclose()
        server.close()


def test_a_compressed_answer_is_refused_before_it_is_unpacked() -> None:
    with pytest.raises(Lost, match="compressed"):
        asyncio.run(asyncio.wait_for(asked(), 20))
