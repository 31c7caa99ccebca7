"""The person's keyboard for a child on a terminal of its own: keys in, window size along, and a pause for questions.

While a person is asked something, the keys are theirs and not the child's, and their terminal behaves normally.
"""

import contextlib
import os
import select
import signal
import struct
import termios
import threading
import tty
from collections.abc import Iterator
from fcntl import ioctl
from types import FrameType


class Relay:
    """Between `keyboard` (the person's terminal, a descriptor) and `terminal` (our end of the child's)."""

    def __init__(self, keyboard: int, terminal: int) -> None:
        self._keyboard = keyboard
        self._terminal = terminal
        self._wake = os.eventfd(0, os.EFD_CLOEXEC)
        self._over = False
        self._turn = threading.Condition()
        self._asking = 0  # how many want the keyboard for a question
        self._idle = True  # nobody of ours reads the keyboard
        self._thread = threading.Thread(target=self._copy, name="signoff-keys", daemon=True)
        self._cooked = termios.tcgetattr(keyboard)
        self._before = signal.getsignal(signal.SIGWINCH)

    def __enter__(self) -> "Relay":
        self._resize()
        signal.signal(signal.SIGWINCH, self._resize)
        tty.setraw(self._keyboard)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._turn:
            self._over = True
            self._turn.notify_all()
        os.eventfd_write(self._wake, 1)
        self._thread.join(5)
        signal.signal(signal.SIGWINCH, self._before)
        termios.tcsetattr(self._keyboard, termios.TCSADRAIN, self._cooked)
        os.close(self._wake)

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """The keyboard is the caller's, in its ordinary mode."""
        with self._turn:
            self._asking += 1
            os.eventfd_write(self._wake, 1)
            self._turn.wait_for(lambda: self._idle, timeout=5)
        termios.tcsetattr(self._keyboard, termios.TCSADRAIN, self._cooked)
        try:
            yield
        finally:
            tty.setraw(self._keyboard)
            with self._turn:
                self._asking -= 1
                self._turn.notify_all()

    def _copy(self) -> None:
        poll = select.poll()
        poll.register(self._keyboard, select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        while self._my_turn():
            ready = dict(poll.poll())
            if self._wake in ready:
                os.eventfd_read(self._wake)
            elif not self._pass_on():
                break
        with self._turn:
            self._idle = True
            self._turn.notify_all()

    def _my_turn(self) -> bool:
        """Wait until nobody wants the keyboard for a question; False when it is over."""
        with self._turn:
            self._idle = True
            self._turn.notify_all()
            self._turn.wait_for(lambda: self._asking == 0 or self._over)
            self._idle = False
            return not self._over

    def _pass_on(self) -> bool:
        try:
            keys = os.read(self._keyboard, 4096)
            os.write(self._terminal, keys)
        except OSError:
            return False
        return bool(keys)

    def _resize(self, _number: int = 0, _frame: FrameType | None = None) -> None:
        with contextlib.suppress(OSError):
            size = ioctl(self._keyboard, termios.TIOCGWINSZ, struct.pack("HHHH", 0, 0, 0, 0))
            ioctl(self._terminal, termios.TIOCSWINSZ, size)
