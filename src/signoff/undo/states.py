"""What stands at a path, in words that can be kept and compared."""

import enum
import os
import stat
import time

import msgspec

from signoff.domain.errors import FileRefused, NotFound
from signoff.files import beneath
from signoff.files.ground import Ground
from signoff.undo.objects import Objects

LARGEST_FILE = 64 << 20
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW
_SETTLED_NS = 50_000_000  # a file changed more recently than this may change again without its times showing it


class Kind(enum.StrEnum):
    ABSENT = "absent"
    FILE = "file"
    LINK = "link"
    DIRECTORY = "directory"
    UNSAVED = "unsaved"  # too large, not readable, or neither file nor link


class State(msgspec.Struct, frozen=True, omit_defaults=True):
    """`content` is the name of the saved copy, or where a link points."""

    kind: Kind
    content: str = ""
    mode: int = 0


ABSENT = State(Kind.ABSENT)
DIRECTORY = State(Kind.DIRECTORY)
UNSAVED = State(Kind.UNSAVED)


class Seen(msgspec.Struct, frozen=True, array_like=True):
    """A file as it was when it was hashed; as long as all of this is the same, so is its content."""

    device: int
    inode: int
    size: int
    modified: int
    changed: int
    state: State


class Observer:
    """Looks at paths and keeps what it finds. Files that have not changed since are not read again."""

    def __init__(self, ground: Ground, objects: Objects, seen: dict[str, Seen]) -> None:
        self._ground, self._objects, self._seen = ground, objects, seen

    def state(self, path: str) -> State:
        """The path is absolute. Links are looked at, not followed."""
        root, name = self._ground.at(path)
        if name == ".":
            return DIRECTORY
        try:
            target = beneath.link_target(root, name)
            if target is not None:
                return State(Kind.LINK, target)
            found = beneath.status(root, name)
        except NotFound:
            return ABSENT
        except FileRefused:
            return UNSAVED
        return self.of_entry(path, found)

    def of_entry(self, path: str, found: os.stat_result) -> State:
        """For a path whose status is known already, and which is no link."""
        if stat.S_ISDIR(found.st_mode):
            return DIRECTORY
        if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST_FILE:
            return UNSAVED
        known = self.known(path, found)
        return known.state if known is not None else self._kept(path)

    def known(self, path: str, found: os.stat_result) -> Seen | None:
        """What is saved already, if the file is as it was then."""
        seen = self._seen.get(path)
        return seen if seen is not None and _same(seen, found) and self._objects.has(seen.state.content) else None

    def _kept(self, path: str) -> State:
        root, name = self._ground.at(path)
        now = time.time_ns()
        try:
            with root.opened(name, _FILE) as descriptor:
                found = os.fstat(descriptor)
                if not stat.S_ISREG(found.st_mode):
                    return UNSAVED
                state = State(Kind.FILE, self._objects.keep(descriptor), found.st_mode & 0o777)
        except NotFound:
            return ABSENT
        self._seen.pop(path, None)
        if now - max(found.st_mtime_ns, found.st_ctime_ns) > _SETTLED_NS:
            self._seen[path] = Seen(
                found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, state
            )
        return state


def _same(known: Seen, found: os.stat_result) -> bool:
    return (known.device, known.inode, known.size, known.modified, known.changed) == (
        found.st_dev,
        found.st_ino,
        found.st_size,
        found.st_mtime_ns,
        found.st_ctime_ns,
    )
