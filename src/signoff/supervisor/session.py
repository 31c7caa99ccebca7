"""A supervised child and its channels, as an object others can embed.

    session = ProcessRunner().start_session(Spec(("my-agent", "--flag"), cwd="/repo", environ=env), Output(1, 2))
    event = session.events.get(timeout=60)          # Heard, ParseFailed or Lost
    session.control(StdinJsonl({"v": 1, "type": "policy.decision", ...}))
    status = session.status.result(timeout=600)     # the child's exit status, 128+N for signal N

With `on_event` events are handed over inside the reading thread instead, which is how the arbiter answers fastest.
"""

import contextlib
import functools
import os
import queue
import threading
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from signoff.approvals.silence import Silence, write_all
from signoff.domain.late import late
from signoff.sandbox.child import Child, start, start_on_terminal
from signoff.supervisor.pump import Pump
from signoff.supervisor.writer import ControlWriter
from signoff.wire import control
from signoff.wire.control import ControlMessage, PolicyAbort, PolicyPing
from signoff.wire.jsonl import Demand, Modes, Scanner, Trust
from signoff.wire.tool_events import Failure, ToolEvent

if TYPE_CHECKING:
    import socket
    from concurrent import futures
    from concurrent.futures import Future
else:
    socket = late("socket")
    futures = late("concurrent.futures")

EVENT_FD = "SIGNOFF_EVENT_FD"
MOST_EVENTS = 2_048
CAPABILITIES = ("policy.decision.v1",)


class Spec(msgspec.Struct, frozen=True):
    """What to start and how to listen to it."""

    argv: tuple[str, ...]
    cwd: str
    environ: Mapping[str, str]
    run_id: str = ""
    tty: bool = False
    modes: Modes = Modes()
    demand: Demand = Demand.ANY
    show_events: bool = False
    decision_timeout_ms: int = 300_000


class Output(msgspec.Struct, frozen=True):
    """Where the child's streams go, as descriptors; None drops the text."""

    stdout: int | None
    stderr: int | None
    silence: Silence | None = None  # where questions are asked on the same terminal


class StdinJsonl(msgspec.Struct, frozen=True):
    """A line for the child, as a JSON value."""

    value: dict[str, Any]


class Abort(msgspec.Struct, frozen=True):
    """End the child's session; becomes a policy.abort."""

    reason: str
    code: str | None = None


class Heard(msgspec.Struct, frozen=True):
    """Events of one stream, in order."""

    stream: str
    events: list[ToolEvent]


class ParseFailed(msgspec.Struct, frozen=True):
    """Lines of one stream that wanted to be events."""

    stream: str
    failures: list[Failure]


class Lost(msgspec.Struct, frozen=True):
    """The control channel cannot be written any more."""

    reason: str


ParsedEvent = Heard | ParseFailed | Lost
ControlCommand = StdinJsonl | Abort


class Runner(Protocol):
    def start_session(self, spec: Spec, output: Output) -> "RunnerSession": ...


class RunnerSession(Protocol):
    """What a runner gives back: one exit status, a way to say something, a way to hear something."""

    @property
    def status(self) -> "Future[int]": ...

    events: "queue.Queue[ParsedEvent]"

    def control(self, command: ControlCommand) -> bool: ...


