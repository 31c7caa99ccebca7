"""Start a program and talk to it: pipes or a terminal of its own, its own session, reaped, and gone when we say so.

Serves everything that is a conversation rather than a sandboxed command: supervised agents, protocol peers, git, an
editor. No event loop is needed and none is in the way: the pipes and `ended` are plain descriptors that a thread can
block on or a loop can watch.

`stop` ends the whole family: the session, every descendant, and whoever still carries the mark we put into the
environment. Only a program that left the session, lost its parent AND wiped its environment escapes; for a guarantee,
run it in a sandbox, where the kernel ends everything.
"""

import contextlib
import enum
import os
import select
import signal
import subprocess
import termios
import uuid
from collections.abc import Iterator, Mapping, Sequence
from fcntl import ioctl
from typing import NamedTuple

from signoff.domain.errors import ChildFailed

GRACE_SECONDS = 2.0
_MARK = "SIGNOFF_CHILD"
_LONGEST_DEATH_MS = 200  # between SIGKILL and the end, on a busy machine
_ROUNDS = 20  # of killing what is found, until nothing is found: a family may grow while it is being ended
_ONTO_TERMINAL = 'exec 0<>"$0" 1>&0 2>&0; exec "$@"'  # the first terminal a session's leader opens becomes its own


class Stream(enum.Enum):
    """What one of a child's three streams is connected to, unless it is a descriptor of ours."""

    PIPE = subprocess.PIPE
    NULL = subprocess.DEVNULL
    INHERIT = None


class Group(enum.Enum):
    """`SESSION`: apart from our terminal. `FOREGROUND`: in our session and group, like an editor, so that Ctrl-C and job
    control reach it; such a child is ended alone."""

    SESSION = "session"
    FOREGROUND = "foreground"


class Child:
    """A running program. Close it, or use it as a context manager: leaving ends the program and its family."""

    def __init__(self, process: subprocess.Popen[bytes], group: Group, mark: str, terminal: int | None) -> None:
        self._process, self._group, self._mark = process, group, mark
        self.pid = process.pid
        self.ended = os.pidfd_open(process.pid)  # readable once the program has ended
        self.terminal = terminal
        self._alone = group is not Group.SESSION  # nobody else is left to be ended
        pipes = (process.stdin, process.stdout, process.stderr)
        self.stdin, self.stdout, self.stderr = (None if pipe is None else pipe.fileno() for pipe in pipes)

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def wait(self, seconds: float | None = None) -> int | None:
        """The exit status, -N for signal N; None if it still runs after so many seconds."""
        watch = select.poll()
        watch.register(self.ended, select.POLLIN)
        if not watch.poll(None if seconds is None else max(0, int(seconds * 1000))):
            return None
        return self._status()

    def signal(self, number: int) -> None:
        """To the program and, if it has a session of its own, to its whole process group."""
        with contextlib.suppress(ProcessLookupError):
            if self._group is Group.SESSION:
                os.killpg(self.pid, number)
            else:
                signal.pidfd_send_signal(self.ended, number)

    def stop(self, grace: float = GRACE_SECONDS) -> int:
        """SIGTERM, a moment of grace, SIGKILL; then whoever is left of the family. The status of the program."""
        if self.wait(0) is None:
            self.signal(signal.SIGTERM)
            if self.wait(grace) is None:
                self.signal(signal.SIGKILL)
        if not self._alone:
            self._alone = _end_family(self.pid, self._mark)
        self.wait()
        return self._status()

    def _status(self) -> int:
        """Of a program that has ended. It stays unreaped until `close`: its number, which names its session and group,
        cannot become somebody else's while we may still send signals there."""
        result = os.waitid(os.P_PIDFD, self.ended, os.WEXITED | os.WNOWAIT)
        assert result is not None
        return result.si_status if result.si_code == os.CLD_EXITED else -result.si_status

    def hand_over(self) -> tuple[int | None, int | None, int | None]:
        """Our ends of the three streams, from now on the caller's to close."""
        given = tuple(None if each is None else os.dup(each) for each in (self.stdin, self.stdout, self.stderr))
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()
        self.stdin, self.stdout, self.stderr = None, None, None
        return given[0], given[1], given[2]

    def close_stdin(self) -> None:
        """The end of what we say; the program sees end of file."""
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        self.stdin = None

    def close(self) -> None:
        """End the program and its family and give everything back. Twice is as good as once."""
        if self.ended < 0:
            return
        self.close_stdin()
        self.stop()
        self._process.wait()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()
        for descriptor in (self.ended, self.terminal):
            if descriptor is not None:
                os.close(descriptor)
        self.ended, self.terminal, self.stdout, self.stderr = -1, None, None, None


