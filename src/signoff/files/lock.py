"""Take turns between processes. Every wait has a limit, and the kernel releases the lock of a process that dies."""

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterator

from signoff.domain.errors import FileRefused, ToolConflict

WAIT_SECONDS = 5.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.001, 0.05


@contextlib.contextmanager
def locked(path: str, *, wait: float = WAIT_SECONDS, shared: bool = False) -> Iterator[None]:
    """Hold the lock file `path`, alone or with others who share it. It stays behind afterwards: removing a lock file lets
    two holders in."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise FileRefused(f"cannot open the lock file {path}: {error.strerror}") from error
    try:
        acquire(descriptor, what=path, wait=wait, shared=shared)
        yield
    finally:
        os.close(descriptor)


def acquire(descriptor: int, *, what: str, wait: float = WAIT_SECONDS, shared: bool = False) -> None:
    """Lock an open file; closing it releases the lock."""
    deadline = time.monotonic() + wait
    pause = _FIRST_PAUSE
    while not try_acquire(descriptor, shared=shared):
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            raise ToolConflict(
                f"{what} is still held by another process after {wait:g} s", hint="wait for it to end, then try again"
            )
        time.sleep(min(pause, remaining))
        pause = min(pause * 2, _LONGEST_PAUSE)


def try_acquire(descriptor: int, *, shared: bool = False) -> bool:
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise
    return True
