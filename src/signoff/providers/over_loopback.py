"""The way to a model on this machine: plain HTTP over one connection, without the seventh of a second that loading the
way into the world costs. Only for addresses that are loopback; there is no TLS, no proxy and no redirect to think of."""

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import h11

from signoff.providers.carrier import CONNECT_S, STREAM, Bounds, Event, Lost, Silent, Unreachable

PIECE = 64 * 1024
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Line:
    """One connection, for one exchange at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, silence_s: float) -> None:
        self._reader = reader
        self._writer = writer
        self.silence_s = silence_s
        self._state = h11.Connection(h11.CLIENT, max_incomplete_event_size=PIECE)

    async def write(self, *events: h11.Event) -> None:
        self._writer.write(b"".join(self._state.send(event) or b"" for event in events))
        async with asyncio.timeout(self.silence_s):
            await self._writer.drain()

    async def next(self) -> h11.Event:
        """The next thing heard. Raises Silent or Lost."""
        try:
            while (event := self._state.next_event()) is h11.NEED_DATA:
                async with asyncio.timeout(self.silence_s):
                    self._state.receive_data(await self._reader.read(PIECE))
        except TimeoutError:
            raise Silent from None
        except (OSError, h11.RemoteProtocolError) as error:
            raise Lost(str(error) or type(error).__name__) from None
        if not isinstance(event, h11.Event):
            raise Lost("the server hung up")
        return event

    def reusable(self) -> bool:
        """Ready for another exchange, as far as one can know."""
        if self._state.our_state is not h11.DONE or self._state.their_state is not h11.DONE or self._reader.at_eof():
            return False
        self._state.start_next_cycle()
        return True

    def close(self) -> None:
        self._writer.transport.abort()


class OverLoopback:
    def __init__(self, headers: Mapping[str, str], silence_s: float) -> None:
        self._headers = {"accept": STREAM, **headers}
        self._silence_s = silence_s
        self._idle: Line | None = None

    @asynccontextmanager
    async def send(self, method: str, url: str, body: bytes = b"") -> AsyncIterator["LoopbackResponse"]:
        parts = urlsplit(url)
        fields = {**self._headers, "host": parts.netloc.rpartition("@")[2], "content-length": str(len(body))}
        target = f"{parts.path}?{parts.query}" if parts.query else parts.path
        request = h11.Request(method=method, target=target, headers=list(fields.items()))
        line, head = await self._begun(parts.hostname or "", parts.port or 80, request, body)
        try:
            yield LoopbackResponse(line, head)
        except BaseException:
            line.close()
            raise
        if self._idle is None and line.reusable():
            self._idle = line
        else:
            line.close()

    async def aclose(self) -> None:
        if self._idle is not None:
            self._idle.close()
            self._idle = None

    async def _begun(self, host: str, port: int, request: h11.Request, body: bytes) -> tuple[Line, h11.Response]:
        """The request sent and the answer begun. An idle connection may have died unnoticed: then a new one is made."""
        kept, self._idle = self._idle, None
        if kept is not None:
            try:
                return kept, await self._asked(kept, request, body)
            except Lost:
                pass
        try:
            async with asyncio.timeout(CONNECT_S):
                line = Line(*await asyncio.open_connection(host, port), self._silence_s)
        except (OSError, TimeoutError) as error:
            number = error.errno if isinstance(error, OSError) else None
            raise Unreachable(os.strerror(number).lower() if number else "no answer") from None
        return line, await self._asked(line, request, body)

    async def _asked(self, line: Line, request: h11.Request, body: bytes) -> h11.Response:
        try:
            await line.write(request, h11.Data(data=body), h11.EndOfMessage())
            async with asyncio.timeout(line.silence_s):
                while not isinstance(event := await line.next(), h11.Response):  # what comes before it is only a notice
                    pass
        except TimeoutError:
            line.close()
            raise Silent from None
        except OSError as error:
            line.close()
            raise Lost(str(error)) from None
        except BaseException:
            line.close()
            raise
        return event


class LoopbackResponse:
    def __init__(self, line: Line, head: h11.Response) -> None:
        self.status = head.status_code
        self.headers: Mapping[str, str] = {name.decode(): value.decode("latin-1") for name, value in head.headers}
        self._line = line

    async def events(self) -> AsyncGenerator[Event, None]:
        lines = Lines()
        bounds = Bounds(self._line.silence_s)
        async for data in self._data():
            bounds.note(data)
            for event in lines.feed(data):
                yield event

    async def beginning(self, limit: int) -> bytes:
        data = b""
        async for piece in self._data():
            data += piece
            if len(data) >= limit:
                break
        return data[:limit]

    async def _data(self) -> AsyncIterator[bytes]:
        while not isinstance(event := await self._line.next(), h11.EndOfMessage):
            if isinstance(event, h11.Data):
                yield bytes(event.data)


class Lines:
    """Server-sent events out of bytes, however they are cut. Text is decoded line by line."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []  # of the line that has not ended
        self._fresh = True
        self._returned = False  # the last byte was a carriage return: a line feed right after it ends nothing more
        self._name = ""
        self._data: list[str] = []

    def feed(self, data: bytes) -> list[Event]:
        if self._fresh:
            data, self._fresh = data.removeprefix(BYTE_ORDER_MARK), False
        if self._returned and data.startswith(b"\n"):
            data = data[1:]
        self._returned = data.endswith(b"\r")
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *ended, rest = data.split(b"\n")
        found = []
        for line in ended:
            whole, self._pieces = b"".join((*self._pieces, line)), []
            event = self._line(whole.decode("utf-8", "replace"))
            if event is not None:
                found.append(event)
        if rest:
            self._pieces.append(rest)
        return found

    def _line(self, line: str) -> Event | None:
        if not line:
            event = Event(self._name or "message", "\n".join(self._data)) if self._data else None
            self._name, self._data = "", []
            return event
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._name = value
        return None
