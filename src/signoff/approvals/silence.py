"""While a question stands on the screen, nobody else writes there: what a program says in that time waits.

Otherwise it could push the question out of sight, or write another one over it. Little is kept. Who says more has to wait
until the answer is given, as with any reader that is slow; who cannot wait, because the answer comes on the same thread, is
not heard in full, and how much was missed is said.
"""

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator

MOST_KEPT = 1024 * 1024
A_FEW = 1_000  # bytes that something short takes to keep


class Silence:
    """One for a terminal and everybody who writes to it, from any thread."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._turn = threading.Condition()
        self._questions = 0
        self._kept: deque[tuple[int, Callable[[], object]]] = deque()
        self._size = 0  # of what is kept
        self._missed = 0

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Nobody else speaks in here."""
        with self._turn:
            self._questions += 1
        try:
            yield
        finally:
            with self._turn:
                self._questions -= 1
                while self._kept and not self._questions:
                    size, speak = self._kept.popleft()
                    self._size -= size
                    with contextlib.suppress(OSError):  # whoever spoke hears of it when speaking again
                        speak()
                self._turn.notify_all()

    def say(self, speak: Callable[[], object], size: int = A_FEW) -> None:
        """Speak now, or after the question; in the order of arrival."""
        with self._turn:
            self._turn.wait_for(lambda: not self._questions or self._has_room(size))
            self._now_or_later(speak, size)

    def mention(self, speak: Callable[[], object], missed: Callable[[int], object], size: int = A_FEW) -> None:
        """As `say`, without ever waiting. What there is no room for is gone; `missed` says how much that was."""
        with self._turn:
            if not self._questions or self._has_room(size):
                self._now_or_later(speak, size)
                return
            if not self._missed:
                self._now_or_later(lambda: missed(self._counted()), 0)
            self._missed += 1

    def write(self, descriptor: int, data: bytes | memoryview) -> None:
        own = bytes(data)  # the caller's buffer is the caller's again when this returns
        self.say(lambda: write_all(descriptor, own), len(own))

    def _has_room(self, size: int) -> bool:
        return self._size + size <= self._most or not self._kept

    def _now_or_later(self, speak: Callable[[], object], size: int) -> None:
        if not self._questions:
            speak()
            return
        self._kept.append((size, speak))
        self._size += size

    def _counted(self) -> int:
        missed, self._missed = self._missed, 0
        return missed


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]
