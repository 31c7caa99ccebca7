"""Placeholders for protected paths that do not exist: a mount needs something to be mounted on.

A placeholder is an empty directory even where the name is a file's: git does not show it, and taking it away (rmdir) can
never delete data. Every one is written down outside the workspace before it is made. Processes that share a workspace
hold its journal together; the last to leave, or the next to start after a crash, takes the placeholders away.
"""

import errno
import fcntl
import os
import stat

import msgspec

from signoff.files.lock import locked, try_acquire
from signoff.sandbox.protected import Unprotectable

_GUARD = "guard"


class Entry(msgspec.Struct, frozen=True):
    path: str
    inode: int | None = None  # None: about to be made


class Held:
    """The placeholders of one root while somebody needs them."""

    def __init__(self, folder: str, journal: int, name: str) -> None:
        self._folder = folder
        self._journal = journal
        self._name = name

    def add(self, paths: list[str]) -> None:
        """Make placeholders for those of the paths that do not exist."""
        with locked(_guard(self._folder)):
            known = {entry.path: entry for entry in _read(self._journal) if _is_ours(entry)}
            missing = [path for path in paths if not os.path.lexists(path)]
            _write(self._journal, [*known.values(), *(Entry(path) for path in missing)])
            for path in missing:
                inode = _make(path)
                if inode is not None:
                    known[path] = Entry(path, inode)
            _write(self._journal, list(known.values()))

    def release(self) -> None:
        with locked(_guard(self._folder)):
            _take_away_if_alone(self._folder, self._name, self._journal)
            os.close(self._journal)


def hold(folder: str, root: str) -> Held:
    """Join the holders of a root. The folder is private to the user and lies outside every sandbox."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    found = os.stat(root)
    name = f"{found.st_dev:x}-{found.st_ino:x}"
    with locked(_guard(folder)):
        journal = os.open(os.path.join(folder, name), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        fcntl.flock(journal, fcntl.LOCK_SH)
    return Held(folder, journal, name)


def sweep(folder: str) -> int:
    """Take away what crashed processes left, in every root; how many journals were finished."""
    if not os.path.isdir(folder):
        return 0
    finished = 0
    with locked(_guard(folder)):
        for name in os.listdir(folder):
            if name != _GUARD:
                journal = os.open(os.path.join(folder, name), os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
                finished += _take_away_if_alone(folder, name, journal)
                os.close(journal)
    return finished


def left(folder: str) -> list[str]:
    """Placeholders that nobody holds any more. Looks only, and makes nothing."""
    found: list[str] = []
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        if name == _GUARD:
            continue
        journal = os.open(os.path.join(folder, name), os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            if try_acquire(journal):
                found += [entry.path for entry in _read(journal) if _is_ours(entry)]
        finally:
            os.close(journal)
    return found


def _take_away_if_alone(folder: str, name: str, journal: int) -> bool:
    if not try_acquire(journal):
        return False
    # the innermost first: one may lie in another
    left = [entry for entry in reversed(_read(journal)) if _is_ours(entry) and not _removed(entry.path)][::-1]
    if left:
        _write(journal, left)  # for the next start
        return False
    os.unlink(os.path.join(folder, name))
    return True


def _removed(path: str) -> bool:
    """Whether nothing of ours is there any more; what holds data by now is no longer ours."""
    try:
        os.rmdir(path)
    except PermissionError:
        return _removed_by_force(path)
    except OSError as error:
        return error.errno in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST)
    return True


def _removed_by_force(path: str) -> bool:
    """A command may have made the directory above read-only."""
    above = os.path.dirname(path)
    try:
        mode = stat.S_IMODE(os.stat(above).st_mode)
        os.chmod(above, mode | stat.S_IRWXU)
        try:
            os.rmdir(path)
        finally:
            os.chmod(above, mode)
    except OSError:
        return False
    return True


def _is_ours(entry: Entry) -> bool:
    """Still the directory we made. One that was only about to be made counts while it is a directory: rmdir spares data."""
    try:
        found = os.lstat(entry.path)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and entry.inode in (None, found.st_ino)


def _make(path: str) -> int | None:
    try:
        os.mkdir(path, 0o755)
    except FileExistsError:
        return None
    except OSError as error:
        raise Unprotectable(
            f"{path} cannot be protected, because nothing can be created there: {error.strerror}",
            hint="Run in read-only mode, or give the directory to the user who runs signoff.",
        ) from error
    return os.lstat(path).st_ino


def _read(journal: int) -> list[Entry]:
    """A journal that a full disk or a crash left unreadable names nothing: what it named stays, empty, and does no harm."""
    line, _, _ = os.pread(journal, os.fstat(journal).st_size, 0).partition(
        b"\n"
    )  # behind it may lie an older, longer one
    try:
        return msgspec.json.decode(line, type=list[Entry])
    except msgspec.DecodeError:
        return []


def _write(journal: int, entries: list[Entry]) -> None:
    data = msgspec.json.encode(entries) + b"\n"
    os.pwrite(journal, data, 0)
    os.ftruncate(journal, len(data))


def _guard(folder: str) -> str:
    """The lock under which journals change, one process at a time."""
    return os.path.join(folder, _GUARD)
