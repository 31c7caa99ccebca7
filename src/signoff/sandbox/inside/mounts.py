"""Build the file tree a command sees: a list of steps, computed outside, carried out here.

A step is a tuple whose first word is one of STEPS. Sources are opened as detached trees before anything is covered, so
no step can follow a link that was swapped meanwhile, and no source hides behind an earlier target.
"""

import os
import stat
from _collections_abc import Callable

from signoff.sandbox.inside import kernel

_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REC, _MS_PRIVATE = 2, 4, 8, 0x4000, 0x40000
_GONE = (2, 13, 20, 40)  # ENOENT, EACCES, ENOTDIR, ELOOP: what cannot be reached needs no mask

_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_PROC_SEALED = ("sys", "sysrq-trigger", "irq", "bus", "fs", "driver")
PROC_MASKED = ("kcore", "keys", "key-users", "timer_list", "kmsg", "acpi", "scsi", "sched_debug", "kallsyms")
_BUILD = "/tmp"  # noqa: S108  any directory that exists: the new root is built on a tmpfs here, then it is the root

Tree = tuple[str, int, tuple[int, int] | None, bool]  # path, attributes, owner to map or None, may be missing
Step = tuple[str | int | bytes, ...]


class Unmappable(OSError):
    """The file system of a writable root cannot show its files under another owner."""


class Unprotectable(OSError):
    """Something in a root cannot be covered or pinned: the root is to blame, not the machine."""


def open_trees(trees: list[Tree], namespaces: dict[tuple[int, int], int]) -> list[int]:
    """Descriptors of detached trees, -1 where an optional source is absent."""
    opened = []
    for path, attributes, owner, optional in trees:
        try:
            tree = kernel.open_tree(path)
        except OSError as error:
            if not optional or error.errno not in _GONE:
                raise OSError(error.errno, f"{path}: {error.strerror}") from None
            opened.append(-1)
            continue
        if owner is not None:
            _show_as_ours(tree, path, namespaces[owner], optional)
        kernel.set_attributes(tree, attributes)
        opened.append(tree)
    return opened


def _show_as_ours(tree: int, path: str, namespace: int, optional: bool) -> None:
    try:
        # Of the whole machine only the outermost: what is mounted below it, /proc and the like, cannot be shown so.
        kernel.set_attributes(tree, 0, user_namespace=namespace, recursive=path != "/")
    except OSError as error:
        if not optional:
            raise Unmappable(error.errno, f"{path} cannot be shown under another owner: {error.strerror}") from None


