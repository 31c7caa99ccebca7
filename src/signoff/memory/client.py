"""A memory somewhere else, over HTTP: the same interface, every wait bounded.

What may be over soon (a timeout, a refused connection, too many requests, a server in trouble) is tried again, waiting
longer each time. After several failures in a row nothing is tried for a while: a run must not wait for a dead service.
"""

import contextlib
import http.client
import json
import random
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import msgspec

from signoff.domain.errors import (
    ConfigError,
    MemoryBadRequest,
    MemoryFailed,
    MemoryRateLimited,
    MemoryTimeout,
    MemoryUnauthorized,
    MemoryUnavailable,
    MemoryUndecodable,
)
from signoff.memory.interface import Candidate, Match, Query, Reference, Reply, Validation

LARGEST_ANSWER = 4 * 1024 * 1024
PREVIEW = 512  # characters of an answer that are shown to a person
CONNECT_SECONDS = 3.0
RETRYABLE = (MemoryTimeout, MemoryUnavailable, MemoryRateLimited)


class Breaker:
    """Open after `threshold` failures in a row, for `cooldown` seconds."""

    def __init__(self, clock: Callable[[], float], threshold: int = 5, cooldown: float = 30.0) -> None:
        self._clock = clock
        self._threshold = threshold
        self._cooldown = cooldown
        self._failures = 0
        self._until = 0.0

    def check(self) -> None:
        if self._failures >= self._threshold and self._clock() < self._until:
            raise MemoryUnavailable("the memory service failed too often; it is left alone for a while")

    def note(self, *, failed: bool) -> None:
        self._failures = self._failures + 1 if failed else 0
        self._until = self._clock() + self._cooldown


class Client:
    """`retries` more attempts after the first, the first after `backoff` seconds."""

    def __init__(
        self,
        url: str,
        *,
        token: str = "",
        timeout: float = 10.0,
        retries: int = 1,
        backoff: float = 0.2,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], object] = time.sleep,
    ) -> None:
        parts = urlsplit(url.rstrip("/"))
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f"memory.url is {url!r}, which is no http address")
        self._secure = parts.scheme == "https"
        self._host, self._port, self._path = parts.hostname, parts.port, parts.path
        self._token = token
        self._timeout = timeout
        self._retries = retries
        self._backoff = backoff
        self._clock, self._wait = clock, wait
        self._breaker = Breaker(clock)

    def search(self, query: Query) -> Reply[tuple[Match, ...]]:
        status, body = self._post("/v1/qa/search", query)
        if not isinstance(body, list):
            raise MemoryUndecodable(f"the memory service did not answer with a list: {_preview(body)}")
        matches = [match for entry in body if (match := _match(entry)) is not None]
        if body and not matches:
            raise MemoryUndecodable("the memory service answered with nothing that could be read")
        return Reply(status, tuple(matches))

    def hit(self, project_id: str, references: tuple[Reference, ...]) -> Reply[None]:
        return Reply(self._post("/v1/qa/hit", {"project_id": project_id, "references": references})[0], None)

    def candidate(self, candidate: Candidate) -> Reply[str]:
        status, body = self._post("/v1/qa/candidates", candidate)
        told = body if isinstance(body, dict) else {}
        return Reply(status, str(told.get("qa_id") or told.get("task_id") or ""))

    def validate(self, validation: Validation) -> Reply[None]:
        return Reply(self._post("/v1/qa/validate", validation)[0], None)

    def close(self) -> None:
        """Nothing is kept open between two requests."""

    def _post(self, path: str, payload: object) -> tuple[int, Any]:
        body = msgspec.json.encode(payload)
        deadline = self._clock() + self._timeout
        for attempt in range(self._retries + 1):
            self._breaker.check()
            try:
                answer = self._once(path, body, deadline - self._clock())
            except RETRYABLE:
                self._breaker.note(failed=True)
                pause = self._backoff * 2**attempt * random.uniform(0.8, 1.2)  # noqa: S311
                if attempt == self._retries or self._clock() + pause >= deadline:
                    raise
                self._wait(pause)
            else:
                self._breaker.note(failed=False)
                return answer
        raise AssertionError("every attempt returns or raises")

    def _once(self, path: str, body: bytes, left: float) -> tuple[int, Any]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        connection = self._connection(min(CONNECT_SECONDS, max(left, 0.001)))
        end = self._clock() + left
        try:
            connection.connect()
            left = max(end - self._clock(), 0.001)
            connection.sock.settimeout(left)
            with _cut_after(left, connection.sock):
                connection.request("POST", self._path + path, body, headers)
                with connection.getresponse() as response:
                    status, data = response.status, _read(response)
            return status, _decoded(status, data)
        except TimeoutError as error:
            raise MemoryTimeout(f"the memory service did not answer within {self._timeout:g} s") from error
        except (OSError, http.client.HTTPException) as error:
            raise MemoryUnavailable(f"the memory service cannot be reached: {error or type(error).__name__}") from error
        finally:
            connection.close()

    def _connection(self, timeout: float) -> http.client.HTTPConnection:
        if self._secure:
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(self._host, self._port, timeout=timeout, context=context)
        return http.client.HTTPConnection(self._host, self._port, timeout=timeout)


@contextlib.contextmanager
def _cut_after(seconds: float, sock: socket.socket) -> Iterator[None]:
    """Ends the connection then: what trickles in has a limit for each read, and none for all of them."""
    late = threading.Event()

    def cut() -> None:
        late.set()
        with contextlib.suppress(OSError):
            socket.socket.shutdown(sock, socket.SHUT_RDWR)  # not that of TLS, which is in use

    timer = threading.Timer(seconds, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    except (OSError, http.client.HTTPException):
        if not late.is_set():
            raise
    finally:
        timer.cancel()
    if late.is_set():
        raise TimeoutError


def _read(response: http.client.HTTPResponse) -> bytes:
    """All of the answer, unless it is too large."""
    data = bytearray()
    while chunk := response.read1(65_536):
        data += chunk
        if len(data) > LARGEST_ANSWER:
            raise MemoryUndecodable(f"the memory service answered with more than {LARGEST_ANSWER} bytes")
    return bytes(data)


def _decoded(status: int, data: bytes) -> Any:
    if status in (401, 403):
        raise MemoryUnauthorized(
            f"the memory service refused us ({status})", hint="Set memory.token or memory.token_file."
        )
    if status == 429:
        raise MemoryRateLimited("the memory service is asked too often")
    if status >= 500:
        raise MemoryUnavailable(f"the memory service is in trouble ({status}): {_preview(data)}")
    if status == 404:
        raise MemoryBadRequest(f"the memory service does not know that ({_preview(data)})")
    if not 200 <= status < 300:
        raise MemoryBadRequest(f"the memory service refused the request ({status}): {_preview(data)}")
    if not data.strip():
        return None
    try:
        body = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise MemoryUndecodable(f"the memory service did not answer in JSON: {_preview(data)}") from error
    if isinstance(body, dict) and body.get("error"):
        raise MemoryFailed(f"the memory service reports: {_preview(body['error'])}")
    return body


def _match(entry: Any) -> Match | None:
    if isinstance(entry, dict) and "meta" in entry:
        entry = {**entry, "metadata": entry.get("metadata", entry["meta"])}
    if isinstance(entry, dict):
        entry = {name: value for name, value in entry.items() if value is not None}
    try:
        return msgspec.convert(entry, Match)
    except msgspec.ValidationError:
        return None


def _preview(value: Any) -> str:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return " ".join(text.split())[:PREVIEW]
