"""Where a file tool may put its hands. What was judged is what is touched.

In the workspace the kernel follows links as long as they stay below it. Elsewhere, where a person or a rule let the tool,
only the path that was judged is touched: one that goes through a link is refused.
"""

import contextlib
import os
import stat
from typing import Self

from signoff.domain.errors import InvalidArguments, NotFound
from signoff.files import beneath
from signoff.files.beneath import Root

LONGEST = 4_095  # bytes, on Linux


def spelled(path: str, workspace: str) -> str:
    """The absolute path, without `.` and `..`. The same spelling is judged and used."""
    if not path:
        raise InvalidArguments("the path is empty")
    unprintable = next(
        (sign for sign in path if ord(sign) < 32 or ord(sign) == 127 or 0xD800 <= ord(sign) < 0xE000), None
    )
    if unprintable is not None:
        raise InvalidArguments(f"the path {path!r} contains {unprintable!r}")
    if path == "~" or path.startswith("~/"):
        raise InvalidArguments(f"{path!r}: write the path out, relative to the workspace")
    whole = os.path.normpath(os.path.join(workspace, path))
    if len(whole.encode()) > LONGEST:
        raise InvalidArguments(f"the path {path[:40]!r}… is longer than any that the system takes")
    return whole


def shown(path: str, workspace: str) -> str:
    """How the path is said: relative where it lies in the workspace."""
    if path == workspace:
        return "."
    inside = workspace.rstrip("/") + "/"
    return path.removeprefix(inside)


class Ground:
    """The open directories of one call."""

    def __init__(self, workspace: str) -> None:
        self._path = workspace
        self._closing = contextlib.ExitStack()
        self._workspace: Root | None = None
        self._elsewhere: Root | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def at(self, path: str) -> tuple[Root, str]:
        """The directory to act in and the path below it, for an absolute path from `spelled`."""
        name = shown(path, self._path)
        if not os.path.isabs(name):
            self._workspace = self._workspace or self._closing.enter_context(Root(self._path))
            return self._workspace, name
        self._elsewhere = self._elsewhere or self._closing.enter_context(Root("/", follow=False))
        return self._elsewhere, name.lstrip("/") or "."

    def read(self, path: str, *, offset: int = 0, limit: int | None = None) -> bytes:
        root, name = self.at(path)
        return beneath.read(root, name, offset=offset, limit=limit)

    def content(self, path: str) -> bytes | None:
        """None: there is no such file."""
        try:
            return self.read(path)
        except NotFound:
            return None

    def write(self, path: str, data: bytes, *, mode: int = 0o666, settle: bool = True) -> tuple[str, ...]:
        """Replace or make a file, with the directories above it; says which of those are new, the outermost first."""
        root, name = self.at(path)
        made = self._missing_above(path)
        if made:
            beneath.make_directory(root, os.path.dirname(name))
        beneath.write(root, name, data, mode=mode, settle=settle)
        return made

    def sync(self, directory: str) -> None:
        beneath.sync(*self.at(directory))

    def remove(self, path: str) -> None:
        root, name = self.at(path)
        beneath.remove(root, name)

    def is_directory(self, path: str) -> bool:
        root, name = self.at(path)
        try:
            return stat.S_ISDIR(beneath.status(root, name).st_mode)
        except NotFound:
            return False

    def mode(self, path: str) -> int:
        root, name = self.at(path)
        return beneath.status(root, name).st_mode & 0o777

    def set_mode(self, path: str, mode: int) -> None:
        root, name = self.at(path)
        with root.opened(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW) as descriptor:
            os.fchmod(descriptor, mode)

    def _missing_above(self, path: str) -> tuple[str, ...]:
        missing: list[str] = []
        above = os.path.dirname(path)
        while above not in ("/", self._path):
            root, name = self.at(above)
            try:
                beneath.status(root, name)
            except NotFound:
                missing.insert(0, above)
                above = os.path.dirname(above)
                continue
            break
        return tuple(missing)
