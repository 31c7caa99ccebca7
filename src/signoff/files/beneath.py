"""Touch files below one directory and nothing else, whoever swaps links meanwhile.

The kernel resolves every path in one step with openat2(RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS): there is no moment
between a check and its use. Changes happen by name inside a directory that is already open. Where the kernel has no
openat2 nothing is opened at all.
"""

import contextlib
import ctypes
import errno
import os
import stat
import sys
from collections.abc import Iterator

from signoff.domain.errors import FileRefused, NotEnforceable, NotFound, ToolError
from signoff.files import atomic

_OPENAT2 = 437  # the same number on every architecture
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_ATTEMPTS = 1_000  # a rename elsewhere in the tree can make the kernel ask for another try
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY  # never wait for the other end of a pipe

_libc = ctypes.CDLL(None, use_errno=True)


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


class Root:
    """An open directory. Paths are relative to it; `..` and links are followed as long as they stay below it.

    `follow=False`: a path that goes through a link anywhere is refused.
    """

    def __init__(self, path: str, *, follow: bool = True) -> None:
        if sys.platform != "linux":
            raise NotEnforceable("file tools can only be kept inside a directory on Linux")
        self.path = path
        self._follow = follow
        try:
            self._descriptor = os.open(path, _DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise refusal(path, error) from error
        try:
            os.close(_openat2(self._descriptor, ".", os.O_PATH, 0))
        except OSError as error:
            self.close()
            raise NotEnforceable(
                f"this system does not offer openat2 ({error.strerror}), so file tools cannot be kept inside {path}",
                hint="use Linux 5.6 or later, or a container whose filter permits openat2",
            ) from error

    def __enter__(self) -> "Root":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        os.close(self._descriptor)

    @contextlib.contextmanager
    def opened(self, path: str, flags: int, *, follow: bool = True) -> Iterator[int]:
        """A descriptor for `path`. The way to a file's content is `read` and `write`, which look at what it is first."""
        _require_relative(self, path)
        try:
            descriptor = _openat2(self._descriptor, path or ".", flags, 0 if follow and self._follow else _NO_SYMLINKS)
        except OSError as error:
            raise refusal(path, error) from error
        try:
            yield descriptor
        except OSError as error:
            raise refusal(path, error) from error
        finally:
            os.close(descriptor)


def read(root: Root, path: str, *, offset: int = 0, limit: int | None = None) -> bytes:
    """The bytes of a regular file, from `offset`, at most `limit` of them."""
    with root.opened(path, _FILE) as descriptor:
        _refuse_special(path, os.fstat(descriptor))
        parts: list[bytes] = []
        wanted = limit
        while wanted is None or wanted > 0:
            part = os.pread(descriptor, min(wanted or 1 << 20, 1 << 20), offset)
            if not part:
                break
            parts.append(part)
            offset += len(part)
            wanted = None if wanted is None else wanted - len(part)
        return b"".join(parts)


def write(root: Root, path: str, data: bytes, *, mode: int = 0o666, settle: bool = True) -> None:
    """Replace a file atomically, or make it with `mode`. A link to a file below the root stays a link; its file is
    replaced. Without `settle` the directory is left for `sync` to make durable."""
    with _place(root, _resolved(root, path)) as (directory, name):
        with contextlib.suppress(FileNotFoundError):
            found = os.stat(name, dir_fd=directory, follow_symlinks=False)
            _refuse_special(path, found)
            if found.st_nlink > 1:
                raise FileRefused(
                    f"{path} has {found.st_nlink} hard links: another name of the same file may lie outside the workspace",
                    hint="copy it to a file of its own first",
                )
        atomic.write_at(directory, name, data, mode=mode, settle=settle)


def sync(root: Root, path: str) -> None:
    """Make the names in a directory durable."""
    with root.opened(path, _DIRECTORY) as directory:
        os.fsync(directory)


def status(root: Root, path: str) -> os.stat_result:
    """What the path is, links followed below the root."""
    with root.opened(path, os.O_PATH) as descriptor:
        return os.fstat(descriptor)


def entries(root: Root, path: str = ".") -> list[tuple[str, os.stat_result]]:
    """The names in a directory, sorted, each with what it is itself: a link is a link."""
    with root.opened(path, _DIRECTORY) as directory:
        found = []
        for name in sorted(os.listdir(directory)):
            with contextlib.suppress(FileNotFoundError):
                found.append((name, os.stat(name, dir_fd=directory, follow_symlinks=False)))
        return found


def make_directory(root: Root, path: str) -> None:
    """Make a directory and those above it; one that is there already is fine."""
    made = ""
    for part in path.split("/"):
        made = f"{made}/{part}" if made else part
        if part in ("", ".", ".."):
            continue
        with _place(root, made) as (directory, name), contextlib.suppress(FileExistsError):
            os.mkdir(name, dir_fd=directory)
    with root.opened(path, _DIRECTORY):
        pass


def make_link(root: Root, path: str, target: str) -> None:
    """Make a symbolic link. Where it points is not looked at: whoever follows it does that."""
    with _place(root, path) as (directory, name):
        os.symlink(target, name, dir_fd=directory)


def link_target(root: Root, path: str) -> str | None:
    """Where a link points; None: it is no link."""
    with _place(root, path) as (directory, name):
        found = os.stat(name, dir_fd=directory, follow_symlinks=False)
        return os.readlink(name, dir_fd=directory) if stat.S_ISLNK(found.st_mode) else None


def rename(root: Root, source: str, destination: str) -> None:
    """Move a name, replacing a file of the new name; links are moved, not followed."""
    with _place(root, source) as (old, old_name), _place(root, destination) as (new, new_name):
        try:
            os.rename(old_name, new_name, src_dir_fd=old, dst_dir_fd=new)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise refusal(source, error) from error
            raise FileRefused(f"{source} and {destination} lie on different file systems") from error
        os.fsync(new)
        os.fsync(old)


def remove(root: Root, path: str) -> None:
    """Remove a file, a link, or an empty directory."""
    with _place(root, path) as (directory, name):
        found = os.stat(name, dir_fd=directory, follow_symlinks=False)
        if stat.S_ISDIR(found.st_mode):
            os.rmdir(name, dir_fd=directory)
        else:
            os.unlink(name, dir_fd=directory)
        os.fsync(directory)


def refusal(path: str, error: OSError) -> ToolError:
    match error.errno:
        case errno.ENOENT:
            return NotFound(f"{path}: {error.strerror}")
        case errno.EXDEV:
            return FileRefused(f"{path} leads outside the workspace")
        case errno.ELOOP:
            return FileRefused(f"{path} goes through a link that may not be followed")
        case errno.ENXIO:
            return FileRefused(f"{path} is not a regular file")
        case _:
            return FileRefused(f"{path}: {error.strerror}")


@contextlib.contextmanager
def _place(root: Root, path: str) -> Iterator[tuple[int, str]]:
    """The open directory a path's last name lies in, and that name."""
    above, _, name = path.rstrip("/").rpartition("/")
    if name in ("", ".", ".."):
        raise FileRefused(f"{path!r} does not name a file or directory below {root.path}")
    _require_relative(root, path)
    with root.opened(above, _DIRECTORY) as directory:
        try:
            yield directory, name
        except OSError as error:
            raise refusal(path, error) from error


def _resolved(root: Root, path: str) -> str:
    """The path of the file itself where the last name is a link. The kernel decided where it leads, and the answer is
    resolved again without links, so a swap in between ends in a refusal."""
    with _place(root, path) as (directory, name):
        try:
            if not stat.S_ISLNK(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
                return path
        except FileNotFoundError:
            return path
    with root.opened(path, os.O_PATH) as target, root.opened(".", os.O_PATH) as top:
        inside = os.path.relpath(os.readlink(f"/proc/self/fd/{target}"), os.readlink(f"/proc/self/fd/{top}"))
        with root.opened(inside, os.O_PATH, follow=False) as again:
            if not os.path.samestat(os.fstat(target), os.fstat(again)):
                raise FileRefused(f"{path} changed while it was being opened", hint="try again")
    return inside


def _require_relative(root: Root, path: str) -> None:
    try:
        name = os.fsencode(path)
    except UnicodeEncodeError:
        name = b"\0"
    if name.startswith(b"/") or b"\0" in name:
        raise FileRefused(f"{path!r} is not a path relative to {root.path}")


def _refuse_special(path: str, found: os.stat_result) -> None:
    if stat.S_ISREG(found.st_mode):
        return
    kinds = {stat.S_IFDIR: "a directory", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFLNK: "a link"}
    raise FileRefused(f"{path} is {kinds.get(stat.S_IFMT(found.st_mode), 'a device')}, not a regular file")


def _openat2(directory: int, path: str, flags: int, resolve: int) -> int:
    how = _OpenHow(flags | os.O_CLOEXEC, 0, _BENEATH | _NO_MAGICLINKS | resolve)
    for _ in range(_ATTEMPTS):
        descriptor: int = _libc.syscall(
            ctypes.c_long(_OPENAT2),
            directory,
            os.fsencode(path),
            ctypes.byref(how),
            ctypes.c_size_t(ctypes.sizeof(how)),
        )
        if descriptor >= 0:
            return descriptor
        code = ctypes.get_errno()
        if code not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(code, os.strerror(code), path)
