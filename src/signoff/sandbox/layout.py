"""Which file tree a command sees: decides, touches nothing. The zygote carries it out (`inside/mounts`).

Default: only what is allowed exists inside. With all reads allowed the host's whole tree is there, read-only, and what
must stay hidden is covered.
"""

import os
from collections.abc import Iterable

import msgspec

from signoff.domain.errors import UsageError
from signoff.domain.settings import Network, Reads
from signoff.sandbox.identity import INSIDE, Identity
from signoff.sandbox.inside.kernel import NODEV, NOSUID, RDONLY
from signoff.sandbox.inside.landlock import CHANGING, DEVICE, READING, Rule
from signoff.sandbox.inside.mounts import Step, Tree
from signoff.sandbox.profile import Profile
from signoff.sandbox.protected import Pin
from signoff.sandbox.toolchains import Toolchain

_SYSTEM = ("/usr", "/etc", "/opt", "/nix", "/snap", "/gnu")
_SYSTEM_LINKS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SYSTEM_FACTS = ("/sys/devices/system/cpu", "/sys/devices/system/node")
_EMPTY = ("/run", "/home", "/mnt", "/media", "/srv", "/var", "/root", "/boot", "/sys")
_NO_WORKSPACE = (
    "/",
    "/proc",
    "/sys",
    "/dev",
    "/etc",
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/boot",
    "/run",
    "/var",
)
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "pts", "ptmx")
_READ_ONLY = RDONLY | NOSUID | NODEV
_CHANGEABLE = NOSUID | NODEV


class Layout(msgspec.Struct, frozen=True):
    trees: list[Tree]
    steps: list[Step]
    rules: list[Rule]


class View(msgspec.Struct, frozen=True):
    """Everything the layout is made from, gathered beforehand."""

    profile: Profile
    identity: Identity
    home: str
    toolchains: tuple[Toolchain, ...]
    masks: list[str]
    pins: list[Pin]
    gitdirs: list[str]  # outside the roots, named by a pointer file


class _Builder:
    def __init__(self, identity: Identity) -> None:
        self.identity = identity
        self.trees: list[Tree] = []
        self.steps: list[Step] = []
        self.sealed: list[str] = []  # our own directories, read-only in the end

    def bind(self, path: str, source: str, attributes: int, *, ours: bool, optional: bool = False) -> None:
        """`ours`: belongs to the user, so that it is shown as the command's own."""
        owner = None
        if ours and self.identity.mapped:
            found = os.stat(source)
            owner = (found.st_uid, found.st_gid)
        self.steps.append(("bind", path, len(self.trees)))
        self.trees.append((source, attributes, owner, optional))


def check_workspace(profile: Profile) -> None:
    for root in (profile.workspace, *profile.writable):
        if root in _NO_WORKSPACE or root.startswith(("/proc/", "/sys/", "/dev/")):
            raise UsageError(f"{root} cannot be a workspace or a writable root", hint="Choose a directory of your own.")


def lay_out(view: View) -> Layout:
    profile = view.profile
    builder = _Builder(view.identity)
    whole = profile.reads is Reads.ALL
    _system(builder, view, whole)
    builder.steps.append(("dev", f"mode=1777,size={profile.limits.max_memory_bytes // 4},nr_inodes=65536"))
    builder.steps.append(("proc",))
    _temporary(builder, profile)
    _home(builder, view, whole)
    _roots(builder, view)
    builder.steps += [
        ("pin", one.path, _READ_ONLY if one.closed else _CHANGEABLE, one.device, one.inode) for one in view.pins
    ]
    builder.steps += [("mask", path) for path in view.masks]
    builder.steps += [("seal", path) for path in builder.sealed]
    return Layout(builder.trees, builder.steps, _rules(profile))


