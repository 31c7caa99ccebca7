"""The only way out when the network is limited: an HTTP and CONNECT proxy that asks before each connection.

It judges nothing itself: it calls the `clear` given to it with the host and port, connects to the very address it
resolved, and reports every connection, made or refused. A name that resolves to this machine or a private network also
needs that address cleared, so that a harmless name cannot be pointed at a service behind the wall.

The listening socket may belong to another network namespace: made inside the sandbox and handed out, it lets commands
reach us at their own 127.0.0.1 while our connections start from here.
"""

import contextlib
import ipaddress
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator

import msgspec

from signoff.domain.errors import ParseError
from signoff.sandbox import relay
from signoff.sandbox.http_request import Forward, Tunnel, parse
from signoff.sandbox.relay import Refusal

Clear = Callable[[str, int], bool]


class Connection(msgspec.Struct, frozen=True):
    """One attempt. `refused` says why there was none; `address` is where it went, or would have gone."""

    host: str
    port: int
    address: str | None
    refused: str | None
    sent: int = 0
    received: int = 0
    seconds: float = 0.0


class Bounds(msgspec.Struct, frozen=True):
    connections: int = 128
    head_seconds: float = 10.0
    connect_seconds: float = 15.0
    idle_seconds: float = 300.0


class Proxy:
    """Runs from entering to leaving; leaving cuts every connection."""

    def __init__(
        self,
        clear: Clear,
        record: Callable[[Connection], None],
        *,
        listener: socket.socket | None = None,
        bounds: Bounds = Bounds(),  # noqa: B008 - frozen
    ) -> None:
        self._clear, self._record, self._bounds = clear, record, bounds
        self._listener = listener or socket.create_server(("127.0.0.1", 0))
        self._listener.setblocking(False)
        self._free = threading.BoundedSemaphore(bounds.connections)
        self._waker, self._wake = socket.socketpair()
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._stopping = False
        self._threads: set[threading.Thread] = set()
        self._acceptor = threading.Thread(target=self._accept, name="signoff-proxy", daemon=True)

    @property
    def url(self) -> str:
        host, port = self._listener.getsockname()[:2]
        return f"http://{host}:{port}"

    def __enter__(self) -> "Proxy":
        self._acceptor.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._stopping = True
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            threads = list(self._threads)
        self._wake.close()
        for thread in (self._acceptor, *threads):
            thread.join(self._bounds.connect_seconds)
        self._waker.close()
        self._listener.close()

    def _accept(self) -> None:
        watch = select.poll()
        watch.register(self._listener, select.POLLIN)
        watch.register(self._waker, select.POLLIN)
        while self._waker.fileno() not in dict(watch.poll()):
            with contextlib.suppress(BlockingIOError, ConnectionError):
                client = self._listener.accept()[0]
                if self._free.acquire(blocking=False):
                    thread = threading.Thread(target=self._serve, args=(client,), daemon=True)
                    with self._lock:
                        self._threads.add(thread)
                    thread.start()
                else:
                    relay.answer(client, "503 Service Unavailable", "too many connections at once")
                    client.close()

    def _serve(self, client: socket.socket) -> None:
        try:
            with self._kept(client):
                head, rest = relay.read_head(client, self._bounds.head_seconds)
                request = parse(head)
                self._connect(client, request, rest)
        except (ParseError, Refusal) as error:
            status = error.status if isinstance(error, Refusal) else "400 Bad Request"
            self._report(Connection("", 0, None, str(error)))
            relay.answer(client, status, str(error))
        except OSError:
            pass  # the client went away
        finally:
            client.close()
            with self._lock:
                self._threads.discard(threading.current_thread())
            self._free.release()

    def _connect(self, client: socket.socket, request: Tunnel | Forward, rest: bytes) -> None:
        began = time.monotonic()
        try:
            server, address = self._reach(request.host, request.port)
        except Refusal as refusal:
            self._report(Connection(request.host, request.port, refusal.address, refusal.reason))
            relay.answer(client, refusal.status, refusal.reason)
            return
        sent = received = 0
        try:
            with server, self._kept(server):
                if isinstance(request, Tunnel):
                    client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                    server.sendall(rest)
                    sent, received = relay.both_ways(client, server, self._bounds.idle_seconds)
                    sent += len(rest)
                else:
                    server.settimeout(self._bounds.idle_seconds)
                    client.settimeout(self._bounds.idle_seconds)
                    sent = relay.send_request(client, server, request, rest)
                    received = relay.copy(server, client)
        finally:
            seconds = time.monotonic() - began
            self._report(Connection(request.host, request.port, address, None, sent, received, seconds))

    def _reach(self, host: str, port: int) -> tuple[socket.socket, str]:
        """A connection to an address that was cleared."""
        if not self._cleared(host, port):
            raise Refusal("403 Forbidden", f"{host}:{port} is not permitted")
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise Refusal("502 Bad Gateway", f"{host} cannot be resolved: {error}") from error
        problem = "no address"
        for address in dict.fromkeys(str(entry[4][0]) for entry in found):
            if address != host and not _is_public(address) and not self._cleared(address, port):
                raise Refusal("403 Forbidden", f"{host} leads to {address}, which is not permitted by itself", address)
            try:
                return socket.create_connection((address, port), self._bounds.connect_seconds), address
            except OSError as error:
                problem = f"{address}: {error}"
        raise Refusal("502 Bad Gateway", f"{host}:{port} cannot be reached: {problem}")

    def _cleared(self, host: str, port: int) -> bool:
        try:
            return self._clear(host, port) is True
        except Exception:  # whatever goes wrong while asking is not a yes
            return False

    def _report(self, connection: Connection) -> None:
        with contextlib.suppress(Exception):  # a recorder that fails must not keep a socket open
            self._record(connection)

    @contextlib.contextmanager
    def _kept(self, connection: socket.socket) -> Iterator[None]:
        """Known to `__exit__`, so that stopping need not wait for a silent peer."""
        with self._lock:
            self._open.add(connection)
            if self._stopping:
                connection.shutdown(socket.SHUT_RDWR)
        try:
            yield
        finally:
            with self._lock:
                self._open.discard(connection)


def _is_public(address: str) -> bool:
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(parsed, ipaddress.IPv6Address):
        embedded = parsed.ipv4_mapped or parsed.sixtofour or (parsed.teredo or (None, None))[1]
        if embedded is None and parsed in ipaddress.ip_network("64:ff9b::/96"):
            embedded = ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF)
        if embedded is not None:
            parsed = embedded
    return parsed.is_global and not parsed.is_multicast
