"""Serve one command at a time from inside: spawn, watch, stop, and leave nothing alive.

The control socket keeps message borders. Towards us: RUN with three descriptors (and a fourth that holds the words when
they are too long for a message), or STOP with the milliseconds between SIGTERM and SIGKILL. From us: fixed-size replies.
The parent never evaluates anything that comes from here.
"""

import _signal  # type: ignore[import-not-found]  # `signal` takes five milliseconds to load
import _socket
import os
import select
import struct
import time

RUN, STOP = b"R", b"S"
READY, FAILED, UNMAPPABLE, ENDED, NO_DIRECTORY, NO_PROGRAM = range(6)
REPLY = struct.Struct("<Biii")  # kind, wait status or error number, leftovers, Landlock level
LONGEST_MESSAGE = 65_536
_TICK_MS = 100
_NOTHING_LEFT = ChildProcessError


class Spawner:
    """The environment and the search path, prepared once for the session."""

    def __init__(self, environment: dict[bytes, bytes]) -> None:
        self.environment = environment
        self.path = [part or b"." for part in environment.get(b"PATH", b"/usr/bin:/bin").split(b":")]
        self.found: dict[bytes, bytes] = {}

    def spawn(self, words: list[bytes], descriptors: list[int]) -> int:
        actions = [(os.POSIX_SPAWN_DUP2, source, target) for target, source in enumerate(descriptors[:3])]
        known = self.found.get(words[0])
        if known is not None:
            try:
                return os.posix_spawn(known, words, self.environment, file_actions=actions, setsid=True)
            except FileNotFoundError:
                del self.found[words[0]]
        program = self._find(words[0])
        return os.posix_spawn(program, words, self.environment, file_actions=actions, setsid=True)

    def _find(self, name: bytes) -> bytes:
        """As a shell does, and like a shell remembering it, but only what no command can replace."""
        if b"/" in name:
            return name
        for directory in self.path:
            candidate = directory + b"/" + name
            if os.access(candidate, os.X_OK) and not os.path.isdir(candidate):
                if not any(os.access(place, os.W_OK) for place in self.path):
                    self.found[name] = candidate
                return candidate
        raise FileNotFoundError(2, "not found on PATH")


class Served:
    def __init__(self, control: _socket.socket, spawner: Spawner) -> None:
        self.control = control
        self.spawner = spawner
        self.alone = os.getpid() == 1
        self.poll = select.poll()
        self.poll.register(control.fileno(), select.POLLIN)

    def loop(self) -> None:
        """Until the parent is gone."""
        room = _socket.CMSG_SPACE(4 * 4)
        while True:
            data, ancillary, _, _ = self.control.recvmsg(LONGEST_MESSAGE, room, _socket.MSG_CMSG_CLOEXEC)
            if not data:
                return
            if data[:1] == RUN:  # a STOP here came too late for its command
                descriptors = list(struct.unpack(f"{len(ancillary[0][2]) // 4}i", ancillary[0][2]))
                self.control.send(REPLY.pack(*self._command(data[1:], descriptors), 0))

    def _command(self, data: bytes, descriptors: list[int]) -> tuple[int, int, int]:
        try:
            if len(descriptors) > 3:
                data = os.pread(descriptors[3], os.fstat(descriptors[3]).st_size, 0)
            directory, *words = data.split(b"\0")
            try:
                os.chdir(directory)
            except OSError as error:
                return NO_DIRECTORY, error.errno or 0, 0
            try:
                child = self.spawner.spawn(words, descriptors)
            except OSError as error:
                return NO_PROGRAM, error.errno or 0, 0
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        status = self._watch(child)
        return ENDED, status, self._end_all()

    def _watch(self, child: int) -> int:
        """The child's wait status. Orphans are collected on the way: they count against the process limit."""
        watched = os.pidfd_open(child)
        self.poll.register(watched, select.POLLIN)
        deadline = None
        try:
            while True:
                for descriptor, _ in self.poll.poll(_TICK_MS):
                    if descriptor == watched:
                        return os.waitpid(child, 0)[1]
                    deadline = self._told()
                if deadline is not None and time.monotonic() >= deadline:
                    os.kill(child, _signal.SIGKILL)
                    return os.waitpid(child, 0)[1]
                self._collect_orphans(child)
        finally:
            self.poll.unregister(watched)
            os.close(watched)

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
        """Kill and collect until nothing is left; how many there were."""
        ended = self._collect_dead()
        killed = 0
        while ended is not None:
            self._signal_all(_signal.SIGKILL)
            try:
                os.waitpid(-1, 0)
            except _NOTHING_LEFT:
                break
            killed += 1
        return killed

    def _collect_dead(self) -> int | None:
        """Take what has already ended; None when no child is left at all."""
        count = 0
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                count += 1
        except _NOTHING_LEFT:
            return None
        return count

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
