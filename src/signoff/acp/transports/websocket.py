"""Serve many clients over WebSocket, each connection with a peer of its own, all over one store of sessions.

The profile is the protocol's draft for remote agents: `/acp`, `Acp-Connection-Id` on the upgrade, `initialize` first,
text frames only. Ids are per connection by definition, so no answer can reach the wrong client.
"""

import asyncio
import contextlib
import logging
import ssl
import uuid
from collections.abc import AsyncIterator, Callable

import msgspec
from websockets.asyncio.server import ServerConnection
from websockets.asyncio.server import serve as serve_websocket
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from signoff.acp.peer import Outlet, Peer
from signoff.acp.transports.admission import Admission, check_exposure, judge
from signoff.acp.transports.socket_outlet import SocketLimits, SocketOutlet
from signoff.domain.errors import ConfigUnreadable, UsageError
from signoff.domain.unreadable import UNREADABLE
from signoff.wire import jsonrpc

CONNECTION_ID = "Acp-Connection-Id"
CLOSING = 10.0  # seconds for the other side to say goodbye
FIRST = "First message must be initialize"


class Listen(msgspec.Struct, frozen=True):
    host: str = "127.0.0.1"
    port: int = 8900
    admission: Admission = Admission()
    certificate: str | None = None  # with both, TLS
    key: str | None = None
    limits: SocketLimits = SocketLimits()
    connections: int = 1_024
    ping: float = 15.0  # seconds between pings, and how long an answer may take
    initialize: float = 60.0  # seconds a new connection has to say initialize


class _Named(msgspec.Struct):
    method: str = ""


_named = msgspec.json.Decoder(_Named)


class SocketServer:
    def __init__(self, make_peer: Callable[[Outlet], Peer], options: Listen) -> None:
        self._make_peer = make_peer
        self._options = options
        self._admission = msgspec.structs.replace(options.admission, host=options.host)
        self.connections: dict[str, tuple[ServerConnection, SocketOutlet, Peer]] = {}

    def admit(self, socket: ServerConnection, request: Request) -> Response | None:
        names = {name.lower() for name, _ in request.headers.raw_items()}
        headers = {name: request.headers.get_all(name) for name in names}
        refusal = judge(self._admission, request.path, headers)
        if refusal is not None:
            response = socket.respond(refusal.status, refusal.message + "\n")
            if refusal.status == 401:
                response.headers["WWW-Authenticate"] = "Bearer"
            return response
        if len(self.connections) >= self._options.connections:
            return socket.respond(503, "too many connections\n")
        return None

    def welcome(self, socket: ServerConnection, request: Request, response: Response) -> None:
        if response.status_code == 101:
            response.headers[CONNECTION_ID] = str(uuid.uuid4())

    async def serve(self, socket: ServerConnection) -> None:
        assert socket.response is not None
        connection_id = socket.response.headers[CONNECTION_ID]
        outlet = SocketOutlet(socket, self._options.limits)
        peer = self._make_peer(outlet)
        self.connections[connection_id] = (socket, outlet, peer)
        try:
            if await self._begin(socket, outlet, peer):
                await _read(socket, outlet, peer)
        except ConnectionClosed:
            pass
        finally:
            del self.connections[connection_id]
            peer.end("the client hung up")
            await peer.finished()

    async def _begin(self, socket: ServerConnection, outlet: SocketOutlet, peer: Peer) -> bool:
        """Until initialize has come. What cannot be read is answered; any other message ends the connection."""
        try:
            async with asyncio.timeout(self._options.initialize):
                while True:
                    message = await socket.recv()
                    if isinstance(message, bytes):
                        continue
                    frame = jsonrpc.read(message)
                    peer_may_have_it = isinstance(frame, jsonrpc.Malformed) or (
                        isinstance(frame, jsonrpc.Request) and frame.method == "initialize"
                    )
                    if not peer_may_have_it:
                        await socket.close(1002, FIRST)
                        return False
                    await _take(message, outlet, peer)
                    if isinstance(frame, jsonrpc.Request):
                        return True
        except TimeoutError:
            await socket.close(1002, FIRST)
            return False

    async def watch(self) -> None:
        """Give up connections that take nothing any more."""
        stall = self._options.limits.stall
        pause = min(stall, self._options.ping or stall) / 2
        while True:
            await asyncio.sleep(pause)
            now = asyncio.get_running_loop().time()
            for socket, outlet, peer in list(self.connections.values()):
                if outlet.closing is not None or outlet.stalled(now):
                    peer.end(outlet.closing or "the client takes nothing")
                    socket.transport.abort()


async def _read(socket: ServerConnection, outlet: SocketOutlet, peer: Peer) -> None:
    async for message in socket:
        if isinstance(message, bytes):
            continue
        if '"initialize"' in message and _method(message) == "initialize":
            frame = jsonrpc.read(message)
            if isinstance(frame, jsonrpc.Request):
                outlet.write(jsonrpc.error(frame.id, jsonrpc.INVALID_REQUEST, "this connection is initialized already"))
                continue
        await _take(message, outlet, peer)


async def _take(message: str, outlet: SocketOutlet, peer: Peer) -> None:
    """What the peer answers on the spot goes out from here, without a task."""
    held = outlet.hold()
    try:
        peer.receive(message)
    finally:
        if held:
            await outlet.flush()


def _method(message: str) -> str:
    try:
        return _named.decode(message).method
    except UNREADABLE:
        return ""


def _tls(options: Listen) -> ssl.SSLContext | None:
    if options.certificate is None and options.key is None:
        return None
    if options.certificate is None or options.key is None:
        raise UsageError("TLS needs a certificate and its key", hint="give both --tls-cert and --tls-key")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(options.certificate, options.key)
    except (OSError, ssl.SSLError) as error:
        raise ConfigUnreadable(f"the certificate cannot be used: {error}") from error
    return context


@contextlib.asynccontextmanager
async def listen(make_peer: Callable[[Outlet], Peer], options: Listen) -> AsyncIterator[tuple[SocketServer, int]]:
    """Serves while the block runs; gives the server and the port it has."""
    check_exposure(msgspec.structs.replace(options.admission, host=options.host))
    server = SocketServer(make_peer, options)
    watch = asyncio.create_task(server.watch())
    try:
        async with serve_websocket(
            server.serve,
            options.host,
            options.port,
            process_request=server.admit,
            process_response=server.welcome,
            compression=None,
            server_header=None,
            backlog=options.connections,  # all may come at once
            max_size=options.limits.frame,
            ping_interval=options.ping or None,
            ping_timeout=options.ping or None,
            close_timeout=min(options.ping or CLOSING, CLOSING),
            logger=_quiet(),
            ssl=_tls(options),
        ) as bound:
            port = bound.sockets[0].getsockname()[1] if bound.sockets else options.port
            yield server, port
    finally:
        watch.cancel()


def _quiet() -> logging.Logger:
    """A port scan is no news."""
    logger = logging.getLogger("signoff.acp.websocket")
    logger.propagate = False
    logger.addHandler(logging.NullHandler())
    return logger
