"""Server-sent events with a bound: neither a line nor an answer may grow for ever."""

from collections.abc import AsyncIterator

from signoff.domain.errors import ModelBadResponse
from signoff.providers.dialect import Trouble
from signoff.providers.light_httpx import httpx

from httpx_sse import EventSource, ServerSentEvent  # isort: skip  # after our import of httpx, which is the cheaper one

__all__ = ["STREAM", "ServerSentEvent", "bounded"]

STREAM = "text/event-stream"
LONGEST_LINE = 16 * 1024 * 1024
LARGEST_ANSWER = 128 * 1024 * 1024


class Bounded(httpx.AsyncByteStream):
    """The bytes of a response, as long as they are not too many."""

    def __init__(self, stream: httpx.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        total = line = 0
        async for data in self._stream:
            total += len(data)
            end = max(data.rfind(b"\n"), data.rfind(b"\r"))
            line = line + len(data) if end < 0 else len(data) - end - 1
            if line > LONGEST_LINE or total > LARGEST_ANSWER:
                raise Trouble(ModelBadResponse("the answer is larger than any answer can be"))
            yield data

    async def aclose(self) -> None:
        await self._stream.aclose()


def bounded(response: httpx.Response) -> EventSource:
    assert isinstance(response.stream, httpx.AsyncByteStream)
    response.stream = Bounded(response.stream)
    return EventSource(response)
