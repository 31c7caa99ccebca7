"""One GET, to one address that was checked. The name is resolved once, every address it has is looked at, and the connection
goes to the one that was looked at: a name that changes its mind between the look and the connection gains nothing.

No proxy, no cookies, no credentials, nothing kept.
"""

import contextlib
import http.client
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable

import msgspec

from signoff import __version__
from signoff.domain.errors import Refused, ToolTimeout, UpstreamError
from signoff.tools.web_address import Target

LARGEST_BODY = 2 << 20
_PIECE = 65_536

Resolve = Callable[[str, int], list[str]]
Allowed = Callable[[str], bool]


class Response(msgspec.Struct, frozen=True):
    status: int
    content_type: str
    location: str | None
    body: bytes
    truncated: bool


class Deadline:
    """The end of all waiting. The connection is cut there, in whatever state: a server that sends one byte a second would
    otherwise never be late."""

    def __init__(self, seconds: float) -> None:
        self._end, self._seconds = time.monotonic() + seconds, seconds
        self._connection: socket.socket | None = None
        self._over = threading.Event()
        self._timer = threading.Timer(seconds, self.stop)
        self._timer.daemon = True
        self._timer.start()

    def left(self) -> float:
        left = self._end - time.monotonic()
        if left <= 0 or self._over.is_set():
            raise self.late()
        return left

    def late(self) -> ToolTimeout:
        return ToolTimeout(f"the answer took longer than {self._seconds:g} s")

    @property
    def over(self) -> bool:
        return self._over.is_set()

    def watch(self, connection: socket.socket) -> None:
        self._connection = connection
        self.left()

    def stop(self) -> None:
        self._over.set()
        self._timer.cancel()
        if self._connection is not None:
            with contextlib.suppress(OSError):
                self._connection.shutdown(socket.SHUT_RDWR)


def resolved(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(one[4][0]) for one in found))


def checked(target: Target, resolve: Resolve, allowed: Allowed) -> str:
    """The address to connect to. One address that is not allowed is enough to refuse the name."""
    try:
        addresses = resolve(target.host, target.port)
    except OSError as error:
        raise UpstreamError(f"{target.host} is not known: {error.strerror or error}") from error
    if not addresses:
        raise UpstreamError(f"{target.host} has no address")
    for address in addresses:
        if not allowed(address):
            raise Refused(f"{target.host} is {address}, which is not an address on the open internet")
    return addresses[0]


def get(target: Target, address: str, deadline: Deadline, wanted: Callable[[str], bool]) -> Response:
    """Fetch; the body only of an answer whose content type is `wanted`, and never more than the limit."""
    connection = http.client.HTTPConnection(target.host, target.port)
    try:
        connection.sock = _connected(target, address, deadline)
        deadline.watch(connection.sock)
        connection.request("GET", target.path, headers=_headers(target))
        answer = connection.getresponse()
        deadline.left()  # headers that were cut off look complete
        kind, location = answer.headers.get("Content-Type", ""), answer.headers.get("Location")
        body, truncated = b"", False
        if wanted(kind) and not (300 <= answer.status < 400 and location):
            body, truncated = _body(answer, deadline)
        return Response(answer.status, kind, location, body, truncated)
    except TimeoutError as error:
        raise ToolTimeout(f"{target.host} took too long to answer") from error
    except (OSError, http.client.HTTPException, zlib.error) as error:
        if deadline.over:
            raise deadline.late() from error
        raise UpstreamError(f"{target.host}: {error or type(error).__name__}") from error
    finally:
        connection.close()


def _headers(target: Target) -> dict[str, str]:
    name = target.url.partition("://")[2].partition("/")[0]
    return {
        "Host": name,
        "User-Agent": f"signoff/{__version__}",
        "Accept": "text/html, text/*, application/json, application/xml;q=0.9, image/*;q=0.5, */*;q=0.1",
        "Accept-Encoding": "gzip",
        "Connection": "close",
    }


def _connected(target: Target, address: str, deadline: Deadline) -> socket.socket:
    plain = socket.create_connection((address, target.port), timeout=deadline.left())
    deadline.watch(plain)
    if target.scheme == "http":
        return plain
    try:
        plain.settimeout(deadline.left())
        return ssl.create_default_context().wrap_socket(plain, server_hostname=target.host)
    except BaseException:
        with contextlib.suppress(OSError):
            plain.close()
        raise


def _body(answer: http.client.HTTPResponse, deadline: Deadline) -> tuple[bytes, bool]:
    """As much as is kept, unpacked within the same limit."""
    packed = answer.headers.get("Content-Encoding", "").strip().lower() in ("gzip", "x-gzip")
    unpack = zlib.decompressobj(16 + zlib.MAX_WBITS) if packed else None
    body = bytearray()
    while len(body) <= LARGEST_BODY:
        piece = answer.read1(_PIECE)
        if not piece:
            deadline.left()  # the end of the answer, or our own
            break
        body += unpack.decompress(piece, LARGEST_BODY + 1 - len(body)) if unpack else piece
    return bytes(body[:LARGEST_BODY]), len(body) > LARGEST_BODY
