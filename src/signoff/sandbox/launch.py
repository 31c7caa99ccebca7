"""The parent's side of a zygote: start it, talk to it, end it."""

import _socket
import array
import contextlib
import fcntl
import os
import select
import struct
import sys

import msgspec

import signoff
from signoff.domain.errors import ChildLost, NotEnforceable
from signoff.sandbox.cgroups import Group
from signoff.sandbox.inside import serve, zygote
from signoff.sandbox.notices import Notices
from signoff.sandbox.protected import Unprotectable

_START = "import sys;sys.path.append(sys.argv[1]);from signoff.sandbox.inside.zygote import start;start(3,4)"
_START_MS = 20_000
_END_MS = 5_000
PACKAGES = os.path.dirname(os.path.dirname(os.path.abspath(signoff.__file__)))


class Unmappable(NotEnforceable):
    """The workspace cannot be shown under another owner; another identity may do."""


_REFUSALS = {serve.UNMAPPABLE: Unmappable, serve.UNPROTECTABLE: Unprotectable}


class Planned(msgspec.Struct, frozen=True):
    """What a zygote is started with: its plan, and the program that starts it where that is not we ourselves."""

    data: bytes
    wrapper: tuple[str, ...] = ()


class Pipes:
    """What a zygote's commands write into. Our ends are watched together with its socket, which comes first: whoever
    sees an answer sees in the same look all that was written before it."""

    __slots__ = ("error", "output", "poll", "writers")

    def __init__(self, watched: list[int], owner: tuple[int, int] | None) -> None:
        self.output, out = os.pipe2(os.O_CLOEXEC)
        self.error, err = os.pipe2(os.O_CLOEXEC)
        self.writers: tuple[int, ...] = (out, err)  # until they are handed over
        if owner is not None:  # else a command could not open /dev/stdout again by its name
            for pipe in self.writers:
                os.fchown(pipe, *owner)
        self.poll = select.poll()
        for descriptor in (*watched, self.output, self.error):
            self.poll.register(descriptor, select.POLLIN)

    def handed_over(self) -> None:
        for pipe in self.writers:
            os.close(pipe)
        self.writers = ()

    def close(self) -> None:
        self.handed_over()
        os.close(self.output)
        os.close(self.error)


