"""The way to a tool server over HTTP. The protocol library does the talking; what it reads has a size, and is not packed:
a few bytes that unpack into many would be held in memory whole."""

import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from signoff.domain.errors import UpstreamError
from signoff.domain.late import late
from signoff.domain.tool_server import RemoteServer

if TYPE_CHECKING:
    import httpx2
    from mcp.client import streamable_http
else:
    httpx2, streamable_http = late("httpx2"), late("mcp.client.streamable_http")

LARGEST_ANSWER = 16 << 20  # of a stream of events each event has a limit of the library's


@contextlib.asynccontextmanager
async def over_http(server: RemoteServer, seconds: float) -> AsyncIterator[tuple[Any, Any]]:
    headers = {**server.headers, "accept-encoding": "identity"}
    timeout = httpx2.Timeout(30.0, read=seconds)
    async with (
        httpx2.AsyncClient(headers=headers, timeout=timeout, event_hooks={"response": [_bound]}) as client,
        streamable_http.streamable_http_client(server.url, http_client=client) as streams,
    ):
        yield streams


async def _bound(response: "httpx2.Response") -> None:
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise UpstreamError("its answer is compressed, which nobody asked for")
    if not response.headers.get("content-type", "").startswith("text/event-stream"):
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _bounded(response.stream)


def _bounded(stream: "httpx2.AsyncByteStream") -> "httpx2.AsyncByteStream":
    class Bounded(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            left = LARGEST_ANSWER
            async for data in stream:
                left -= len(data)
                if left < 0:
                    raise UpstreamError(f"its answer is larger than {LARGEST_ANSWER >> 20} MiB")
                yield data

        async def aclose(self) -> None:
            await stream.aclose()

    return Bounded()
