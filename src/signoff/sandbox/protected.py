"""Paths in a writable root that no command may change, present or not: what they hold is run or obeyed later, outside.

A protected path becomes a mount point of its own, read-only. On the host it can still be replaced (`rm -rf .git; git
init`), which silently takes the mount away; so each pin remembers which file it is, and `Pins.intact` asks before every
command.
"""

import os
import stat
import time

import msgspec

from signoff.domain.errors import NotEnforceable

NAMES = (
    ".git", ".signoff", ".codex", ".claude", ".gemini", ".agents", ".mcp.json", ".vscode", ".idea",
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin",
    ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login",
)  # fmt: skip
IN_A_HOME = (".ssh", ".gnupg", ".gitconfig", ".config", ".local", ".pam_environment", ".xprofile", ".xsession")
CLOSED_IN_A_GITDIR = ("hooks", "config", "config.worktree", "info", "commondir")
_PLACEHELD_IN_A_GITDIR = ("hooks", "info")  # directories anyway; the others as directories would break git
_STAMP_MARGIN_NS = 50_000_000  # time stamps of files are this coarse at worst


class Unprotectable(NotEnforceable):
    """A root is as it must not be. Another backend would not protect it either, so none is tried."""


class Pin(msgspec.Struct, frozen=True):
    """A path that becomes a mount point. `closed`: read-only; else only kept from being renamed or removed."""

    path: str
    device: int
    inode: int
    closed: bool = True


def names(root: str, home: str) -> list[str]:
    """Every path to protect in one root, present or not."""
    found = [*NAMES, *IN_A_HOME] if root == home else NAMES
    return [os.path.join(root, name) for name in found]


def gitdirs(root: str) -> list[str]:
    """The directory a `.git` pointer file names, and the common one behind it; only what looks like a gitdir."""
    pointer = os.path.join(root, ".git")
    if not os.path.isfile(pointer) or os.path.islink(pointer):
        return []
    target = _first_line(pointer).removeprefix("gitdir:").strip()
    gitdir = os.path.realpath(os.path.join(root, target))
    if not target or not os.path.isfile(os.path.join(gitdir, "HEAD")):
        return []
    common = os.path.realpath(os.path.join(gitdir, _first_line(os.path.join(gitdir, "commondir")) or "."))
    found = [common] if os.path.isdir(os.path.join(common, "objects")) else []
    return [*found, *([gitdir] if gitdir != common else [])] if found else []


def own_gitdirs(root: str) -> list[str]:
    """Where the repository of a root lies: in it, or where a pointer file says."""
    own = os.path.join(root, ".git")
    return [own] if os.path.isdir(own) and not os.path.islink(own) else gitdirs(root)


def open_gitdirs(root: str) -> list[str]:
    """Every gitdir that an allowed git.write opens: the root's own or the named ones, and their modules."""
    start = own_gitdirs(root)
    modules = [
        place for gitdir in start for place, _, files in os.walk(os.path.join(gitdir, "modules")) if "HEAD" in files
    ]
    return [*start, *modules]


def placeheld(gitdir: str) -> list[str]:
    return [os.path.join(gitdir, name) for name in _PLACEHELD_IN_A_GITDIR]


def must_stay_absent(gitdir: str) -> str | None:
    """A `commondir` would make git take hooks and config from elsewhere; any placeholder for it would break git."""
    path = os.path.join(gitdir, "commondir")
    return None if os.path.lexists(path) else path


def pin(path: str, *, closed: bool = True) -> Pin:
    found = os.lstat(path)
    if stat.S_ISLNK(found.st_mode):
        raise Unprotectable(
            f"{path} is a symbolic link and cannot be protected",
            hint="Replace the link by what it leads to, or run in read-only mode.",
        )
    return Pin(path, found.st_dev, found.st_ino, closed)


def pins(root: str, closed: list[str], opened: list[str]) -> list[Pin]:
    """Outermost first. What lies deeper than the top needs every directory above it pinned, lest one is renamed away."""
    wanted: dict[str, Pin] = {}
    for path in [*opened, *closed]:
        if not path.startswith(f"{root}/") or not os.path.lexists(path):
            continue
        parts = path[len(root) + 1 :].split("/")
        for depth in range(1, len(parts)):
            above = "/".join([root, *parts[:depth]])
            wanted.setdefault(above, pin(above, closed=False))
        wanted[path] = pin(path, closed=path in closed)
    return sorted(wanted.values(), key=lambda one: one.path.count("/"))


class Pins:
    """Whether the pinned paths are still the files they were. Cheap when nothing in the roots changed.

    Every file is kept open: its number can then not be given to another that takes its place.
    """

    def __init__(self, roots: tuple[str, ...], pinned: list[Pin]) -> None:
        self._roots = roots
        self._all = [*(pin(root, closed=False) for root in roots), *pinned]
        self._kept = [os.open(one.path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC) for one in self._all]
        self._stamps: list[tuple[int, int, int]] = []
        self._flat = all(os.path.dirname(one.path) in roots for one in pinned)

    def intact(self) -> bool:
        """A change of an entry shows in the time stamp of its directory, unless the stamp is too young to tell."""
        stamps = [_stamp(root) for root in self._roots]
        if self._flat and stamps == self._stamps:
            return True
        if not all(_is_same(one) for one in self._all):
            return False
        young = time.time_ns() - _STAMP_MARGIN_NS
        self._stamps = stamps if all(stamp[2] < young for stamp in stamps) else []
        return True

    def whereabouts(self, paths: list[str]) -> list[str]:
        """Where these of the files are now, should they have been moved."""
        kept = {one.path: descriptor for one, descriptor in zip(self._all, self._kept, strict=True)}
        return [os.readlink(f"/proc/self/fd/{kept[path]}") for path in paths if path in kept]

    def close(self) -> None:
        for descriptor in self._kept:
            os.close(descriptor)
        self._kept = []


def _stamp(path: str) -> tuple[int, int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return (0, 0, 0)
    return (found.st_dev, found.st_ino, found.st_ctime_ns)


def _is_same(one: Pin) -> bool:
    try:
        found = os.lstat(one.path)
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == (one.device, one.inode)


def _first_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline(4_096).strip()
    except OSError:
        return ""
