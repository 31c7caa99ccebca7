"""The log of one run: only ever added to, hash-chained, and durable before anything takes effect.

Callers hand records in from any thread (`submit`) and may wait for them to be on disk. One committer thread writes what
has gathered and syncs once for everybody who waits: a slow disk makes the groups bigger, not the queue of syncs longer.
A caller with nothing else to do (`commit`) does the committer's work itself while the disk is quick.
After one failed write or sync nothing is durable any more, ever: a sync that failed once may report success the next
time although the data is gone. So every waiter, present and future, sees `LedgerUnwritable`, and nothing is allowed.
"""

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Iterator
from typing import Self

from signoff.domain.errors import LedgerUnwritable
from signoff.ledger.chain import Chain
from signoff.ledger.paper import Disk, Paper
from signoff.ledger.place import StrPath, open_new
from signoff.ledger.prepare import Preparation, Redacts
from signoff.ledger.records import Close, Decision, Genesis, Record
from signoff.ledger.redact import Redactor

LARGEST_BACKLOG = 64 * 1024 * 1024  # bytes that may wait for the disk before the ledger gives up
MOST_UNSYNCED = 4_096  # records that ride along before a sync is made for their own sake
LONGEST_CLOSE = 30.0  # seconds
LINGER = 0.1  # seconds that records nobody waits for may gather before they are written


def stamp() -> tuple[str, int]:
    """Now, for people and for order: UTC in RFC 3339, and the monotonic clock in nanoseconds."""
    seconds, rest = divmod(time.time_ns(), 1_000_000_000)
    return f"{_date(seconds)}.{rest // 1000:06}+00:00", time.monotonic_ns()


@functools.lru_cache(maxsize=1)
def _date(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))  # slow, and the same for a whole second


class Ticket:
    """A promise that one record becomes durable. Waiting asks for a sync; not waiting lets the record ride along."""

    __slots__ = ("_callbacks", "_ledger", "_open", "error", "settled", "urgent")

    def __init__(self, ledger: "Ledger", urgent: bool) -> None:
        self.error: LedgerUnwritable | None = None
        self.urgent = urgent
        self._ledger = ledger
        self._callbacks: list[Told] = []
        self._open: threading.Lock | None = None  # held until it is known how it went; made by the first who waits
        self.settled = False

    @property
    def durable(self) -> bool:
        return self.settled and self.error is None

    def wait(self, timeout: float | None = None) -> None:
        """Return once the record is on disk; raise LedgerUnwritable if it never will be, or is not in time."""
        if (opens := self._ledger._hurry(self)) is not None:
            if not opens.acquire(timeout=-1 if timeout is None else timeout):
                raise LedgerUnwritable(f"the ledger was not on disk after {timeout:g} s")
            opens.release()  # for whoever else waits
        if self.error is not None:
            raise LedgerUnwritable(self.error.message, hint=self.error.hint)

    def add_done_callback(self, callback: "Told") -> None:
        """Call back once it is known whether the record is durable: from the committer's thread, or now if it is known.

        A callback may give back what is to be called after all those told by the same sync, once: to wake a loop, say.
        """
        with self._ledger._turn:
            if not self.settled:
                self._callbacks.append(callback)
                return
        if (afterwards := callback(self)) is not None:
            afterwards()

    def _tell(self) -> "Iterator[Afterwards | None]":
        if self._open is not None:
            self._open.release()
        for callback in self._callbacks:
            try:
                yield callback(self)
            except Exception:  # noqa: S110  the caller may be gone (its loop closed); the others still must hear of it
                pass


Afterwards = Callable[[], None]
Told = Callable[[Ticket], Afterwards | None]


