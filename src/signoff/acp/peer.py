"""One side of one connection: requests and notifications both ways, over anything that carries frames.

    peer = Peer(outlet, "agent", {"session/new": new_session, "session/cancel": cancel})
    peer.receive(frame)                                     # the transport calls it, once per frame, in order
    answer = await peer.request("fs/read_text_file", ReadTextFileRequest(...), within=30)
    await peer.notify("session/update", SessionNotification(...))
    peer.end("the client hung up"); await peer.finished()

A handler gets the call and its typed parameters. It answers by returning (a coroutine runs as a task of its own, so any
number of requests run at once; a plain function is answered on the spot), it refuses by raising RequestFailed.
Frames take effect in the order they came: a cancel never overtakes the prompt it is meant for, and what a handler sends
before it returns goes out before its answer.
"""

import asyncio
import itertools
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping
from types import CoroutineType
from typing import Any, Protocol, TypeAlias

import msgspec

from signoff.acp.failures import ConnectionLost, RequestFailed, RequestTimedOut, invalid_params, method_not_found
from signoff.domain.errors import ParseError, PeerError, SignoffError
from signoff.wire import acp, acp_schema, jsonrpc
from signoff.wire.jsonrpc import RequestId

CANCEL = "$/cancel_request"


class Outlet(Protocol):
    """Where frames go, in order. `write` never waits; who can wait asks `congested` and awaits `drain`."""

    @property
    def congested(self) -> bool: ...
    def write(self, frame: bytes) -> None: ...
    async def drain(self) -> None: ...
    def close(self) -> None: ...


class Limits(msgspec.Struct, frozen=True):
    requests: int = 1_024  # of the other side, running at once; one more is refused as overload
    in_flight_sends: int = 64  # of ours, waiting for a congested transport; one more waits its turn


class Counters(msgspec.Struct):
    malformed: int = 0  # frames that are no JSON-RPC
    stray: int = 0  # answers nobody waits for, late or never asked
    unknown: int = 0  # notifications without a handler, or with parameters that cannot be read


class Call(msgspec.Struct, frozen=True):
    """One request or notification of the other side."""

    peer: "Peer"
    method: str
    id: RequestId
    number: int  # of all calls of all connections that share a counter
    key: object  # among the running ones: the id, where there is one

    @property
    def internal_id(self) -> str:
        return f"s2c-{self.number}"


Handler: TypeAlias = Callable[[Call, Any], Coroutine[Any, Any, object] | object]
Report: TypeAlias = Callable[[Call, BaseException], None]  # hears why a request was refused, and of mistakes of ours
Translate: TypeAlias = Callable[[Exception], Exception]  # what a handler raised, as the other side is to hear of it