def start(
    argv: Sequence[str],
    *,
    environ: Mapping[str, str],
    cwd: str,
    stdin: Stream | int = Stream.PIPE,
    stdout: Stream | int = Stream.PIPE,
    stderr: Stream | int = Stream.PIPE,
    group: Group = Group.SESSION,
    pass_descriptors: Sequence[int] = (),
) -> Child:
    """Start a program with exactly this environment and no descriptor of ours but those named."""
    mark = uuid.uuid4().hex
    streams = [each.value if isinstance(each, Stream) else each for each in (stdin, stdout, stderr)]
    process = _spawn(_resolve(argv, environ, cwd), environ, cwd, mark, streams, group, pass_descriptors)
    return Child(process, group, mark, None)


def start_on_terminal(
    argv: Sequence[str], *, environ: Mapping[str, str], cwd: str, pass_descriptors: Sequence[int] = ()
) -> Child:
    """Start a program on a terminal of its own, as large as ours; `terminal` is our end of it, to read and to write."""
    ours, theirs = os.openpty()
    try:
        with contextlib.suppress(OSError):  # we have none
            ioctl(theirs, termios.TIOCSWINSZ, ioctl(0, termios.TIOCGWINSZ, bytes(8)))
        mark = uuid.uuid4().hex
        wrapped = ["/bin/sh", "-c", _ONTO_TERMINAL, os.ttyname(theirs), *_resolve(argv, environ, cwd)]
        process = _spawn(wrapped, environ, cwd, mark, [theirs] * 3, Group.SESSION, pass_descriptors)
        return Child(process, Group.SESSION, mark, ours)
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)


def _spawn(
    argv: Sequence[str],
    environ: Mapping[str, str],
    cwd: str,
    mark: str,
    streams: Sequence[int | None],
    group: Group,
    pass_descriptors: Sequence[int],
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            list(argv),
            stdin=streams[0],
            stdout=streams[1],
            stderr=streams[2],
            cwd=cwd,
            env={**environ, _MARK: mark},
            start_new_session=group is Group.SESSION,
            pass_fds=tuple(pass_descriptors),
            bufsize=0,
        )
    except (OSError, ValueError) as error:
        raise ChildFailed(f"cannot start {argv[0]}: {getattr(error, 'strerror', None) or error}") from error


def _resolve(argv: Sequence[str], environ: Mapping[str, str], cwd: str) -> list[str]:
    """The program looked up in the child's own PATH, and told apart from a missing directory: both say ENOENT."""
    if not argv or not argv[0]:
        raise ChildFailed("there is no program to start")
    if not os.path.isdir(cwd):
        raise ChildFailed(f"cannot start {argv[0]} in {cwd}: no such directory")
    if "/" in argv[0]:
        return list(argv)
    places = (os.path.join(place, argv[0]) for place in environ.get("PATH", os.defpath).split(os.pathsep))
    program = next((path for path in places if os.path.isfile(path) and os.access(path, os.X_OK)), None)
    if program is None:
        raise ChildFailed(f"cannot start {argv[0]}: not found in PATH", hint="check the name, or give its full path")
    return [os.path.abspath(program), *argv[1:]]


def _end_family(leader: int, mark: str) -> bool:
    """Kill everyone found, and look again until nobody is: then nobody is left who could bring up more."""
    for _ in range(_ROUNDS):
        members = _family(leader, mark)
        for member in members:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(member, signal.SIGKILL)
        for member in members:
            watch = select.poll()
            watch.register(member, select.POLLIN)
            watch.poll(_LONGEST_DEATH_MS)
            os.close(member)
        if not members:
            return True
    return False


def _family(leader: int, mark: str) -> list[int]:
    """A descriptor for each living process that belongs to the child: by session, by descent, or by mark."""
    seen = {pid: process for pid in _pids() if (process := _look(pid)) is not None}
    wanted, began = f"{_MARK}={mark}".encode(), _started(leader)
    chosen = {
        pid
        for pid, process in seen.items()
        if process.session == leader or (process.started >= began and wanted in _environ(pid))
    }
    while more := {pid for pid, process in seen.items() if process.parent in chosen} - chosen:
        chosen |= more
    members = []
    for pid in chosen - {os.getpid()}:
        with contextlib.suppress(ProcessLookupError):
            member = os.pidfd_open(pid)
            if _look(pid) == seen[pid]:
                members.append(member)
            else:  # the number belongs to somebody else by now
                os.close(member)
    return members


class _Process(NamedTuple):
    parent: int
    session: int
    started: int


def _pids() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit())


def _look(pid: int) -> _Process | None:
    """None for one that is gone, or dead and only waiting to be reaped."""
    fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    if not fields or fields[0] in (b"Z", b"X"):
        return None
    return _Process(parent=int(fields[1]), session=int(fields[3]), started=int(fields[19]))


def _started(pid: int) -> int:
    """When, in ticks since the system's start; of one that is dead and not reaped, too. 0: it is gone."""
    fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return int(fields[19]) if fields else 0


def _environ(pid: int) -> list[bytes]:
    return _read(f"/proc/{pid}/environ").split(b"\0")


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:  # gone meanwhile, or not ours to look at
        return b""
