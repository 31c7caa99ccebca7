"""The file under a ledger: written at positions, so that a busy run can write over room made ahead.

A sync after an append also commits the file's new size to the file system's journal; over bytes that are there already it
is the data alone. So a run that syncs often gets a stretch of spaces behind its records. They have no end of line: to a
reader they are the beginning of a record that is not there yet. Closing cuts them off.

What was written counts only while it can be found: each write first looks whether the file still has its name and length. Not
by a stat: since Linux 6.13 the write after one dirties the inode with a finer time, and the sync takes a quarter longer.
"""

import errno
import os
import time

QUICK = 0.005  # seconds of a sync for which it does not pay to wake another thread
BUSY = 16  # syncs after which a run is worth some room
ROOM = b" " * (256 * 1024)
LITTLE = len(ROOM) // 4  # when no more of it is left, more is made
PAGE = 4_096


class Disk:
    """The operations that can fail. A test may pass its own."""

    def write(self, descriptor: int, data: bytes, at: int) -> int:
        return os.pwrite(descriptor, data, at)

    def sync(self, descriptor: int) -> None:
        os.fdatasync(descriptor)

    def cut(self, descriptor: int, at: int) -> None:
        os.ftruncate(descriptor, at)


class Paper:
    """A ledger's file and its directory. For one thread at a time, whichever it is."""

    def __init__(self, descriptors: tuple[int, int], disk: Disk) -> None:
        self._file, self._folder = descriptors
        self._place = _place(self._file)
        self._disk = disk
        self._end = 0  # of the records
        self._room_end = 0  # of what was written ahead
        self._safe_end = 0  # of what was synced
        self._syncs = 0
        self._may_have_room = True
        self.quick = False  # the last sync was

    def put(self, data: bytes, *, last: bool = False) -> None:
        """Write records behind the others. Before the `last` ones the room goes: a closed ledger never ends in it."""
        if data:
            self._look()
        if last and self._end < self._room_end:
            self._disk.cut(self._file, self._end)
            self._room_end = 0
        while data:
            written = self._disk.write(self._file, data, self._end)
            self._end += written
            data = data[written:]

    def begin(self) -> None:
        """Set the disk to work on what a sync is about to be made for, without waiting for it. Only ever a help.

        The advice is to forget the pages, which begins with writing them. Parts of pages are not forgotten; whole ones are
        left alone here because that takes longer.
        """
        if (size := self._end - self._safe_end) < PAGE:
            try:
                os.posix_fadvise(self._file, self._safe_end, size, os.POSIX_FADV_DONTNEED)
            except OSError:
                pass

    def sync(self) -> None:
        before = time.monotonic()
        self._disk.sync(self._file)
        if not self._syncs:  # once: so that the file itself outlives a crash
            self._disk.sync(self._folder)
        self._syncs += 1
        self._safe_end = self._end
        self.quick = time.monotonic() - before < QUICK

    def _look(self) -> None:
        if _place(self._file) != self._place:
            raise OSError(errno.ESTALE, "somebody removed, moved or replaced it")
        if os.lseek(self._file, 0, os.SEEK_END) < max(self._end, self._room_end):
            raise OSError(errno.ESTALE, "somebody cut it short")

    @property
    def wants_room(self) -> bool:
        return self._room_end - self._end < LITTLE and self._syncs >= BUSY and self._may_have_room

    def make_room(self) -> None:
        """Write ahead. A disk that has no place for it may still have one for records; a sync that fails is final."""
        at = max(self._end, self._room_end)
        try:
            self._room_end = at + self._disk.write(self._file, ROOM, at)
        except OSError:
            self._may_have_room = False
            return
        self.sync()

    def close(self) -> None:
        os.close(self._file)
        os.close(self._folder)


def _place(file: int) -> str | None:
    """Where it can be found by its name; None where the system does not tell."""
    try:
        return os.readlink(f"/proc/self/fd/{file}")
    except FileNotFoundError:
        return None
