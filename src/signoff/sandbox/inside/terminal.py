"""Run a program on a terminal of its own, in a process in the sandbox: what it writes goes out, what is typed comes in.

Handed as text to a Python in there, so it may use nothing but the standard library. The first two arguments are the rows and
columns of the terminal, the third is the name of the variable that tells the program of its channel, or nothing where it has
none; the others are the program's words. The exit status is the program's, 128+N if signal N ended it.

Standard input is a sequence of frames: a kind, a length, so many bytes. KEYS are typed, none of them or the end of standard
input being the end of input; SIZE is the window's; CHANNEL goes into the program's channel, and what the program says there
goes to standard error, which nobody else needs.
"""

import fcntl
import os
import select
import signal
import socket
import struct
import sys
import termios

KEYS, SIZE, CHANNEL = b"k", b"s", b"c"
HEAD, WINDOW = struct.Struct("<cI"), struct.Struct("HHHH")
END_OF_INPUT = b"\x04"
AGAIN_MS = 500  # the end of input is said again: a program that changes the terminal's mode after the first finds a NUL
MOST_WAITING = 1 << 20  # bytes that a program does not read; more is lost, as on any terminal


class Relay:
    def __init__(self, ended: int, terminal: int, channel: int | None) -> None:
        self.ended, self.terminal, self.channel = ended, terminal, channel
        self.outlets = {terminal: 1} if channel is None else {terminal: 1, channel: 2}
        self.waiting = {KEYS: b"", CHANNEL: b""}
        self.frames = b""
        self.all_typed = False
        self.poll = select.poll()
        for descriptor in (0, ended, *self.outlets):
            os.set_blocking(descriptor, descriptor == 0)
            self.poll.register(descriptor, select.POLLIN)

    def run(self) -> None:
        """Until the program has ended and everything it said is passed on."""
        over = False
        while not over:
            ready = self.poll.poll(AGAIN_MS if self.all_typed else None)
            if self.all_typed and not ready and not self.waiting[KEYS]:
                self.waiting[KEYS] = END_OF_INPUT
            for descriptor, _ in ready:
                if descriptor == 0:
                    self.hear()
                elif descriptor == self.ended:
                    over = True
                elif self.pass_on(descriptor) is None:
                    self.poll.unregister(descriptor)
            self.feed(KEYS, self.terminal)
            self.feed(CHANNEL, self.channel)
        for descriptor in self.outlets:
            while self.pass_on(descriptor):
                pass

    def hear(self) -> None:
        data = os.read(0, 65_536)
        if not data:
            self.poll.unregister(0)
            self.type(b"")
        self.frames += data
        while len(self.frames) >= HEAD.size:
            kind, size = HEAD.unpack_from(self.frames)
            if len(self.frames) < HEAD.size + size:
                return
            body, self.frames = self.frames[HEAD.size : HEAD.size + size], self.frames[HEAD.size + size :]
            if kind == SIZE:
                fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, body)
            elif kind == KEYS:
                self.type(body)
            elif len(self.waiting[CHANNEL]) < MOST_WAITING:
                self.waiting[CHANNEL] += body

    def type(self, keys: bytes) -> None:
        if not keys:
            self.all_typed = True
        if len(self.waiting[KEYS]) < MOST_WAITING:
            self.waiting[KEYS] += keys or END_OF_INPUT

    def feed(self, kind: bytes, into: int | None) -> None:
        if into is None:
            return
        try:
            while self.waiting[kind]:
                self.waiting[kind] = self.waiting[kind][os.write(into, self.waiting[kind]) :]
        except BlockingIOError:
            pass
        except OSError:  # it does not listen any more
            self.waiting[kind] = b""
        try:
            self.poll.modify(into, select.POLLIN | (select.POLLOUT if self.waiting[kind] else 0))
        except FileNotFoundError:
            pass  # nor speak

    def pass_on(self, source: int) -> int | None:
        """How many bytes there were; None at the end."""
        try:
            piece = os.read(source, 65_536)
        except BlockingIOError:
            return 0
        except OSError:  # how the end of a terminal shows
            return None
        size = len(piece)
        while piece:
            piece = piece[os.write(self.outlets[source], piece) :]
        return size or None


def main(rows: str, columns: str, variable: str, *words: str) -> int:
    os.environ.setdefault("TERM", "xterm-256color")
    ours = theirs = None
    if variable:
        ours, theirs = socket.socketpair()
        os.set_inheritable(theirs.fileno(), True)
        os.environ[variable] = str(theirs.fileno())
    terminal, inner = os.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, WINDOW.pack(int(rows), int(columns), 0, 0))
    child = os.fork()
    if child == 0:
        os.login_tty(inner)
        try:
            os.execvp(words[0], words)  # noqa: S606  # inside the sandbox
        except OSError as error:
            os.write(2, f"{words[0]}: {error.strerror}\n".encode())
            os._exit(127)
    os.close(inner)
    if theirs is not None:
        theirs.close()
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGHUP))
    Relay(os.pidfd_open(child), terminal, None if ours is None else ours.fileno()).run()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
