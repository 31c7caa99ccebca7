"""Kernel calls that the standard library lacks, each raising OSError with the name of the call."""

import ctypes
import os

from signoff.sandbox.inside.architecture import numbers

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_NUMBERS = numbers()

RDONLY, NOSUID, NODEV, NOEXEC = 1, 2, 4, 8  # attributes of a mount
IDMAP = 0x100000
_AT_EMPTY_PATH, _AT_RECURSIVE, _OPEN_TREE_CLONE = 0x1000, 0x8000, 1
_AT_FDCWD = -100
_MOVE_FROM_DESCRIPTOR = 4


def call(name: str, *arguments: int | bytes | ctypes.Array[ctypes.c_char] | None) -> int:
    number = _NUMBERS.get(name)
    if number is None:
        raise OSError(38, f"system call {name} is not known on this machine")
    wide = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    result: int = _libc.syscall(ctypes.c_long(number), *wide)
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return result


def prctl(option: int, *arguments: int | bytes) -> int:
    return call("prctl", option, *arguments, *[0] * (4 - len(arguments)))


def unshare(flags: int) -> None:
    call("unshare", flags)


def mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    try:
        call(
            "mount",
            os.fsencode(source),
            os.fsencode(target),
            kind.encode() if kind else None,
            flags,
            options.encode() or None,
        )
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror} ({kind or 'change'} at {target})") from None


def open_tree(path: str) -> int:
    """A detached copy of the mounts at and below a path. Nothing is followed at the last component."""
    flags = _OPEN_TREE_CLONE | _AT_RECURSIVE | 0x100 | os.O_CLOEXEC  # 0x100: AT_SYMLINK_NOFOLLOW
    return call("open_tree", _AT_FDCWD, os.fsencode(path), flags)


def set_attributes(tree: int, attributes: int, *, user_namespace: int = 0, recursive: bool = True) -> None:
    """Attributes are only ever added, so that flags locked by a user namespace do no harm."""
    structure = b"".join(
        value.to_bytes(8, "little") for value in (attributes | (IDMAP if user_namespace else 0), 0, 0, user_namespace)
    )
    flags = _AT_EMPTY_PATH | (_AT_RECURSIVE if recursive else 0)
    call("mount_setattr", tree, b"", flags, structure, len(structure))


def attach(tree: int, target: str) -> None:
    call("move_mount", tree, b"", _AT_FDCWD, os.fsencode(target), _MOVE_FROM_DESCRIPTOR)


def pivot_here() -> None:
    """The current directory becomes the root, the old root goes out of sight."""
    call("pivot_root", b".", b".")
    call("umount2", b".", 2)  # MNT_DETACH
    os.chdir("/")
