"""The way to vendors in the world: TLS, proxies, pooled connections, all by httpx."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager

from signoff.providers.carrier import CONNECT_S, STREAM, BadAddress, Bounds, Event, Lost, Silent, Unreachable
from signoff.providers.light_httpx import httpx

from httpx_sse import EventSource  # isort: skip  # after our import of httpx, which is the cheaper one


class OverHttpx:
    def __init__(self, headers: Mapping[str, str], silence_s: float) -> None:
        self._headers = {"accept": STREAM, "accept-encoding": "identity", **headers}
        self._silence_s = silence_s
        self._client: httpx.AsyncClient | None = None

    @asynccontextmanager
    async def send(self, method: str, url: str, body: bytes = b"") -> AsyncIterator["HttpxResponse"]:
        if self._client is None:
            # Loading certificates for a plain address takes its time and serves nobody.
            verify = url.startswith("https:")
            limits = httpx.Timeout(self._silence_s, connect=CONNECT_S)
            self._client = httpx.AsyncClient(headers=self._headers, timeout=limits, verify=verify)
        try:
            request = self._client.build_request(method, url, content=body or None)
            async with asyncio.timeout(CONNECT_S + self._silence_s):  # notices before an answer are not one
                response = await self._client.send(request, stream=True)
            async with aclosing(response):
                if response.headers.get("content-encoding", "identity").lower() != "identity":
                    raise Lost("the answer is compressed, which nobody asked for")  # little can become too much
                yield HttpxResponse(response, self._silence_s)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise Unreachable(str(error) or "no answer") from None
        except (httpx.TimeoutException, TimeoutError):
            raise Silent from None
        except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError):
            raise BadAddress from None
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise Lost(str(error) or type(error).__name__) from None

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None


class HttpxResponse:
    def __init__(self, response: httpx.Response, silence_s: float) -> None:
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers
        self._response = response
        self._silence_s = silence_s

    async def events(self) -> AsyncGenerator[Event, None]:
        assert isinstance(self._response.stream, httpx.AsyncByteStream)
        self._response.stream = _Bounded(self._response.stream, self._silence_s)
        try:
            async with aclosing(EventSource(self._response).aiter_sse()) as told:
                async for event in told:
                    yield Event(event.event, event.data)
        except httpx.TimeoutException:
            raise Silent from None
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise Lost(str(error) or type(error).__name__) from None

    async def beginning(self, limit: int) -> bytes:
        data = b""
        async for piece in self._response.aiter_bytes():
            data += piece
            if len(data) >= limit:
                break
        return data[:limit]


class _Bounded(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream, silence_s: float) -> None:
        self._stream = stream
        self._silence_s = silence_s

    async def __aiter__(self) -> AsyncIterator[bytes]:
        bounds = Bounds(self._silence_s)
        async for data in self._stream:
            bounds.note(data)
            yield data

    async def aclose(self) -> None:
        await self._stream.aclose()
