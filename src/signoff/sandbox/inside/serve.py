"""Serve one command at a time from inside: spawn, watch, stop, and leave nothing alive.

The control socket keeps message borders. Towards us: RUN with a byte that says which descriptors come along, or STOP with
the milliseconds between SIGTERM and SIGKILL. From us: fixed-size replies. The parent never evaluates anything that comes
from here.

What a command writes goes into pipes that stay from one command to the next: when it has ended nothing is left that could
hold an end of them, and making new ones would be the dearest part of a short command.
"""

import _signal  # type: ignore[import-not-found]  # `signal` takes five milliseconds to load
import _socket
import fcntl
import os
import select
import struct
import time

from signoff.sandbox.inside.spawn import Spawner

RUN, STOP = 0x52, 0x53
INPUT, OUTPUTS, WORDS = (
    1,
    2,
    4,
)  # descriptors sent along, in this order: standard input; output and error; a file of words
READY, FAILED, UNMAPPABLE, UNPROTECTABLE, ENDED, NO_DIRECTORY, NO_PROGRAM = range(7)
REPLY = struct.Struct("<Biii")  # kind, wait status or error number, leftovers, Landlock level
LONGEST_MESSAGE = 32_768
PIPE_SIZE = 65_536
_TICK_MS = 100
_NOTHING_LEFT = ChildProcessError


class Served:
    def __init__(self, control: _socket.socket, spawner: Spawner) -> None:
        self.control = control
        self.spawner = spawner
        self.alone = os.getpid() == 1
        self.nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)  # the standard input of most commands
        os.dup2(self.nothing, 0)
        self.watched = -1  # the command, while it runs
        self.poll = select.poll()
        self.poll.register(control.fileno(), select.POLLIN)

    def loop(self) -> None:
        """Until the parent is gone."""
        room = _socket.CMSG_SPACE(4 * 4)
        while True:
            data, ancillary, _, _ = self.control.recvmsg(LONGEST_MESSAGE, room, _socket.MSG_CMSG_CLOEXEC)
            if not data:
                return
            if data[0] == RUN:  # a STOP here came too late for its command
                if ancillary:
                    data = self._take(data, ancillary[0][2])
                self.control.send(REPLY.pack(*self._command(data), 0))
                self._tidy()

    def _take(self, data: bytes, rights: bytes) -> bytes:
        """Put the descriptors that came along where the command finds them; the message, with its words."""
        descriptors = list(struct.unpack(f"{len(rights) // 4}i", rights))
        targets = [0] * bool(data[1] & INPUT) + [1, 2] * bool(data[1] & OUTPUTS)
        for target, descriptor in zip(targets, descriptors, strict=False):
            os.dup2(descriptor, target)
        if data[1] & WORDS:
            data = data[:2] + os.pread(descriptors[-1], os.fstat(descriptors[-1]).st_size, 0)
        for descriptor in descriptors:
            os.close(descriptor)
        return data

    def _tidy(self) -> None:
        """Whatever nobody waits for. A command can change how its pipes behave; the next one finds them as they were."""
        if self.watched >= 0:
            self.poll.unregister(self.watched)
            os.close(self.watched)
            self.watched = -1
        for pipe in (1, 2):
            try:
                fcntl.fcntl(pipe, fcntl.F_SETFL, 0)
                os.fchmod(pipe, 0o600)
                if fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ) != PIPE_SIZE:
                    fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_SIZE)
            except OSError:
                pass  # a pipe made larger stays so until it is empty; what is not ours to change was not the command's

    def _command(self, data: bytes) -> tuple[int, int, int]:
        directory, *words = data[2:].split(b"\0")
        try:
            os.chdir(directory)
        except OSError as error:
            return NO_DIRECTORY, error.errno or 0, 0
        try:
            child = self.spawner.spawn(words)
        except OSError as error:
            return NO_PROGRAM, error.errno or 0, 0
        finally:
            if data[1] & INPUT:
                os.dup2(self.nothing, 0)  # else nobody would notice that the command reads no more
        status = self._watch(child)
        return ENDED, status, self._end_all()

    def _watch(self, child: int) -> int:
        """The child's wait status. Orphans are collected on the way: they count against the process limit."""
        watched = self.watched = os.pidfd_open(child)
        self.poll.register(watched, select.POLLIN)
        deadline = None
        while True:
            for descriptor, _ in self.poll.poll(_TICK_MS):
                if descriptor == watched:
                    return os.waitpid(child, 0)[1]
                deadline = self._told()
            if deadline is not None and time.monotonic() >= deadline:
                os.kill(child, _signal.SIGKILL)
                return os.waitpid(child, 0)[1]
            self._collect_orphans(child)

    def _told(self) -> float:
        data = self.control.recv(LONGEST_MESSAGE)
        if not data:
            self._end_all()
            os._exit(0)  # the parent is gone: as process 1 this ends everything here
        grace = int.from_bytes(data[1:5], "little")
        if grace:
            self._signal_all(_signal.SIGTERM)
        return time.monotonic() + grace / 1000

    def _collect_orphans(self, child: int) -> None:
        while True:
            try:
                found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except _NOTHING_LEFT:
                return
            if found is None or found.si_pid == child:
                return
            os.waitpid(found.si_pid, 0)

    def _end_all(self) -> int:
        """Collect what has ended, then kill and collect until nothing is left; how many had to be killed."""
        killed = 0
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
            while True:
                self._signal_all(_signal.SIGKILL)
                os.waitpid(-1, 0)
                killed += 1
        except _NOTHING_LEFT:
            return killed

    def _signal_all(self, number: int) -> None:
        # -1 means every process of the namespace to process 1 and every process of the user to anyone else.
        targets = [-1] if self.alone and os.getpid() == 1 else descendants(os.getpid())
        for target in targets:
            try:
                os.kill(target, number)
            except ProcessLookupError:
                pass


def descendants(process: int) -> list[int]:
    """Without a PID namespace: everything below, children of dead parents included since we adopt them."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{thread}/children", "rb") as file:
                found += [int(word) for word in file.read().split()]
    except OSError:
        return found
    return found + [below for child in found for below in descendants(child)]
