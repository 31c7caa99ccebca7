"""Paths, compared component by component. Whoever asks has made them absolute and resolved the links."""

import fnmatch
import functools
import unicodedata

from signoff.domain.context import Context
from signoff.domain.intent import Aspect, FileDelete, FileRead, FileWrite

_GLOB = frozenset("*?[")


@functools.lru_cache(4096)
def folded(name: str) -> str:
    """One spelling for names that some file system takes for the same: case, Unicode form, invisible characters."""
    if name.isascii():
        return name.lower()
    visible = "".join(sign for sign in name if unicodedata.category(sign) != "Cf")
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", visible).casefold())


def components(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part)


def is_absolute(path: str) -> bool:
    """An absolute path without `.` and `..`, and nothing else: no relative path, no URL, no NUL."""
    return path.startswith("/") and "\0" not in path and not {".", ".."} & set(path.split("/"))


def inside(path: str, root: str) -> bool:
    """Is it the root or below it? `/ws-evil` is not in `/ws`."""
    return is_absolute(path) and components(path)[: len(components(root))] == components(root)


def covers(pattern: str, path: str, *, workspace: str, home: str | None, fold: bool) -> bool:
    """Does the pattern name this path or a directory above it?

    `*` and `?` stay within one component, `**` crosses them. A pattern that does not begin with `/` or `~/` is relative
    to the workspace. `fold`: take names for equal that a file system might.
    """
    anchored = _anchored(pattern, workspace, home)
    if anchored is None or not is_absolute(path):
        return False
    names = components(path)
    if fold:
        return _covers(tuple(map(folded, anchored)), tuple(map(folded, names)))
    return _covers(_composed(anchored), _composed(names))


def lies_below(pattern: str, path: str, *, workspace: str, home: str | None) -> bool:
    """Could something the pattern names lie below this directory? Removing the directory would remove it too."""
    anchored = _anchored(pattern, workspace, home)
    if anchored is None:
        return False
    names = tuple(map(folded, components(path)))
    for position, part in enumerate(map(folded, anchored)):
        if position == len(names) or part == "**":
            return True
        if not fnmatch.fnmatchcase(names[position], part):
            return False
    return False


class Paths:
    """The kind of rule that names files and directories."""

    def covers(self, pattern: str, aspect: Aspect, context: Context, *, strict: bool) -> bool:
        if not isinstance(aspect, FileRead | FileWrite | FileDelete):
            return False
        workspace, home = context.workspace, context.home
        if covers(pattern, aspect.path, workspace=workspace, home=home, fold=strict):
            return True
        removes = strict and isinstance(aspect, FileDelete)
        return removes and lies_below(pattern, aspect.path, workspace=workspace, home=home)

    def problem(self, pattern: str) -> str | None:
        if not pattern:
            return "paths cannot be empty"
        return "paths cannot contain `..`" if ".." in pattern.split("/") else None

    def example(self, text: str, context: Context) -> Aspect:
        """As if it stood in the workspace, or at home."""
        root = context.home if text.startswith("~/") else context.workspace
        return FileRead(text if text.startswith("/") else f"{root}/{text.removeprefix('~/')}")


def _anchored(pattern: str, workspace: str, home: str | None) -> tuple[str, ...] | None:
    if pattern.startswith("/"):
        return components(pattern)
    if pattern == "~" or pattern.startswith("~/"):
        return None if home is None else components(home) + components(pattern[1:])
    return components(workspace) + tuple(part for part in components(pattern) if part != ".")


def _covers(pattern: tuple[str, ...], names: tuple[str, ...]) -> bool:
    """What lies below a match is covered too, so the first match will do, and going back to the last `**` is enough."""
    position = at = resume = 0
    crossing = -1  # where the last `**` stands
    while position < len(pattern):
        part = pattern[position]
        if part == "**":
            crossing, resume = position, at
            position += 1
        elif at < len(names) and _is(names[at], part):
            at += 1
            position += 1
        elif crossing >= 0 and resume < len(names):
            resume += 1
            position, at = crossing + 1, resume
        else:
            return False
    return True


def _is(name: str, part: str) -> bool:
    return name == part or bool(_GLOB & set(part) and fnmatch.fnmatchcase(name, part))


def _composed(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(unicodedata.normalize("NFC", name) for name in names)
