"""A terminal for a command in the sandbox, made in there (decision 0504), and what a person types into it from here."""

import contextlib
import fcntl
import os
import select
import signal
import sys
import termios
import threading
import tty
from collections.abc import Iterator
from pathlib import Path

from signoff.sandbox.inside import terminal as inside

_WINDOW = (24, 120)  # rows and columns, where nobody looks


def on_terminal(argv: tuple[str, ...], keyboard: int | None = None, channel: str = "") -> tuple[str, ...]:
    """The command that runs this one on a terminal of its own, as large as that of `keyboard`; `channel` names the variable
    that tells it of a socket."""
    relaying = Path(inside.__file__).read_text(encoding="utf-8")
    rows, columns, *_ = _WINDOW if keyboard is None else inside.WINDOW.unpack(_window(keyboard))
    return (os.path.realpath(sys.executable), "-I", "-S", "-c", relaying, str(rows), str(columns), channel, *argv)


@contextlib.contextmanager
def typed(keyboard: int, channel: int | None) -> Iterator[int]:
    """A descriptor with what the command's standard input should be: all that comes from `keyboard`, the size of its
    window, and what somebody says on `channel`. The keyboard passes on every key as it is, meanwhile."""
    reader, writer = os.pipe2(os.O_CLOEXEC)
    resized = os.eventfd(0, os.EFD_CLOEXEC)
    cooked = termios.tcgetattr(keyboard) if os.isatty(keyboard) else None
    before = signal.signal(signal.SIGWINCH, lambda *_: os.eventfd_write(resized, 1))
    try:
        if cooked is not None:
            tty.setraw(keyboard)
        threading.Thread(target=_copy, args=(keyboard, channel, resized, writer), name="keys", daemon=True).start()
        yield reader
    finally:
        signal.signal(signal.SIGWINCH, before)
        if cooked is not None:
            termios.tcsetattr(keyboard, termios.TCSADRAIN, cooked)
        os.close(reader)  # the thread notices, or ends with the process


def _copy(keyboard: int, channel: int | None, resized: int, writer: int) -> None:
    kinds = {keyboard: inside.KEYS} if channel is None else {keyboard: inside.KEYS, channel: inside.CHANNEL}
    poll = select.poll()
    for descriptor in (*kinds, resized):
        poll.register(descriptor, select.POLLIN)
    with contextlib.suppress(BrokenPipeError):
        while True:
            for descriptor, _ in poll.poll():
                if descriptor == resized:
                    os.eventfd_read(resized)
                    _send(writer, inside.SIZE, _window(keyboard))
                    continue
                data = _read(descriptor)
                if not data:
                    poll.unregister(descriptor)
                if data or descriptor == keyboard:
                    _send(writer, kinds[descriptor], data)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 32_768)
    except OSError:  # how the end of a terminal shows
        return b""


def _window(keyboard: int) -> bytes:
    try:
        return fcntl.ioctl(keyboard, termios.TIOCGWINSZ, bytes(inside.WINDOW.size))
    except OSError:
        return inside.WINDOW.pack(*_WINDOW, 0, 0)


def _send(writer: int, kind: bytes, body: bytes) -> None:
    view = memoryview(inside.HEAD.pack(kind, len(body)) + body)
    while view:
        view = view[os.write(writer, view) :]