class Peer:
    def __init__(
        self,
        outlet: Outlet,
        side: acp.Side,
        handlers: Mapping[str, Handler],
        *,
        limits: Limits | None = None,
        numbers: Iterator[int] | None = None,
        report: Report | None = None,
        translate: Translate = lambda error: error,
    ) -> None:
        self.outlet = outlet
        self.post: Callable[[bytes], object] = outlet.write  # sends a frame that is made already, without waiting
        self.counters = Counters()
        self.running: dict[object, asyncio.Task[None]] = {}
        self._outliving: dict[object, Callable[[], object]] = {}  # of those running, with the way to withdraw each
        self.pending: dict[int, asyncio.Future[msgspec.Raw]] = {}
        self._limits = limits or Limits()
        self._own, self._other = acp.TABLES[side], acp.TABLES["client" if side == "agent" else "agent"]
        self._handlers = handlers
        self._numbers = numbers or itertools.count(1)
        self._report = report
        self._translate = translate
        self._loop = asyncio.get_running_loop()
        self._sends = asyncio.Semaphore(self._limits.in_flight_sends)
        self._ids = itertools.count(1)
        self._inbox: deque[jsonrpc.Frame] = deque()
        self._busy = False  # a task was just made; the next frame waits until it has begun
        self._ended: str | None = None
        self.closed = asyncio.Event()
        self.on_end: Callable[[], object] | None = None  # called once, when it has ended

    # What comes in.

    def receive(self, data: bytes | str) -> None:
        """One frame, in the order of arrival. Never raises, never waits."""
        if self._ended is not None:
            return
        frame = jsonrpc.read(data)
        if self._busy or self._inbox:
            if not self._inbox:
                self._loop.call_soon(self._next_frames)  # behind the first step of the task
            self._inbox.append(frame)
        else:
            self._dispatch(frame)

    def _next_frames(self) -> None:
        while self._inbox and not self._busy:
            self._dispatch(self._inbox.popleft())
        if self._inbox:
            self._loop.call_soon(self._next_frames)

    def _dispatch(self, frame: jsonrpc.Frame) -> None:
        if isinstance(frame, jsonrpc.Request):
            self._on_request(frame)
        elif isinstance(frame, jsonrpc.Notification):
            self._on_notification(frame)
        elif isinstance(frame, jsonrpc.Malformed):
            self._on_malformed(frame)
        else:
            self._on_answer(frame)

    def _on_request(self, frame: jsonrpc.Request) -> None:
        key = frame.id if frame.id is not None else object()
        call = Call(self, frame.method, frame.id, next(self._numbers), key)
        try:
            handler = self._handlers.get(call.method)
            if handler is None:
                raise method_not_found(call.method)
            if len(self.running) >= self._limits.requests:
                raise RequestFailed(jsonrpc.INTERNAL_ERROR, "too many requests at once", {"code": "overload"})
            if key in self.running:
                raise RequestFailed(jsonrpc.INVALID_REQUEST, f"a request with the id {call.id!r} is still running")
            outcome = handler(call, self._typed(call.method, frame.params))
        except Exception as error:  # a mistake in a handler must not end the connection
            self._refuse(call, error)
        else:
            if isinstance(outcome, CoroutineType):
                self._start(call, self._answer_later(call, outcome))
            else:
                self._answer(call, outcome)

    def _typed(self, method: str, params: msgspec.Raw) -> Any:
        row = self._own.get(method) or acp_schema.PROTOCOL_METHODS.get(method)
        if row is None:
            return msgspec.json.decode(params)
        try:
            return acp.read(row[0], params if params != _NULL else _EMPTY)
        except ParseError as error:
            raise invalid_params(f"Invalid params: {error.message}") from error

    def _start(self, call: Call, work: Coroutine[Any, Any, None]) -> None:
        self.running[call.key] = self._loop.create_task(work)
        self._busy = True

    def outlive(self, call: Call, withdraw: Callable[[], object]) -> asyncio.Task[None]:
        """What runs for this call, the task given back, goes on when the connection ends. Who cancels the request calls
        `withdraw`."""
        self._outliving[call.key] = withdraw
        return self.running[call.key]

    def _over(self, call: Call) -> None:
        self.running.pop(call.key, None)
        if self._outliving:
            self._outliving.pop(call.key, None)

    async def _answer_later(self, call: Call, outcome: Coroutine[Any, Any, object]) -> None:
        self._busy = False
        try:
            value = await outcome
        except asyncio.CancelledError:
            self.post(jsonrpc.error(call.id, jsonrpc.REQUEST_CANCELLED, "Request cancelled"))
            raise
        except Exception as error:  # as in _on_request
            self._refuse(call, error)
        else:
            self._answer(call, value)
        finally:
            self._over(call)

    def _answer(self, call: Call, value: object) -> None:
        try:
            frame = jsonrpc.result(call.id, value if value is not None else _NOTHING)
        except (TypeError, ValueError, RecursionError) as error:
            self._refuse(call, error)
        else:
            self.post(frame)

    def _refuse(self, call: Call, error: Exception) -> None:
        error = self._translate(error)
        if isinstance(error, RequestFailed):
            self.post(jsonrpc.error(call.id, error.rpc_code, error.message, error.data))
        elif isinstance(error, SignoffError):
            self.post(jsonrpc.error(call.id, jsonrpc.INTERNAL_ERROR, error.message, {"code": error.code}))
        else:
            self.post(jsonrpc.error(call.id, jsonrpc.INTERNAL_ERROR, "Internal error"))
        if self._report is not None:
            self._report(call, error)

    def _on_notification(self, frame: jsonrpc.Notification) -> None:
        if frame.method == CANCEL:
            self._cancel_running(frame.params)
            return
        handler = self._handlers.get(frame.method)
        if handler is None:
            self.counters.unknown += 1
            return
        call = Call(self, frame.method, None, next(self._numbers), object())
        try:
            outcome = handler(call, self._typed(frame.method, frame.params))
        except (SignoffError, ValueError):
            self.counters.unknown += 1  # a notification has no answer that could say so
            return
        if isinstance(outcome, CoroutineType):
            self._start(call, self._observe(call, outcome))

    async def _observe(self, call: Call, outcome: Coroutine[Any, Any, object]) -> None:
        self._busy = False
        try:
            await outcome
        except Exception as error:  # reported, as nothing can be answered
            if self._report is not None:
                self._report(call, error)
        finally:
            self._over(call)

    def _cancel_running(self, params: msgspec.Raw) -> None:
        try:
            request_id = self._typed(CANCEL, params).requestId
        except RequestFailed:
            self.counters.unknown += 1
            return
        task = self.running.get(request_id)
        if task is not None:
            self._outliving.get(request_id, task.cancel)()

    def _on_answer(self, frame: jsonrpc.Result | jsonrpc.Failure) -> None:
        future = self.pending.pop(frame.id, None) if isinstance(frame.id, int) else None
        if future is None or future.done():
            self.counters.stray += 1
        elif isinstance(frame, jsonrpc.Result):
            future.set_result(frame.result)
        else:
            data = msgspec.json.decode(frame.error.data) if isinstance(frame.error.data, msgspec.Raw) else msgspec.UNSET
            future.set_exception(RequestFailed(frame.error.code, frame.error.message, data))

    def _on_malformed(self, frame: jsonrpc.Malformed) -> None:
        self.counters.malformed += 1
        future = self.pending.pop(frame.about, None) if isinstance(frame.about, int) else None
        if future is not None and not future.done():
            future.set_exception(PeerError(f"the answer cannot be read: {frame.reason}"))
        self.post(jsonrpc.error(frame.id, frame.code, frame.reason))

    # What goes out.

    async def request(self, method: str, params: object, *, within: float | None = None) -> Any:
        """The typed result. Raises RequestFailed, RequestTimedOut or ConnectionLost; who stops waiting says so."""
        if self._ended is not None:
            raise ConnectionLost(self._ended)
        number = next(self._ids)
        future = self._loop.create_future()
        self.pending[number] = future
        try:
            async with asyncio.timeout(within):
                await self._send(jsonrpc.request(number, method, params))
                raw = await future
        except TimeoutError as error:
            self._give_up(number)
            raise RequestTimedOut(f"no answer to {method} within {within:g} s") from error
        except asyncio.CancelledError:
            self._give_up(number)
            raise
        finally:
            self.pending.pop(number, None)
            if not future.cancel() and not future.cancelled():
                future.exception()  # looked at, also where the wait ended before it came
            del future  # it holds the error, and the error this frame
        return self._read_result(method, raw)

    def _read_result(self, method: str, raw: msgspec.Raw) -> Any:
        row = self._other.get(method)
        if row is None or row[1] is None:
            return msgspec.json.decode(raw)
        try:
            return acp.read(row[1], raw if raw != _NULL else _EMPTY)
        except ParseError as error:
            raise PeerError(f"the answer to {method} cannot be read: {error.message}") from error

    def _give_up(self, number: int) -> None:
        if number in self.pending:
            self.post(jsonrpc.notification(CANCEL, {"requestId": number}))

    async def notify(self, method: str, params: object) -> None:
        """Send and, while the transport is congested, wait: this is how a slow reader slows down who writes."""
        if self._ended is not None:
            raise ConnectionLost(self._ended)
        await self._send(jsonrpc.notification(method, params))

    def notify_soon(self, method: str, params: object) -> None:
        """Send without waiting, for handlers that answer on the spot."""
        self.post(jsonrpc.notification(method, params))

    async def _send(self, frame: bytes) -> None:
        if self.outlet.congested:
            async with self._sends:
                await self.outlet.drain()
                self.post(frame)
        else:
            self.post(frame)

    # How it ends.

    @property
    def ended(self) -> str | None:
        """Why the connection ended, or None while it lives."""
        return self._ended

    def fail_pending(self, reason: str, keep: Collection[RequestId] = ()) -> None:
        """Answers to our requests will not come, but for those to `keep`: who waits learns it now."""
        for number in [number for number in self.pending if number not in keep]:
            future = self.pending.pop(number)
            if not future.done():
                future.set_exception(ConnectionLost(reason))

    def end(self, reason: str) -> None:
        """No frame comes or goes any more: who waits for an answer learns it now, running handlers are cancelled."""
        if self._ended is not None:
            return
        self._ended = reason
        self.post = nowhere
        self._inbox.clear()
        self.fail_pending(reason)
        for key in self._outliving:
            self.running.pop(key, None)
        for task in self.running.values():
            task.cancel()
        self.outlet.close()
        self.closed.set()
        if self.on_end is not None:
            self.on_end()

    async def finished(self) -> None:
        """Every handler has come to its end."""
        await asyncio.gather(*self.running.values(), return_exceptions=True)
        self.running.clear()  # also of those that were cancelled before they began


def nowhere(frame: bytes) -> None:
    """The connection has ended."""


_NULL = msgspec.Raw(b"null")
_EMPTY = msgspec.Raw(b"{}")
_NOTHING: dict[str, object] = {}