def _system(builder: _Builder, view: View, whole: bool) -> None:
    if whole:
        builder.trees.append(("/", _READ_ONLY, (0, 0) if view.identity.mapped else None, True))
        builder.steps.append(("base", 0))
        builder.steps += [("tmpfs", path, "size=64k,mode=0755") for path in ("/run", "/sys") if os.path.isdir(path)]
    else:
        builder.steps.append(("base", -1))
        builder.sealed.append("/")
        builder.steps += [("directory", path) for path in _EMPTY]
        for path in _SYSTEM:
            builder.bind(path, path, _READ_ONLY, ours=False, optional=True)
        for path in _SYSTEM_LINKS:
            if os.path.islink(path):
                builder.steps.append(("link", path, os.readlink(path)))
            elif os.path.isdir(path):
                builder.bind(path, path, _READ_ONLY, ours=False)
    for path in _SYSTEM_FACTS:
        builder.bind(path, path, _READ_ONLY, ours=False, optional=True)
    _names(builder, view)


def _names(builder: _Builder, view: View) -> None:
    """Names of hosts where there is a network, and a name for the user inside."""
    resolver = os.path.realpath("/etc/resolv.conf")
    if view.profile.network is Network.ON and not resolver.startswith("/etc/") and os.path.isfile(resolver):
        builder.bind(resolver, resolver, _READ_ONLY, ours=False)
    if view.identity.inner[0] == INSIDE and os.path.isfile("/etc/passwd"):
        with open("/etc/passwd", "rb") as file:
            users = file.read()
        if not any(line.split(b":")[2:3] == [b"%d" % INSIDE] for line in users.splitlines()):
            entry = f"user:x:{INSIDE}:{INSIDE}::{view.home or '/'}:/bin/sh\n"
            builder.steps.append(("content", "/etc/passwd", users.rstrip(b"\n") + b"\n" + entry.encode()))


def _temporary(builder: _Builder, profile: Profile) -> None:
    builder.steps.append(("tmpfs", "/tmp", f"mode=1777,size={profile.limits.max_memory_bytes // 2},nr_inodes=262144"))  # noqa: S108
    if profile.exclude_slash_tmp:
        builder.sealed.append("/tmp")  # noqa: S108
    if profile.reads is Reads.ALL:
        builder.steps.append(("tmpfs", "/var/tmp", "mode=1777,size=64m,nr_inodes=16384"))  # noqa: S108
    elif not any(root == "/var/tmp" or root.startswith("/var/tmp/") for root in _wanted(profile)):  # noqa: S108
        builder.steps.append(("link", "/var/tmp", "/tmp"))  # noqa: S108


def _wanted(profile: Profile) -> Iterable[str]:
    return (profile.workspace, *profile.writable, *profile.readable)


def _home(builder: _Builder, view: View, whole: bool) -> None:
    """An empty home that cannot be written, with the toolchains in it."""
    inside_a_root = any(view.home == root or view.home.startswith(f"{root}/") for root in _wanted(view.profile))
    if not whole and len(view.home) > 1 and not inside_a_root:
        builder.steps.append(("tmpfs", view.home, "size=1m,mode=0755"))
        builder.sealed.append(view.home)


def _roots(builder: _Builder, view: View) -> None:
    """Outer directories before inner ones, so that the inner ones win."""
    profile = view.profile
    changeable = set(profile.writable_roots)
    wanted: dict[str, tuple[str, int]] = {}
    for one in view.toolchains if profile.reads is Reads.LIMITED else ():
        for path in {one.path, one.real}:
            wanted[path] = (one.real, _READ_ONLY)
    for path in [*view.gitdirs, *profile.readable, profile.workspace]:
        wanted[path] = (path, _READ_ONLY)
    for path in changeable:
        wanted[path] = (path, _CHANGEABLE)
    for path, (source, attributes) in sorted(wanted.items(), key=lambda item: item[0].count("/")):
        builder.bind(
            path, source, attributes, ours=True, optional=attributes == _READ_ONLY and path != profile.workspace
        )


def _rules(profile: Profile) -> list[Rule]:
    """The second wall: even what is visible may only be read, except here."""
    temporary = [] if profile.exclude_slash_tmp else ["/tmp"]  # noqa: S108
    changing = [*profile.writable_roots, *temporary, "/dev/shm"]  # noqa: S108
    devices = [f"/dev/{name}" for name in _DEVICES]
    return [("/", READING), *((path, CHANGING) for path in changing), *((path, DEVICE) for path in devices)]