class Root:
    """The new root while it is built. Paths in steps are absolute paths of the finished tree."""

    def __init__(self, trees: list[int], pid_max: int) -> None:
        self.trees = trees
        self.pid_max = pid_max

    def build(self, steps: list[Step]) -> None:
        kernel.mount("none", "/", None, _MS_REC | _MS_PRIVATE)
        self._prepare()
        for kind, *arguments in steps:
            try:
                STEPS[str(kind)](self, *arguments)
            except OSError as error:
                if kind not in ("mask", "pin"):
                    raise
                raise Unprotectable(error.errno, f"{arguments[0]!s} {error.strerror}") from None
        os.chdir(self.at("/"))
        kernel.pivot_here()

    def at(self, path: str) -> str:
        return f"{_BUILD}/root{path}" if path != "/" else f"{_BUILD}/root"

    def _prepare(self) -> None:
        devices = {name: kernel.open_tree(f"/dev/{name}") for name in _DEVICES if os.path.exists(f"/dev/{name}")}
        self.devices = devices
        kernel.mount("signoff", _BUILD, "tmpfs", _MS_NOSUID | _MS_NODEV, "size=16m,mode=0755")
        os.mkdir(f"{_BUILD}/root")
        os.mkdir(f"{_BUILD}/nothing", 0o555)
        os.close(os.open(f"{_BUILD}/none", os.O_CREAT | os.O_WRONLY, 0o444))
        self.nothing = {True: f"{_BUILD}/nothing", False: f"{_BUILD}/none"}

    def base(self, tree: int) -> None:
        """What everything else is put upon: our own empty tmpfs, or a copy of the host's tree."""
        if tree >= 0:
            kernel.attach(self.trees[tree], self.at("/"))
        else:
            kernel.mount("signoff", self.at("/"), "tmpfs", _MS_NOSUID | _MS_NODEV, "size=16m,mode=0755")

    def directory(self, path: str) -> None:
        os.makedirs(self.at(path), 0o755, exist_ok=True)

    def tmpfs(self, path: str, options: str) -> None:
        self.directory(path)
        kernel.mount("signoff", self.at(path), "tmpfs", _MS_NOSUID | _MS_NODEV, options)

    def link(self, path: str, target: str) -> None:
        if not os.path.lexists(self.at(path)):
            os.symlink(target, self.at(path))

    def bind(self, path: str, index: int) -> None:
        tree = self.trees[index]
        if tree < 0:
            return
        self._ensure(path, stat.S_ISDIR(os.fstat(tree).st_mode))
        kernel.attach(tree, self.at(path))

    def content(self, path: str, data: bytes) -> None:
        """A file of ours over one of the host's."""
        source = f"{_BUILD}/content{len(os.listdir(_BUILD))}"
        descriptor = os.open(source, os.O_CREAT | os.O_WRONLY, 0o444)
        os.write(descriptor, data)
        os.close(descriptor)
        self._cover(path, source)

    def mask(self, path: str) -> None:
        """Nothing to see: an empty directory or file over whatever is there."""
        target = self.at(path)
        try:
            mode = os.lstat(target).st_mode
        except OSError as error:
            if error.errno in _GONE:
                return
            raise
        if stat.S_ISLNK(mode):
            return  # where it leads is masked on its own, or not in view
        self._cover(path, self.nothing[stat.S_ISDIR(mode)])

    def _cover(self, path: str, source: str) -> None:
        tree = kernel.open_tree(source)
        kernel.set_attributes(tree, kernel.RDONLY | kernel.NOSUID | kernel.NODEV | kernel.NOEXEC)
        kernel.attach(tree, self.at(path))
        os.close(tree)

    def pin(self, path: str, attributes: int, device: int, inode: int) -> None:
        """A path bound onto itself: as a mount point it can be neither renamed nor removed, and may be read-only."""
        tree = kernel.open_tree(self.at(path))
        found = os.fstat(tree)
        if (found.st_dev, found.st_ino) != (device, inode):
            raise OSError(116, "was replaced while the sandbox was being set up")
        kernel.set_attributes(tree, attributes)
        kernel.attach(tree, self.at(path))
        os.close(tree)

    def seal(self, path: str) -> None:
        descriptor = os.open(self.at(path), os.O_PATH | os.O_CLOEXEC)
        kernel.set_attributes(descriptor, kernel.RDONLY, recursive=False)
        os.close(descriptor)

    def _ensure(self, path: str, directory: bool) -> None:
        target = self.at(path)
        if os.path.lexists(target):
            return
        if directory:
            os.makedirs(target, 0o755)
        else:
            os.makedirs(os.path.dirname(target), 0o755, exist_ok=True)
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o444))

    def dev(self, shared_memory: str) -> None:
        self.tmpfs("/dev", "size=64k,mode=0755")
        for name, tree in self.devices.items():
            os.close(os.open(self.at(f"/dev/{name}"), os.O_CREAT | os.O_WRONLY, 0o666))
            kernel.set_attributes(tree, kernel.NOSUID | kernel.NOEXEC)
            kernel.attach(tree, self.at(f"/dev/{name}"))
        for name, target in (("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
            os.symlink(f"/proc/self/{target}", self.at(f"/dev/{name}"))
        os.mkdir(self.at("/dev/pts"))
        options = "newinstance,ptmxmode=0666,mode=620"
        kernel.mount("devpts", self.at("/dev/pts"), "devpts", _MS_NOSUID | _MS_NOEXEC, options)
        os.symlink("pts/ptmx", self.at("/dev/ptmx"))
        self.tmpfs("/dev/shm", shared_memory)  # noqa: S108

    def proc(self) -> None:
        self.directory("/proc")
        kernel.mount("proc", self.at("/proc"), "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC, "hidepid=4")
        for name, value in (("kernel/shm_rmid_forced", 1), ("kernel/pid_max", self.pid_max)):
            if value:
                _write_where_allowed(self.at(f"/proc/sys/{name}"), str(value))
        for name in _PROC_SEALED:
            if os.path.exists(self.at(f"/proc/{name}")):
                tree = kernel.open_tree(self.at(f"/proc/{name}"))
                kernel.set_attributes(tree, kernel.RDONLY)
                kernel.attach(tree, self.at(f"/proc/{name}"))
                os.close(tree)
        for name in PROC_MASKED:
            self.mask(f"/proc/{name}")


def _write_where_allowed(path: str, text: str) -> None:
    """Sysctls of the own namespaces; a kernel that has them not, or forbids it, leaves the rlimit alone in charge."""
    try:
        descriptor = os.open(path, os.O_WRONLY)
    except OSError:
        return
    try:
        os.write(descriptor, text.encode())
    except OSError:
        pass
    finally:
        os.close(descriptor)


STEPS: dict[str, Callable[..., None]] = {
    "base": Root.base,
    "directory": Root.directory,
    "tmpfs": Root.tmpfs,
    "link": Root.link,
    "bind": Root.bind,
    "content": Root.content,
    "mask": Root.mask,
    "pin": Root.pin,
    "seal": Root.seal,
    "dev": Root.dev,
    "proc": Root.proc,
}
