"""How bytes get to a vendor and back, seen from those who do not care how: two ways of going, one set of mishaps."""

import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol

from signoff.domain.errors import ModelBadResponse, ModelTimeout
from signoff.providers.dialect import Trouble

CONNECT_S = 10.0
STREAM = "text/event-stream"
LONGEST_LINE = 16 * 1024 * 1024
LARGEST_ANSWER = 128 * 1024 * 1024
LONGEST_ANSWER = 12  # times the silence that is borne


class Unreachable(Exception):
    """No connection could be made."""


class Silent(Exception):
    """Nothing was heard for too long."""


class Lost(Exception):
    """The connection broke, or what came was no HTTP."""


class BadAddress(Exception):
    """Nothing can be sent to such an address."""


class Event(NamedTuple):
    name: str
    data: str


class Response(Protocol):
    status: int
    headers: Mapping[str, str]  # names in lower case

    def events(self) -> AsyncGenerator[Event, None]: ...

    async def beginning(self, limit: int) -> bytes:
        """As much of the body as anybody reads; what comes after it is left."""
        ...


class Carrier(Protocol):
    def send(self, method: str, url: str, body: bytes = b"") -> AbstractAsyncContextManager[Response]: ...

    async def aclose(self) -> None: ...


class Bounds:
    """Neither a line nor an answer may grow for ever, nor last for ever though it says nothing."""

    def __init__(self, silence_s: float, now: Callable[[], float] = time.monotonic) -> None:
        self._longest_s = LONGEST_ANSWER * silence_s
        self._now = now
        self._began = now()
        self._total = 0
        self._line = 0

    def note(self, data: bytes) -> None:
        self._total += len(data)
        end = max(data.rfind(b"\n"), data.rfind(b"\r"))
        self._line = self._line + len(data) if end < 0 else len(data) - end - 1
        if self._line > LONGEST_LINE or self._total > LARGEST_ANSWER:
            raise Trouble(ModelBadResponse("the answer is larger than any answer can be"))
        if self._now() - self._began > self._longest_s:
            raise Trouble(ModelTimeout(f"the answer had no end after {self._longest_s:g} s"))
