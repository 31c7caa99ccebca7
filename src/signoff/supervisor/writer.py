"""The one writer of the child's control channel.

Any thread may hand in a line; lines never mix. A line goes out at once if the channel takes it. If it does not, because
the child reads slowly, the line waits here and a thread of its own drains the backlog, so that nobody who also reads the
child's output ever blocks on its input: both blocked on each other would be for ever.
"""

import os
import select
import threading
from collections import deque
from collections.abc import Callable

LARGEST_BACKLOG = 16 * 1024 * 1024
PATIENCE = 0.5  # seconds between two looks whether the writer was closed


class ControlWriter:
    def __init__(self, descriptor: int, on_lost: Callable[[str], None]) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._on_lost = on_lost
        self._lock = threading.Lock()
        self._more = threading.Condition(self._lock)
        self._backlog: deque[memoryview] = deque()
        self._size = 0
        self._drainer: threading.Thread | None = None
        self._closed = False
        self.lost: str | None = None

    def send(self, line: bytes) -> bool:
        """Write a line, or queue it behind what already waits. False: the channel is lost (and was reported so)."""
        reason = None
        with self._lock:
            if self._over():
                return False
            written = 0
            if not self._backlog:
                try:
                    written = os.write(self._descriptor, line)
                except BlockingIOError:
                    pass
                except OSError as error:
                    reason = self.lost = os.strerror(error.errno or 0)
            if reason is None and written < len(line):
                reason = self._queue(memoryview(line)[written:])
        if reason is not None:
            self._on_lost(reason)
            return False
        return True

    def _queue(self, rest: memoryview) -> str | None:
        self._size += len(rest)
        if self._size > LARGEST_BACKLOG:
            self.lost = "the child does not read its control channel"
            return self.lost
        self._backlog.append(rest)
        if self._drainer is None:
            self._drainer = threading.Thread(target=self._drain, name="signoff-control", daemon=True)
            self._drainer.start()
        self._more.notify()
        return None

    def _drain(self) -> None:
        while True:
            with self._lock:
                while not self._backlog and not self._over():
                    self._more.wait()
                if self._over():
                    return
            select.select([], [self._descriptor], [], PATIENCE)
            with self._lock:
                if self._over():
                    return
                reason = self._write_backlog()
            if reason is not None:
                self._on_lost(reason)
                return

    def _over(self) -> bool:
        return self._closed or self.lost is not None

    def _write_backlog(self) -> str | None:
        try:
            while self._backlog:
                line = self._backlog.popleft()
                written = os.write(self._descriptor, line)
                self._size -= written
                if written < len(line):
                    self._backlog.appendleft(line[written:])
        except BlockingIOError:
            self._backlog.appendleft(line)
        except OSError as error:
            self.lost = os.strerror(error.errno or 0)
        return self.lost

    def close(self) -> None:
        with self._lock:
            if not self._closed:
                self._closed = True
                self._more.notify()
                os.close(self._descriptor)