class Session:
    """A real child. The ping has gone out before anything else could."""

    def __init__(
        self, spec: Spec, output: Output, on_event: Callable[["Session", ParsedEvent], None] | None = None
    ) -> None:
        self.spec = spec
        self._lock = threading.Lock()
        self._status: Future[int] | None = None
        self._code: int | None = None
        self.events: queue.Queue[ParsedEvent] = queue.Queue(MOST_EVENTS)
        self.trust = Trust(nonce=os.urandom(16).hex(), demand=spec.demand)
        self._on_event = self.events.put if on_event is None else lambda event: on_event(self, event)
        self.child, channel, streams = _start(spec)
        self.writer = ControlWriter(channel, lambda reason: self._on_event(Lost(reason)))
        self._silence = output.silence
        sinks = {"stdout": output.stdout, "stderr": output.stderr}
        self.pumps = {name: self._pump(name, source, sinks.get(name)) for name, source in streams.items()}
        self.ping("ping-1")
        self._threads = [threading.Thread(target=pump.run, name=name, daemon=True) for name, pump in self.pumps.items()]
        for thread in self._threads:
            thread.start()

    def _pump(self, name: str, source: int, sink: int | None) -> Pump:
        modes = (
            Modes(prefix=False, bare=False)
            if self.child.terminal is not None and name != "channel"
            else self.spec.modes
        )
        return Pump(
            source,
            sink,
            Scanner(modes, self.trust),
            lambda events: self._on_event(Heard(name, events)),
            lambda failures: self._on_event(ParseFailed(name, failures)),
            show_events=self.spec.show_events,
            write=self._silence.write if self._silence and sink is not None and os.isatty(sink) else write_all,
        )

    def ping(self, ping_id: str) -> bool:
        timeout = self.spec.decision_timeout_ms
        return self.send(PolicyPing(1, now(), self.spec.run_id, ping_id, CAPABILITIES, timeout, nonce=self.trust.nonce))

    def send(self, message: ControlMessage) -> bool:
        return self.send_line(control.encode(message))

    def send_line(self, line: bytes) -> bool:
        return self.writer.send(line)

    def control(self, command: ControlCommand) -> bool:
        match command:
            case StdinJsonl(value):
                return self.writer.send(msgspec.json.encode(value) + b"\n")
            case Abort(reason, code):
                known = code if code in ("user_cancel", "policy_violation", "fatal_error") else None
                return self.send(PolicyAbort(1, now(), self.spec.run_id, "abort-1", reason, known))  # type: ignore[arg-type]

    def wait(self, seconds: float | None = None) -> int | None:
        """The exit status once the child has ended and all it wrote has been passed on; None if not in time."""
        status = self.child.wait(seconds)
        return None if status is None else self._finish(status)

    def _finish(self, status: int) -> int:
        code = status if status >= 0 else 128 - status
        self.child.stop(0)  # nothing of it survives, so that its pipes end
        for thread in self._threads:
            thread.join(5)
        with self._lock:
            self._code, promised = code, self._status
        if promised is not None and not promised.done():
            promised.set_result(code)
        return code

    @property
    def status(self) -> "Future[int]":
        """The exit status, once there is one. Made when somebody asks: `wrap` never does, and it is slow to load."""
        with self._lock:
            if self._status is None:
                self._status = futures.Future()
                if self._code is not None:
                    self._status.set_result(self._code)
            return self._status

    def abort(self, reason: str, code: str, grace: float, kill_grace: float) -> int:
        """Say it, wait, SIGTERM, wait, SIGKILL."""
        self.control(Abort(reason, code))
        status = self.child.wait(grace)
        return self._finish(self.child.stop(kill_grace) if status is None else status)

    def close(self) -> None:
        self.writer.close()
        self.child.close()

    @property
    def streams_open(self) -> int:
        return sum(not pump.ended.is_set() for pump in self.pumps.values())


class ProcessRunner:
    """Starts real children."""

    def start_session(self, spec: Spec, output: Output) -> Session:
        return Session(spec, output)


def now() -> str:
    """RFC 3339 in local time."""
    seconds, rest = divmod(time.time_ns(), 1_000_000_000)
    start, offset = _second(seconds)
    return f"{start}.{rest // 1_000_000:03}{offset}"


@functools.lru_cache(maxsize=1)
def _second(seconds: int) -> tuple[str, str]:
    moment = datetime.fromtimestamp(seconds).astimezone().isoformat()
    return moment[:19], moment[19:]


def _start(spec: Spec) -> tuple[Child, int, dict[str, int]]:
    """The child, our end of its control channel, and the streams to read."""
    if not spec.tty:
        child = start(spec.argv, environ=spec.environ, cwd=spec.cwd)
        stdin, stdout, stderr = child.hand_over()
        assert stdin is not None
        assert stdout is not None
        assert stderr is not None
        return child, stdin, {"stdout": stdout, "stderr": stderr}
    ours, theirs = socket.socketpair()
    with contextlib.closing(theirs):
        environ = {**spec.environ, EVENT_FD: str(theirs.fileno())}
        child = start_on_terminal(spec.argv, environ=environ, cwd=spec.cwd, pass_descriptors=(theirs.fileno(),))
    assert child.terminal is not None
    channel = ours.detach()
    return child, channel, {"stdout": os.dup(child.terminal), "channel": os.dup(channel)}
