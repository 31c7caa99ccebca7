"""One supervised run from start to end: wait, watch the clocks, obey signals, and leave nothing behind."""

import importlib
import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import msgspec

from signoff.domain.errors import ControlLost, NotEnforceable
from signoff.domain.settings import DenyExit
from signoff.ledger.spans import AbortSpan
from signoff.ledger.tracing import Tracing
from signoff.supervisor.arbiter import Arbiter, Stop
from signoff.supervisor.ends import Ending, ended, signalled, stopped
from signoff.supervisor.hang import Finding, Patience, Signs, look
from signoff.supervisor.session import Session

TICK_MS = 250
JUDGING = ("signoff.policy.shell", "signoff.policy.requirement")  # loaded while the child starts, not before it
STARTING_MS = 10
FATAL = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class Limits(msgspec.Struct, frozen=True):
    """Seconds."""

    total: float | None = None
    abort_grace: float = 5.0
    kill_grace: float = 3.0
    handshake: float = 10.0
    patience: Patience = Patience(silence=None, execution=None)


class Demands(msgspec.Struct, frozen=True):
    deny_exit: DenyExit = DenyExit.DENIED
    require_enforcement: bool = False


class Watch:
    """What ends a run from outside the child: a stop from the arbiter, a signal, a limit. First come, first served."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.stop: Stop | None = None
        self.signals: list[int] = []
        self.wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    def request(self, stop: Stop) -> None:
        with self._lock:
            self.stop = self.stop or stop
        os.eventfd_write(self.wake, 1)

    def received(self, number: int, _frame: FrameType | None = None) -> None:
        self.signals.append(number)
        os.eventfd_write(self.wake, 1)

    def close(self) -> None:
        os.close(self.wake)


def supervise(
    session: Session,
    arbiter: Arbiter,
    watch: Watch,
    limits: Limits,
    demands: Demands,
    note: Callable[[str], None],
    tracing: Tracing | None = None,
) -> Ending:
    """Stay with the child until it has ended, for whatever reason, and say how."""
    overseer = _Overseer(session, arbiter, watch, limits, demands, note, tracing or Tracing())
    with _signals(watch, session):
        try:
            return overseer.run()
        finally:
            arbiter.finish()


class _Overseer:
    def __init__(
        self,
        session: Session,
        arbiter: Arbiter,
        watch: Watch,
        limits: Limits,
        demands: Demands,
        note: Callable[[str], None],
        tracing: Tracing,
    ) -> None:
        self._session = session
        self._arbiter = arbiter
        self._watch = watch
        self._limits = limits
        self._demands = demands
        self._note = note
        self._tracing = tracing
        self._started = time.monotonic()
        self._suspected_at: float | None = None
        self._reads = 0
        self._last_output = self._started
        self._interrupts = 0

    def run(self) -> Ending:
        poll = select.poll()
        poll.register(self._session.child.ended, select.POLLIN)
        poll.register(self._watch.wake, select.POLLIN)
        if not poll.poll(STARTING_MS):
            for name in JUDGING:
                importlib.import_module(name)
        while True:
            poll.poll(TICK_MS)
            if (status := self._session.wait(0)) is not None:
                return self._after(status)
            ending = self._obey() or self._check()
            if ending is not None:
                return ending

    def _after(self, status: int) -> Ending:
        if self._interrupts:
            return signalled(signal.SIGINT)
        stop = self._watch.stop
        dying = stop is not None and stop.error == ControlLost.code and status != 0  # it died, so it could not hear us
        if stop is not None and not dying:
            return stopped(stop)
        if self._demands.require_enforcement and not self._held():
            return stopped(_not_enforced("the agent never confirmed that it waits for decisions"))
        return ended(status, self._arbiter.tally, self._demands.deny_exit)

    def _obey(self) -> Ending | None:
        """Signals and stops. The first Ctrl-C is the child's to answer; the second ends it."""
        while self._watch.signals:
            number = self._watch.signals.pop(0)
            if number == signal.SIGINT and not self._interrupts:
                self._interrupts += 1
                self._session.child.signal(signal.SIGINT)
            else:
                self._abort("the user stopped the run", "user_cancel")
                return signalled(number)
        if self._watch.stop is not None:
            self._abort(self._watch.stop.reason, self._watch.stop.code)
            return signalled(signal.SIGINT) if self._interrupts else stopped(self._watch.stop)
        return None

    def _check(self) -> Ending | None:
        """Limits that pass by themselves become a stop like any other."""
        self._arbiter.tick(self._session)
        now = time.monotonic()
        stop = self._over_time(now) or self._unheld(now) or self._hung(now)
        if stop is None:
            return None
        self._watch.request(stop)
        return self._obey()

    def _over_time(self, now: float) -> Stop | None:
        limit = self._limits.total
        if limit is None or now - self._started < limit:
            return None
        return Stop(f"stopped after {limit:g} s", "fatal_error", "tool.timeout")

    def _unheld(self, now: float) -> Stop | None:
        if not self._demands.require_enforcement or self._held():
            return None
        if self._arbiter.tally.requests:
            return _not_enforced("the agent does not wait for decisions")
        if now - self._started < self._limits.handshake:
            return None
        return _not_enforced(f"the agent did not answer the greeting within {self._limits.handshake:g} s")

    def _held(self) -> bool:
        tally = self._arbiter.tally
        return (tally.acknowledged or tally.waited > 0) and tally.waited == tally.requests

    def _hung(self, now: float) -> Stop | None:
        reads = sum(pump.reads for pump in self._session.pumps.values())
        if reads != self._reads:
            self._reads, self._last_output, self._suspected_at = reads, now, None
        running = [entry.decided_at for entry in list(self._arbiter.table.decided.values())[:1]]
        finding = look(
            Signs(
                now=now,
                last_output=self._last_output,
                last_event=self._arbiter.last_event,
                oldest_execution=running[0] if running else None,
                waiting_for_us=bool(self._arbiter.table.waiting),
                streams_open=self._session.streams_open,
                suspected_at=self._suspected_at,
            ),
            self._limits.patience,
        )
        match finding:
            case Finding.ALIVE:
                self._suspected_at = None
            case Finding.SUSPECTED:
                if self._suspected_at is None:
                    self._suspected_at = now
                    self._note("hang.suspected")
                    self._session.ping("ping-hang")
            case Finding.HUNG:
                return Stop("the agent gives no sign of life", "fatal_error", "runner.hung")
        return None

    def _abort(self, reason: str, code: str) -> None:
        self._note(f"abort: {reason}")
        table = self._arbiter.table
        span = AbortSpan(
            reason=reason,
            pending_decision=len(table.waiting),
            pending_exec=len(table.decided),
            last_output_age_ms=int((time.monotonic() - self._last_output) * 1_000),
        )
        with self._tracing.span(span):
            self._session.abort(reason, code, self._limits.abort_grace, self._limits.kill_grace)


def _not_enforced(reason: str) -> Stop:
    return Stop(reason, "policy_violation", NotEnforceable.code)


@contextmanager
def _signals(watch: Watch, session: Session) -> Iterator[None]:
    """Ours while the child runs. A stop is passed on first, so that the child does not run on while we sleep."""

    def suspend(_number: int, _frame: FrameType | None) -> None:
        session.child.signal(signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGSTOP)

    def resume(_number: int, _frame: FrameType | None) -> None:
        session.child.signal(signal.SIGCONT)

    handlers: dict[signal.Signals, Callable[[int, FrameType | None], None]] = {
        signal.SIGTSTP: suspend,
        signal.SIGCONT: resume,
    }
    handlers.update(dict.fromkeys((signal.SIGINT, *FATAL), watch.received))
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
