"""Landlock at whatever level the kernel has. Each level adds rights; what a level lacks is in `missing`."""

import ctypes
import os
import stat

from signoff.sandbox.inside import kernel

READ = 0b1101  # execute, read a file, list a directory
_FILE_ONLY = 0b1100000000000111  # execute, write, read, truncate, device ioctl: all a rule on a non-directory may name
_CHARACTER_DEVICE, _BLOCK_DEVICE = 1 << 6, 1 << 11
_REFER, _TRUNCATE, _IOCTL_DEVICE = 1 << 13, 1 << 14, 1 << 15

READING, CHANGING, DEVICE = "reading", "changing", "device"
Rule = tuple[str, str]  # path, one of the three words above

MISSING = {
    2: "renames between directories of the workspace fail",
    3: "truncation outside the workspace is left to the mounts",
    4: "ports are left to the network namespace",
    5: "device ioctls are left to the system call filter",
    6: "abstract sockets and signals are left to the namespaces",
}


def level() -> int:
    """The kernel's Landlock level, 0 where there is none."""
    try:
        return kernel.call("landlock_create_ruleset", None, 0, 1)
    except OSError:
        return 0


def missing(found: int) -> list[str]:
    return [text for needed, text in MISSING.items() if found < needed]


def handled(found: int) -> int:
    """Every file right the level knows."""
    rights = (1 << 13) - 1
    for needed, right in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEVICE)):
        if found >= needed:
            rights |= right
    return rights


def rights(kind: str, found: int) -> int:
    everything = handled(found)
    if kind == READING:
        return READ
    if kind == CHANGING:
        return everything & ~(_CHARACTER_DEVICE | _BLOCK_DEVICE)
    return everything & _FILE_ONLY & ~1  # a device: not to be executed


def restrict(rules: list[Rule], *, network: bool) -> int:
    """Confine this process and all its children for good; gives the level. `network`: ports are not governed here."""
    found = level()
    if found == 0:
        return 0
    ruleset = _create(found, network)
    try:
        for path, kind in rules:
            _add(ruleset, path, rights(kind, found))
        kernel.call("landlock_restrict_self", ruleset, 0)
    finally:
        os.close(ruleset)
    return found


def _create(found: int, network: bool) -> int:
    ports = 3 if found >= 4 and not network else 0  # bind, connect
    scopes = 3 if found >= 6 else 0  # abstract sockets, signals
    size = 24 if found >= 6 else 16 if found >= 4 else 8
    attributes = b"".join(value.to_bytes(8, "little") for value in (handled(found), ports, scopes))[:size]
    return kernel.call("landlock_create_ruleset", attributes, size, 0)


def _add(ruleset: int, path: str, allowed: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return  # an optional root that is not there
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            allowed &= _FILE_ONLY
        rule = allowed.to_bytes(8, "little") + descriptor.to_bytes(4, "little")
        kernel.call("landlock_add_rule", ruleset, 1, ctypes.create_string_buffer(rule, 12), 0)
    finally:
        os.close(descriptor)
