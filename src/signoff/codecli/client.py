"""Emit requests, wait for decisions, emit results. One reader owns the control channel; what it cannot use it drops with a
warning event, and whatever is not a clear, timely, matching allow is a no."""

import os
import queue
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, BinaryIO

from signoff.domain.errors import Aborted, ParseError
from signoff.wire import control, tool_events
from signoff.wire.control import PolicyAbort, PolicyDecision, PolicyPing
from signoff.wire.tool_events import PolicyAck, ToolEvent, ToolProgress, ToolRequest, ToolResult

EVENT_FD = "SIGNOFF_EVENT_FD"
TIMEOUT_MS = 300_000
GREETING = 2.0  # seconds a first request waits for the supervisor's ping


class Call:
    """One tool call: whether it may run, and how it ended. Ends exactly once."""

    def __init__(self, client: "Client", request: ToolRequest, decision: PolicyDecision | None) -> None:
        self._client = client
        self._expires_at = _expiry(decision, client.clock)
        self._ended = False
        self.id = request.id
        self.decision = decision

    @property
    def allowed(self) -> bool:
        """True while a matching allow holds. Constraints are in `decision.constraints`; they bind the caller."""
        if self.decision is None or self.decision.decision != "allow":
            return False
        return self._expires_at is None or self._client.clock() < self._expires_at

    @property
    def reason(self) -> str:
        return "policy timeout" if self.decision is None else self.decision.reason or "denied"

    def progress(self, stage: str, message: str | None = None, percent: float | None = None) -> None:
        self._client.emit(ToolProgress(1, self._client.now(), self.id, stage, message, percent))

    def succeed(self, output: Any = None) -> None:
        self._end(True, output, None)

    def fail(self, error: str, output: Any = None) -> None:
        self._end(False, output, error)

    def _end(self, ok: bool, output: Any, error: str | None) -> None:
        if not self._ended:
            self._ended = True
            self._client.emit(ToolResult(1, self._client.now(), self.id, ok, output, error))

    def __enter__(self) -> "Call":
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if error is not None:
            self.fail(f"{type(error).__name__}: {error}")
        else:
            self.fail("not reported" if self.allowed else self.reason)


class Client:
    """Speaks the protocol on stdin and stdout, or on the socket that SIGNOFF_EVENT_FD names."""

    def __init__(
        self,
        events: BinaryIO | None = None,
        commands: int | None = None,
        *,
        run_id: str | None = None,
        timeout_ms: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._events, self._commands = _channels(events, commands)
        self._run_id = run_id
        self._timeout_ms = timeout_ms
        self._nonce: str | None = None
        self._waiting: dict[str, queue.SimpleQueue[PolicyDecision | None]] = {}
        self._lock = threading.Lock()
        self.clock = clock
        self.aborted: str | None = None
        self.supervised = threading.Event()
        self.warnings = 0
        threading.Thread(target=self._listen, name="signoff-control", daemon=True).start()

    def request(
        self, tool: str, action: str, args: Any, *, rationale: str | None = None, id: str | None = None
    ) -> Call:
        """Announce a call and wait for its decision. A timeout is a call that is not allowed; an abort raises."""
        request = ToolRequest(1, self.now(), id or f"t-{uuid.uuid4()}", tool, action, args, rationale, True)
        answers: queue.SimpleQueue[PolicyDecision | None] = queue.SimpleQueue()
        with self._lock:
            self._waiting[request.id] = answers
        try:
            self.supervised.wait(GREETING)  # the greeting brings the nonce that makes our events ours
            self._refuse_if_aborted()
            self.emit(request)
            decision = answers.get(timeout=(self._timeout_ms or TIMEOUT_MS) / 1000)
        except queue.Empty:
            decision = None
        finally:
            with self._lock:
                self._waiting.pop(request.id, None)
        call = Call(self, request, decision)
        if self.aborted is not None:
            call.fail(f"aborted: {self.aborted}")
        elif not call.allowed:
            call.fail(call.reason)
        self._refuse_if_aborted()
        return call

    def emit(self, event: ToolEvent) -> None:
        """One line in one write, with the run and the nonce of the supervisor."""
        fields = {"run_id": self._run_id, "nonce": self._nonce}
        line = tool_events.encode(_with(event, **fields))
        with self._lock:
            self._events.write(line)
            self._events.flush()

    def now(self) -> str:
        return datetime.now().astimezone().isoformat(timespec="milliseconds")

    def _refuse_if_aborted(self) -> None:
        if self.aborted is not None:
            raise Aborted(self.aborted)

    def _listen(self) -> None:
        for line in _lines(self._commands):
            try:
                message = control.decode(line)
            except ParseError as error:
                self._warn("control", error.message)
                continue
            match message:
                case PolicyPing():
                    self._greet(message)
                case PolicyAbort():
                    self.aborted = message.reason or "aborted"
                    self._release()
                case PolicyDecision():
                    self._deliver(message)
        self._release()  # nobody will answer any more: every wait ends, and ends with a no

    def _greet(self, ping: PolicyPing) -> None:
        self._nonce = ping.nonce or self._nonce
        self._run_id = self._run_id or ping.run_id
        self._timeout_ms = self._timeout_ms or ping.timeout_ms
        self.supervised.set()
        self.emit(PolicyAck(1, self.now(), ping.id))

    def _deliver(self, decision: PolicyDecision) -> None:
        foreign = decision.run_id is not None and self._run_id is not None and decision.run_id != self._run_id
        with self._lock:
            waiting = None if foreign else self._waiting.pop(decision.id, None)
        if waiting is None:
            self._warn(decision.id or "control", "decision for a call that is not waiting")
        else:
            waiting.put(decision)

    def _release(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        for answers in waiting.values():
            answers.put(None)

    def _warn(self, call_id: str, message: str) -> None:
        self.warnings += 1
        self.emit(ToolProgress(1, self.now(), call_id, "warning", message))


def _with(event: ToolEvent, **fields: str | None) -> ToolEvent:
    given = {name: value for name, value in fields.items() if value is not None and getattr(event, name) is None}
    return tool_events.replace(event, given) if given else event


def _expiry(decision: PolicyDecision | None, clock: Callable[[], float]) -> float | None:
    if decision is None or decision.expires_in_ms is None:
        return None
    return clock() + decision.expires_in_ms / 1000


def _channels(events: BinaryIO | None, commands: int | None) -> tuple[BinaryIO, int]:
    descriptor = os.environ.get(EVENT_FD)
    if events is None and commands is None and descriptor is not None:
        return os.fdopen(int(descriptor), "wb", buffering=0), os.dup(int(descriptor))
    return events or sys.stdout.buffer, 0 if commands is None else commands


def _lines(descriptor: int) -> Iterator[bytes]:
    """Lines by plain reads: a buffered stdin held by a waiting thread would crash the interpreter's exit."""
    rest = b""
    while chunk := os.read(descriptor, 65536):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines
