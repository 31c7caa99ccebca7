"""Pass a child's stream through to where the user reads it, and take the events out on the way.

Text goes out with the read that brought it, before anything is parsed further; only a possible event line waits.
"""

import os
import select
import threading
from collections.abc import Callable

from signoff.approvals.silence import write_all
from signoff.wire.jsonl import MAX_LINE, Found, Scan, Scanner, Text
from signoff.wire.tool_events import Failure, ToolEvent

Write = Callable[[int, memoryview], None]

BUFFER = 128 * 1024
TAIL = 64 * 1024


class Tail:
    """The last bytes of a stream, for diagnosis and for memory's signals."""

    def __init__(self, size: int = TAIL) -> None:
        self._size = size
        self._last = bytearray()
        self.total = 0

    def add(self, piece: memoryview) -> None:
        self.total += len(piece)
        self._last += piece[-self._size :]
        if len(self._last) > 4 * self._size:  # now and then, so that a byte is moved about once
            del self._last[: -self._size]

    def bytes(self) -> bytes:
        return bytes(self._last[-self._size :])


class Pump:
    """One stream. `run` returns at its end; give it a thread."""

    def __init__(
        self,
        source: int,
        sink: int | None,
        scanner: Scanner,
        on_events: Callable[[list[ToolEvent]], None],
        on_failures: Callable[[list[Failure]], None],
        *,
        show_events: bool = False,
        write: Write = write_all,
    ) -> None:
        self._put = write
        self._source = source
        self._sink = sink
        self.scanner = scanner
        self._on_events = on_events
        self._on_failures = on_failures
        self._show_events = show_events
        self.tail = Tail()
        self.counts_lines = False  # only where somebody listens: looking at every byte once more is not free
        self.lines = 0
        self.reads = 0
        self.ended = threading.Event()

    def run(self) -> None:
        try:
            self._pass_through()
        except BrokenPipeError:
            pass  # nobody reads us any more: closing the source lets the child feel it, as in any pipeline
        finally:
            os.close(self._source)
            self.ended.set()

    def _pass_through(self) -> None:
        buffer = bytearray(BUFFER)
        view = memoryview(buffer)
        held = 0
        while True:
            try:
                got = os.readv(self._source, [view[held:]])
            except BlockingIOError:  # a socket whose other direction the control writer made non-blocking
                select.select([self._source], [], [])
                continue
            except OSError:  # a pseudo-terminal says EIO where a pipe says end of file
                got = 0
            self.reads += 1
            end = held + got
            scan = self.scanner.scan(buffer, end, final=got == 0)
            if self.counts_lines:
                self.lines += buffer.count(b"\n", held, end)
            self._handle(scan, view)
            if got == 0:
                return
            held = end - scan.keep
            if held and scan.keep:
                view[:held] = view[scan.keep : end]
            if held == len(buffer) and held <= MAX_LINE:
                view.release()
                buffer.extend(bytes(len(buffer)))
                view = memoryview(buffer)

    def _handle(self, scan: Scan, view: memoryview) -> None:
        if scan.failures:
            self._on_failures(scan.failures)
        for piece in scan.pieces:
            match piece:
                case Found():
                    if self._show_events:
                        self._write(view[piece.start : piece.stop])
                    self._on_events(piece.events)
                case Text():
                    self._write(view[piece.start : piece.stop])

    def _write(self, piece: memoryview) -> None:
        self.tail.add(piece)
        if self._sink is not None:
            self._put(self._sink, piece)
