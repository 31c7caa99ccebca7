"""Replace a file so that whoever looks, and whenever the machine stops, sees the old content or the new, never a mixture.

Write a temporary file beside the target, sync it, rename it over the target, sync the directory. The temporary name
follows from the target's name and its writer holds a lock on it: the next writer of the same target finds what a dead
one left behind and removes it, and waits for a living one.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, ParamSpec, Protocol, TypeVar

from signoff.domain.errors import FileRefused, ToolConflict
from signoff.domain.late import late
from signoff.files.lock import WAIT_SECONDS, acquire, try_acquire

if TYPE_CHECKING:
    import hashlib
else:
    hashlib = late("hashlib")

P = ParamSpec("P")
T = TypeVar("T")

_SUFFIX = ".signoff-new"
_LONGEST_NAME = 255
_ATTEMPTS = 100


class Caller(Protocol):
    """Every system call that changes something goes through one of these, so that a test can fail or die at the N-th."""

    def __call__(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T: ...


def _call(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    return function(*args, **kwargs)


def write(path: str, data: bytes, *, mode: int = 0o666, call: Caller = _call) -> None:
    """Replace the file at `path`. A symbolic link stays and the file it names is replaced.

    An existing file keeps its permission bits; `mode`, less the umask, is for a new one.
    """
    real = os.path.realpath(path)
    try:
        with _directory(os.path.dirname(real)) as directory:
            write_at(directory, os.path.basename(real), data, mode=mode, call=call)
    except OSError as error:
        raise FileRefused(f"cannot write {path}: {error.strerror}") from error


def write_at(
    directory: int, name: str, data: bytes, *, mode: int = 0o666, settle: bool = True, call: Caller = _call
) -> None:
    """Replace `name` in an open directory. Raises OSError; the old content is then still there, or the new one is.

    Without `settle` the caller syncs the directory, once for many files; until then a crash may bring the old one back.
    """
    existing = _existing(directory, name)
    temporary = temporary_name(name)
    descriptor = _create(directory, temporary, 0o600 if existing else mode, call)
    named = True
    try:
        if existing:
            _keep_owner_and_mode(descriptor, existing, call)
        left = memoryview(data)
        while left:
            left = left[call(os.write, descriptor, left) :]
        call(os.fsync, descriptor)
        call(os.rename, temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
        named = False
        if settle:
            call(os.fsync, directory)
    finally:
        if named:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=directory)
        os.close(descriptor)


def recover(directory: str) -> list[str]:
    """Remove what writers that died left in this directory, and say what it was. Living writers are left alone."""
    with _directory(directory) as descriptor:
        names = [name for name in os.listdir(descriptor) if name.startswith(".") and name.endswith(_SUFFIX)]
        return [name for name in names if _remove_stale(descriptor, name)]


def temporary_name(name: str) -> str:
    """Where the new content of `name` is gathered; never longer than a file name may be."""
    whole = f".{name}{_SUFFIX}"
    if len(os.fsencode(whole)) <= _LONGEST_NAME:
        return whole
    return f".{hashlib.sha256(os.fsencode(name)).hexdigest()}{_SUFFIX}"


def _create(directory: int, name: str, mode: int, call: Caller) -> int:
    for _ in range(_ATTEMPTS):
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
            descriptor = call(os.open, name, flags, mode, dir_fd=directory)
        except FileExistsError:
            _wait_for_writer(directory, name)
            continue
        # A sweeper that came between the two calls took the lock first and removed the name: then start again.
        if try_acquire(descriptor) and os.fstat(descriptor).st_nlink:
            return descriptor
        os.close(descriptor)
    raise ToolConflict(f"{name} is being written by other processes without end", hint="try again")


def _wait_for_writer(directory: int, name: str) -> None:
    try:
        with _opened(directory, name) as descriptor:
            acquire(descriptor, what=name, wait=WAIT_SECONDS)
            _remove_if_same(directory, name, descriptor)
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        os.unlink(name, dir_fd=directory)  # a link somebody planted under our name: no writer of ours makes one


def _remove_stale(directory: int, name: str) -> bool:
    try:
        with _opened(directory, name) as descriptor:
            return try_acquire(descriptor) and _remove_if_same(directory, name, descriptor)
    except OSError:
        return False


def _remove_if_same(directory: int, name: str, descriptor: int) -> bool:
    """Remove the name while holding the lock of the file behind it; after a rename it is somebody else's."""
    held, found = os.fstat(descriptor), os.stat(name, dir_fd=directory, follow_symlinks=False)
    if not os.path.samestat(held, found):
        return False
    os.unlink(name, dir_fd=directory)
    return True


def _existing(directory: int, name: str) -> os.stat_result | None:
    try:
        found = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "not a regular file")
    return found


def _keep_owner_and_mode(descriptor: int, existing: os.stat_result, call: Caller) -> None:
    own = os.fstat(descriptor)
    if (own.st_uid, own.st_gid) != (existing.st_uid, existing.st_gid):
        with contextlib.suppress(PermissionError):  # only root may give files away
            call(os.fchown, descriptor, existing.st_uid, existing.st_gid)
    # never the set-uid and set-gid bits: new content does not inherit somebody's authority
    call(os.fchmod, descriptor, existing.st_mode & 0o777)


@contextlib.contextmanager
def _directory(path: str) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _opened(directory: int, name: str) -> Iterator[int]:
    descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=directory)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