class Zygote:
    """One process tree inside, one command at a time. Not for several threads at once."""

    def __init__(self, process: int, control: _socket.socket) -> None:
        self.process = process  # the guard, or the zygote itself where there are no namespaces
        self.control = control
        self._pipes: Pipes | None = None
        self.owner: tuple[int, int] | None = None  # of the pipes, where the commands are not us
        self.alone = False  # in a PID namespace: when a command has ended nobody can hold an end of its pipes
        self.level = 0
        self.lost = False  # it gave no answer: never to be used again
        self.listener: int | None = None
        self.notices: Notices | None = None  # what the filter refuses, where the kernel tells
        self.group: Group | None = None  # counts for the whole tree, where there is one
        self.refused: list[str] = []  # hosts the running command asked for in vain

    def await_ready(self) -> None:
        if not _readable(self.control.fileno(), _START_MS):
            raise NotEnforceable("the sandbox did not start in time")
        data, ancillary, _, _ = self.control.recvmsg(8_192, _socket.CMSG_SPACE(8), _socket.MSG_CMSG_CLOEXEC)
        if len(data) < serve.REPLY.size:
            raise NotEnforceable("the sandbox ended before it was ready")
        kind, _, bits, self.level = serve.REPLY.unpack_from(data)
        if ancillary:
            sent = [each for (each,) in struct.iter_unpack("i", ancillary[0][2])]
            self.listener = sent.pop(0) if bits & 1 else None
            self.notices = Notices(sent.pop(0)) if bits & 2 else None
        if kind != serve.READY:
            reason = data[serve.REPLY.size :].decode("utf-8", "replace")
            raise _REFUSALS.get(kind, NotEnforceable)(f"the sandbox cannot be set up: {reason}")

    def open_pipes(self) -> Pipes:
        """For the next command: those of the one before, where only we and the zygote can have them."""
        if self._pipes is not None and not self.alone:
            self._pipes.close()
            self._pipes = None
        if self._pipes is None:
            self._pipes = Pipes(self._watched(), self.owner)
        return self._pipes

    def _watched(self) -> list[int]:
        return [self.control.fileno(), *([self.notices.descriptor] if self.notices else [])]

    def request(self, cwd: str, argv: tuple[str, ...], stdin: int | None, outputs: tuple[int, ...]) -> None:
        """`outputs`: where to write from now on, or nothing: where the command before wrote."""
        words = b"\0".join(map(os.fsencode, (cwd, *argv)))
        kinds = (serve.INPUT if stdin is not None else 0) | (serve.OUTPUTS if outputs else 0)
        descriptors = [*(() if stdin is None else (stdin,)), *outputs]
        held = None
        if len(words) >= serve.LONGEST_MESSAGE - 2:
            held = os.memfd_create("words")
            _write_all(held, words)
            words, kinds, descriptors = b"", kinds | serve.WORDS, [*descriptors, held]
        try:
            message = bytes((serve.RUN, kinds)) + words
            if descriptors:
                rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array.array("i", descriptors))]
                self.control.sendmsg([message], rights)
            else:
                self.control.send(message)
        except OSError as error:
            raise ChildLost("the sandbox is gone") from error
        finally:
            if held is not None:
                os.close(held)

    def stop(self, grace_ms: int) -> None:
        """SIGTERM to everything, SIGKILL after the grace; at once when there is none."""
        with contextlib.suppress(OSError):
            self.control.send(bytes((serve.STOP,)) + grace_ms.to_bytes(4, "little"))

    def reply(self) -> tuple[int, int, int] | None:
        """Kind, status or error number, leftovers; None when the zygote is gone."""
        try:
            data = self.control.recv(serve.REPLY.size)
        except ConnectionError:
            return None
        if len(data) != serve.REPLY.size:
            return None
        kind, status, leftovers, _ = serve.REPLY.unpack(data)
        return kind, status, leftovers

    def close(self) -> None:
        """It ends by itself when the socket closes; if not in time, it is killed. Collected either way."""
        self.control.close()
        if self._pipes is not None:
            self._pipes.close()
        if self.listener is not None:
            os.close(self.listener)
        if self.notices is not None:
            os.close(self.notices.descriptor)
        _collect(self.process, 0 if self.lost else _END_MS)
        if self.group is not None:
            self.group.__exit__()


def spawn(plan: Planned) -> Zygote:
    """A bare interpreter of its own: a big parent with threads is never forked."""
    here, there = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    description = os.memfd_create("plan")
    _write_all(description, plan.data)
    moved = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10) for descriptor in (there.fileno(), description)]
    actions = [
        *((os.POSIX_SPAWN_OPEN, standard, "/dev/null", os.O_RDWR, 0) for standard in (0, 1, 2)),
        *((os.POSIX_SPAWN_DUP2, source, target) for source, target in zip(moved, (3, 4), strict=True)),
    ]
    try:
        words = [*plan.wrapper, sys.executable, "-I", "-S", "-c", _START, PACKAGES]
        process = os.posix_spawn(words[0], words, {}, file_actions=actions)
    except OSError as error:
        here.close()
        raise NotEnforceable(f"the sandbox process cannot be started: {error.strerror}") from error
    finally:
        there.close()
        for descriptor in (description, *moved):
            os.close(descriptor)
    return _ready(Zygote(process, here))


def fork(plan: Planned) -> Zygote:
    """For a small parent without threads, which does nothing else: saves an interpreter's start."""
    if plan.wrapper:
        return spawn(plan)
    here, there = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    process = os.fork()
    if process == 0:
        zygote.enter(there.detach(), zygote.Plan(plan.data))
    there.close()
    return _ready(Zygote(process, here))


def _ready(started: Zygote) -> Zygote:
    try:
        started.await_ready()
    except BaseException:
        started.close()
        raise
    return started


def _collect(process: int, patience_ms: int) -> None:
    try:
        watched = os.pidfd_open(process)
    except ProcessLookupError:
        return
    try:
        if not _readable(watched, patience_ms):
            os.kill(process, 9)  # the guard: its zygote dies with it, and everything inside with that
        os.waitpid(process, 0)
    except ChildProcessError:
        pass  # somebody else in this process collected it
    finally:
        os.close(watched)


def _readable(descriptor: int, timeout_ms: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(timeout_ms))


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
