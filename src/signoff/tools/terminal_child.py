"""Run a program on a terminal of its own and pass on what it writes, in a process in the sandbox.

Handed as text to a Python in there, so it may use nothing but the standard library. The arguments are the program's words; the
exit status is the program's, 128+N if signal N ended it. Nobody types: whoever reads from the terminal finds its end.
"""

import fcntl
import os
import pty
import signal
import struct
import sys
import termios

ROWS, COLUMNS = 24, 120
END_OF_INPUT = b"\x04"


def main(words: list[str]) -> int:
    os.environ.setdefault("TERM", "xterm-256color")
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        try:
            os.execvp(words[0], words)  # noqa: S606  # inside the sandbox
        except OSError as error:
            os.write(2, f"{words[0]}: {error.strerror}\n".encode())
            os._exit(127)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGHUP))
    os.write(terminal, END_OF_INPUT)
    while piece := read(terminal):
        while piece:
            piece = piece[os.write(1, piece) :]
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return status if status >= 0 else 128 - status


def read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # how the end of a terminal shows
        return b""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
