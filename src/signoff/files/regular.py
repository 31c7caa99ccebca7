"""Open what somebody else may have put there: a regular file, or an error at once. No pipe is waited for, no device read."""

import errno
import os
import stat
from collections.abc import Callable

Opener = Callable[[str, int], int]


def opener(path: str, flags: int) -> int:
    """For `open(…, opener=opener)`. No link is followed."""
    return following(path, flags | os.O_NOFOLLOW)


def following(path: str, flags: int) -> int:
    """The same where a person may well have put a link. What is made new is private."""
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file", path)
    return descriptor


def unshared(path: str, flags: int) -> int:
    """The same for what decides what is allowed: not if anybody but its owner's group, its owner and root can write it."""
    descriptor = following(path, flags)
    found = os.fstat(descriptor)
    if found.st_mode & stat.S_IWOTH or (os.geteuid() and found.st_uid not in (0, os.geteuid())):
        os.close(descriptor)
        raise PermissionError(errno.EPERM, "others can change it", path)
    return descriptor


def content(path: str | os.PathLike[str], largest: int, opener: Opener = following) -> bytes:
    """All of a file, if it is one and not too large. Raises OSError with a reason for people."""
    with open(path, "rb", opener=opener) as file:
        data = file.read(largest + 1)
    if len(data) > largest:
        raise OSError(errno.EFBIG, f"it is larger than {largest // 1024} KiB", path)
    return data
