"""While a question stands on the screen, nobody else writes there: what a program says in that time waits.

Otherwise it could push the question out of sight, or write another one over it. Little is kept; who says more has to wait
until the answer is given, as with any reader that is slow.
"""

import contextlib
import os
import threading
from collections.abc import Callable, Iterator

MOST_KEPT = 1024 * 1024


class Silence:
    """One for a terminal and everybody who writes to it, from any thread."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._turn = threading.Condition()
        self._questions = 0
        self._kept: list[tuple[int, Callable[[], object]]] = []

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
                    with contextlib.suppress(OSError):  # whoever spoke hears of it when speaking again
                        self._kept.pop(0)[1]()
                self._turn.notify_all()

    def say(self, speak: Callable[[], object], size: int = 1_000) -> None:
        """Speak now, or after the question; in the order of arrival."""
        with self._turn:
            self._turn.wait_for(lambda: not self._questions or self._size() + size <= self._most or not self._kept)
            if self._questions:
                self._kept.append((size, speak))
            else:
                speak()

    def write(self, descriptor: int, data: bytes | memoryview) -> None:
        own = bytes(data)  # the caller's buffer is the caller's again when this returns
        self.say(lambda: write_all(descriptor, own), len(own))

    def _size(self) -> int:
        return sum(size for size, _ in self._kept)


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]
