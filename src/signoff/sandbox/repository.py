"""What git in a workspace obeys beside its own directory: submodules, and what its configuration leads to.

`git status` at the top looks into every submodule and obeys the configuration it finds there, so whoever can put a `.git`
where a submodule belongs runs programs outside. The index says where submodules belong; it lies in the gitdir, which
commands cannot change. `core.hooksPath` and `include.path` name files that git runs or reads as its configuration.
"""

import os
import re
import struct

from signoff.files import regular

_LINK = b"\x00\x00\xe0\x00"  # the mode of a submodule in an index
_FIXED = 40  # of an entry: times, device, number, mode, owners, size
_MODE = 24  # where it stands in an entry
_EXTENDED = 0x4000
_LARGEST = 256 * 1024**2
_DEEPEST = 5


def obeyed(root: str, gitdirs: list[str], *, depth: int = 0) -> list[str]:
    """Paths in the work tree `root` that its repository obeys, outermost first; those of its submodules, too."""
    found = [path for gitdir in gitdirs for path in _configured(root, gitdir)]
    for link in sorted({link for gitdir in gitdirs for link in links(gitdir)}):
        place = os.path.join(root, link)
        pointer = os.path.join(place, ".git")
        if detour(root, link) is not None or not os.path.lexists(pointer):
            found += _missing(root, link)  # as an empty directory it is what git expects
            continue
        found.append(pointer)
        inner = _target(pointer)
        if inner is not None and depth < _DEEPEST:
            found += obeyed(place, [inner], depth=depth + 1)
    return list(dict.fromkeys(found))


def links(gitdir: str) -> list[str]:
    """Where submodules belong, as the index says; nothing for a repository without any."""
    names = [name for name in _entries(gitdir) if name == "index" or name.startswith("sharedindex.")]
    hash_size = 32 if "sha256" in _read(os.path.join(gitdir, "config")).decode("utf-8", "replace").lower() else 20
    found: list[str] = []
    for name in names:
        data = _read(os.path.join(gitdir, name))
        if _LINK in data:  # else not worth taking apart: indexes can be large
            found += _links(data, hash_size)
    return [link for link in found if link and not link.startswith("/") and ".." not in link.split("/")]


def _links(data: bytes, hash_size: int) -> list[str]:
    """The entries of an index that are submodules."""
    signature, version, count = struct.unpack_from(">4sII", data)
    if signature != b"DIRC" or version not in (2, 3, 4):
        return []
    found, place, name = [], 12, b""
    try:
        for _ in range(count):
            start = place
            place = start + _FIXED + hash_size
            flags = int.from_bytes(data[place : place + 2], "big")
            place += 4 if flags & _EXTENDED else 2
            kept = 0
            if version == 4:
                dropped, place = _number(data, place)
                kept = len(name) - dropped
            end = data.index(b"\0", place)
            name = name[:kept] + data[place:end]
            place = end + 1 if version == 4 else start + (end - start + 8) // 8 * 8  # padded with zeros, one at least
            if data.startswith(_LINK, start + _MODE):
                found.append(os.fsdecode(name))
    except (ValueError, IndexError):
        pass  # torn: git does not read on either
    return found


def _number(data: bytes, place: int) -> tuple[int, int]:
    """A number of seven bits a byte, and what comes behind it."""
    byte = data[place]
    value = byte & 0x7F
    while byte & 0x80:
        place += 1
        byte = data[place]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, place + 1


def _missing(root: str, link: str) -> list[str]:
    """A place in the work tree, and every directory above it that is not there; of a place that a link leads to, the link:
    nothing is ever made or taken for protected behind one."""
    way = detour(root, link)
    if way is not None:
        return [way]
    parts = link.split("/")
    places = [os.path.join(root, *parts[:depth]) for depth in range(1, len(parts) + 1)]
    return [place for place in places[:-1] if not os.path.lexists(place)] + places[-1:]


def detour(root: str, path: str) -> str | None:
    """The first symbolic link on the way to a path below the root, itself included."""
    parts = path.split("/")
    places = [os.path.join(root, *parts[:depth]) for depth in range(1, len(parts) + 1)]
    return next((place for place in places if os.path.islink(place)), None)


_SETTING = re.compile(r"^\s*(hookspath|path)\s*=\s*\"?([^\"#;\n]+)", re.I)


def _configured(root: str, gitdir: str) -> list[str]:
    """Hooks and further configuration that lie in the work tree."""
    found: list[str] = []
    section = ""
    for line in _read(os.path.join(gitdir, "config")).decode("utf-8", "replace").splitlines():
        section = line.strip().lower() if line.lstrip().startswith("[") else section
        said = _SETTING.match(line.partition("]")[2] or line)
        if said is None or (said[1].lower() == "path" and not section.startswith("[include")):
            continue
        base = root if said[1].lower() == "hookspath" else gitdir
        path = os.path.normpath(os.path.join(base, os.path.expanduser(said[2].strip())))
        # A file that is missing is left out: no directory could stand in for it.
        present = base == root or os.path.lexists(path)
        if present and path.startswith(f"{root}/") and not path.startswith(f"{gitdir}/"):
            found += _hooks(root, path[len(root) + 1 :]) if base == root else [path]
    return found


def _hooks(root: str, path: str) -> list[str]:
    """`.husky/_` only starts what lies beside it, so the whole of such a directory is meant."""
    top = path.split("/")[0]
    return [os.path.join(root, top)] if top.startswith(".") else _missing(root, path)


def is_bare(root: str) -> bool:
    """Git takes a directory with these for a repository even without a `.git`."""
    if not os.access(f"{root}/HEAD", os.F_OK, follow_symlinks=False):  # after every command: without an exception
        return False
    return all(os.path.lexists(os.path.join(root, name)) for name in ("objects", "refs"))


def _target(pointer: str) -> str | None:
    """The gitdir behind a submodule's `.git`."""
    if os.path.isdir(pointer):
        return pointer
    named = _read(pointer).decode("utf-8", "replace").strip().removeprefix("gitdir:").strip()
    target = os.path.realpath(os.path.join(os.path.dirname(pointer), named))
    return target if named and os.path.isdir(target) else None


def _entries(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _read(path: str) -> bytes:
    try:
        with open(os.path.realpath(path), "rb", opener=regular.opener) as file:
            return file.read(_LARGEST)
    except OSError:
        return b""