class Ledger:
    """One run's log. Made by `create`; every method may be called from any thread."""

    def __init__(
        self,
        paper: Paper,
        run_id: str,
        prepare: Preparation,
        clock: Callable[[], tuple[str, int]],
    ) -> None:
        self.run_id = run_id
        self.failure: LedgerUnwritable | None = None
        self._paper = paper
        self._prepare = prepare
        self._clock = clock
        self._began = 0
        self._chain = Chain(run_id)
        self._turn = threading.Lock()
        self._bell = threading.Lock()  # held while there is nothing to do; letting go of it wakes the committer
        self._bell.acquire()
        self._dozing = True  # the committer looks by itself only when something happened a moment ago
        self._lines: list[bytes] = []
        self._backlog = 0
        self._waiting: list[Ticket] = []  # tickets of everything that is not durable yet
        self._sync_wanted = False
        self._over = False  # no record may follow
        self._at_disk = threading.Lock()  # held by whoever writes and syncs
        self._closing: Ticket | None = None  # of the closing record, until it is durable
        self._committer = threading.Thread(target=self._commit, name="ledger", daemon=True)

    @classmethod
    def create(
        cls,
        directory: StrPath,
        run_id: str,
        genesis: Genesis,
        *,
        key: bytes,
        redactor: Redacts | None = None,
        disk: Disk | None = None,
        clock: Callable[[], tuple[str, int]] = stamp,
    ) -> Self:
        """Open a fresh ledger with its first record. Raises LedgerUnwritable if that is not possible.

        The genesis record names the level of redaction; without a redactor of the caller's, that level is applied.
        """
        prepare = Preparation(redactor or Redactor(genesis.redact), key)
        ledger = cls(Paper(open_new(directory, run_id), disk or Disk()), run_id, prepare, clock)
        ledger._committer.start()
        ledger.submit(genesis)
        return ledger

    @property
    def head(self) -> str:
        """The hash of the last record handed in."""
        return self._chain.head

    def submit(self, record: Record, *before: Record) -> Ticket:
        """Hand in a record, after those that come `before` it. Never waits for the disk and never raises: whether it got
        there is the ticket's to say. Records handed in together wake the committer once."""
        return self._take(record, before, ring=True)

    def commit(self, record: Record, *before: Record, meanwhile: Callable[[], None] = lambda: None) -> Ticket:
        """As `submit`, for a caller who has nothing to do until it is durable but `meanwhile`. Where the disk was quick a
        moment ago and nobody is at it, this thread goes there itself, and the ticket comes back settled; else the committer
        does."""
        ticket = self._take(record, before, ring=False)
        if not ticket.settled and self._paper.quick and self._at_disk.acquire(blocking=False):
            self._flush(meanwhile)
            return ticket
        with self._turn:
            self._ring()
        _try(meanwhile)
        return ticket

    def write(self, record: Record, timeout: float | None = None) -> None:
        """Hand in a record and wait until it is durable."""
        self.submit(record).wait(timeout)

    def close(self, exit_code: int = 0, reason: str = "") -> str:
        """Write the closing record, wait for the disk, and give the head: the hash that vouches for the whole run."""
        with self._turn:
            if not self._over:
                last = Close(exit_code=exit_code, reason=reason, count=self._chain.seq, head=self._chain.head)
                self._closing = self._append([self._prepare.bytes(last)], urgent=True)
                self._over = True
                self._ring()
        if (closing := self._closing) is not None:
            closing.wait(LONGEST_CLOSE)
            self._committer.join(LONGEST_CLOSE)
            self._closing = None  # it holds us
        return self._chain.head

    def _take(self, record: Record, before: tuple[Record, ...], *, ring: bool) -> Ticket:
        records = [self._prepare.bytes(each) for each in (*before, record)]
        with self._turn:
            ticket = self._append(records, urgent=type(record) is Decision)
            if ring and (self._sync_wanted or self._dozing):
                self._ring()
            return ticket

    def _append(self, records: list[bytes], urgent: bool) -> Ticket:
        """Number, chain and queue records; the ticket is for the last. The lock is held, and the caller rings."""
        ticket = Ticket(self, urgent)
        if self._backlog > LARGEST_BACKLOG and self.failure is None:
            self.failure = LedgerUnwritable("the disk is too slow for the ledger: too much is waiting to be written")
        if self.failure is not None or self._over:
            ticket.error = self.failure or LedgerUnwritable("the ledger of this run is closed")
            ticket.settled = True
            return ticket
        ts, now = self._clock()
        if not self._chain.seq:
            self._began = now
        for record in records:
            line = self._chain.link(record, ts, now - self._began)
            self._lines.append(line)
            self._backlog += len(line)
        self._waiting.append(ticket)
        self._sync_wanted |= urgent or len(self._waiting) >= MOST_UNSYNCED
        return ticket

    def _hurry(self, ticket: Ticket) -> "threading.Lock | None":
        """Somebody waits: for the lock given back, which opens when it is known how it went; None if it is."""
        with self._turn:
            if ticket.settled:
                return None
            if not ticket.urgent:
                ticket.urgent = self._sync_wanted = True
                self._ring()
            if ticket._open is None:
                ticket._open = threading.Lock()
                ticket._open.acquire()
            return ticket._open

    def _ring(self) -> None:
        """Wake the committer; the lock is held."""
        if self._bell.locked():
            self._bell.release()

    def _commit(self) -> None:
        """The committer's thread."""
        over = False
        while not over and self.failure is None:
            rung = self._bell.acquire(timeout=-1 if self._dozing else LINGER)
            self._at_disk.acquire()
            with self._turn:
                self._dozing = not (rung or self._lines)
                over = self._over
            self._flush()
            self._write_ahead()
        with self._at_disk:
            known = self._settled(None, self.failure)
            self._paper.close()
        _tell(known)

    def _flush(self, meanwhile: Callable[[], None] | None = None) -> None:
        """Write what has gathered; when somebody waits, sync once and tell all of them. For whoever holds `_at_disk`, and
        holds it no more afterwards."""
        known: list[Ticket] = []
        with self._turn:
            lines, self._lines, self._backlog = self._lines, [], 0
            sync, self._sync_wanted = self._sync_wanted, False
            covered, last = len(self._waiting), self._over
        try:
            self._paper.put(b"".join(lines), last=last)
            if meanwhile is not None:
                self._paper.begin()
                _try(meanwhile)
            if sync:
                self._paper.sync()
                known = self._settled(covered, None)
        except Exception as error:  # whatever it is: dying in silence would leave everybody waiting
            known = self._failed(error)
        finally:
            self._at_disk.release()
        if known:
            _tell(known)

    def _write_ahead(self) -> None:
        """Make room for what is to come. For the committer, whom nobody waits for."""
        known: list[Ticket] = []
        with self._at_disk:
            try:
                if self._paper.wants_room and not self._over and self.failure is None:
                    self._paper.make_room()
            except Exception as error:  # as above
                known = self._failed(error)
        _tell(known)

    def _failed(self, error: Exception) -> list[Ticket]:
        self.failure = LedgerUnwritable(
            f"the ledger cannot be written: {getattr(error, 'strerror', None) or error}",
            hint="Nothing is allowed without a record of it. Make room or repair the disk, then start again.",
        )
        return self._settled(None, self.failure)

    def _settled(self, count: int | None, error: LedgerUnwritable | None) -> list[Ticket]:
        """Settle the first `count` tickets, or all of them, now that it is known how it went; give those to tell of it."""
        with self._turn:
            known, self._waiting = self._waiting[:count], self._waiting[count:] if count is not None else []
            for ticket in known:
                ticket.error, ticket.settled = error, True
            if error is not None or self._paper.wants_room:
                self._ring()  # the committer closes the file, or makes room in it
            return [ticket for ticket in known if ticket._callbacks or ticket._open]


def _try(meanwhile: Callable[[], None]) -> None:
    try:
        meanwhile()
    except Exception:  # noqa: S110  not the disk's fault; who finds it undone does it again, and hears of the error there
        pass


def _tell(known: list[Ticket]) -> None:
    for afterwards in {each for ticket in known for each in ticket._tell() if each is not None}:
        with contextlib.suppress(RuntimeError):  # its loop closed
            afterwards()
