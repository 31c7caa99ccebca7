"""Limits that hold for a whole process tree and count every page: control groups, where this machine lets us make one.

Version 2 and version 1 differ in file names and in where a group may be made; both are found by looking, never assumed.
Without them per-process limits and a watch over the tree remain, and `unlimited` says exactly what those cannot see.
"""

import contextlib
import os
import time

import msgspec

from signoff.domain.errors import NotEnforceable

MEMORY, PIDS = "memory", "pids"  # as the kernel calls them
_REMOVAL_SECONDS = 2.0
_FILES = {
    (2, MEMORY): "memory.max",
    (2, PIDS): "pids.max",
    (1, MEMORY): "memory.limit_in_bytes",
    (1, PIDS): "pids.max",
}


class Place(msgspec.Struct, frozen=True):
    """A directory of a control group hierarchy in which we may make groups that limit one resource."""

    resource: str
    version: int
    directory: str


class Facts(msgspec.Struct, frozen=True):
    places: tuple[Place, ...]
    unlimited: tuple[str, ...]  # what cannot be limited here, in words for a person


def facts(*, proc: str = "/proc/self", root: str = "/") -> Facts:
    """What can be limited here. Looks only; a group is made when a command needs one."""
    places = tuple(found for resource in (MEMORY, PIDS) if (found := _find(resource, proc, root)) is not None)
    have = {place.resource for place in places}
    missing = []
    if MEMORY not in have:
        missing.append(
            "memory that no process maps (files in memory, pipes) is not counted, and a tree may exceed its limit"
            " for a moment: there is no writable memory control group"
        )
    if PIDS not in have and os.geteuid() == 0:
        missing.append(
            "processes of the superuser are not counted per command: there is no writable pids control group"
        )
    return Facts(places, tuple(missing))


class Group:
    """One group per place, made on entering and removed on leaving; what a killed predecessor left is removed too."""

    def __init__(self, places: tuple[Place, ...], *, memory_bytes: int, processes: int) -> None:
        self._limits = {MEMORY: memory_bytes, PIDS: processes}
        self._places = places
        self._made: dict[str, str] = {}
        self._events: dict[str, int] = {}  # open files in which the kernel counts what it enforced
        self._seen = {MEMORY: 0, PIDS: 0}

    def __enter__(self) -> "Group":
        name = f"signoff-{os.getpid()}-{os.urandom(8).hex()}"
        try:
            for place in self._places:
                _sweep(place.directory)
                path = os.path.join(place.directory, name)
                with contextlib.suppress(FileExistsError):  # version 2: one directory limits both
                    os.mkdir(path)
                self._made[place.resource] = path
                _write(os.path.join(path, _FILES[place.version, place.resource]), str(self._limits[place.resource]))
                if place.resource == MEMORY:
                    _forbid_swap(path, place.version, self._limits[MEMORY])
                self._events[place.resource] = os.open(_events(path, place), os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            self._remove()
            raise NotEnforceable(f"a control group cannot be set up: {error.strerror} ({error.filename})") from error
        return self

    def __exit__(self, *_: object) -> None:
        self._remove()

    def take_in(self, pid: int) -> None:
        """A process, and all it starts from now on."""
        try:
            for path in dict.fromkeys(self._made.values()):
                _write(os.path.join(path, "cgroup.procs"), str(pid))
        except OSError as error:
            raise NotEnforceable(f"process {pid} cannot be put into a control group: {error.strerror}") from error

    def exhausted(self) -> str | None:
        """The limit by which the kernel killed or refused since this was last asked, if any."""
        before = dict(self._seen)
        for resource, events in self._events.items():
            self._seen[resource] = _count(os.pread(events, 4_096, 0), b"oom_kill" if resource == MEMORY else b"max")
        return next((resource for resource in self._seen if self._seen[resource] > before[resource]), None)

    def _remove(self) -> None:
        """A group can go once its last process is gone, which may take a moment after the kill."""
        for events in self._events.values():
            os.close(events)
        self._events.clear()
        deadline = time.monotonic() + _REMOVAL_SECONDS
        for path in dict.fromkeys(self._made.values()):
            while os.path.isdir(path):
                try:
                    os.rmdir(path)
                except OSError:
                    if time.monotonic() > deadline:
                        break
                    time.sleep(0.01)
        self._made.clear()


def _events(path: str, place: Place) -> str:
    old_memory = place.resource == MEMORY and place.version == 1
    return os.path.join(path, "memory.oom_control" if old_memory else f"{place.resource}.events")


def _count(content: bytes, field: bytes) -> int:
    words = content.split()
    return int(words[words.index(field) + 1]) if field in words else 0


def _sweep(directory: str) -> None:
    for name in os.listdir(directory):
        owner = name.removeprefix("signoff-").partition("-")[0]
        if name.startswith("signoff-") and owner.isdigit() and not os.path.exists(f"/proc/{owner}"):
            with contextlib.suppress(OSError):
                os.rmdir(os.path.join(directory, name))


def _find(resource: str, proc: str, root: str) -> Place | None:
    own = {controllers: path for _, controllers, path in (line.split(":", 2) for line in _lines(f"{proc}/cgroup"))}
    for line in _lines(f"{proc}/mountinfo"):
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        inside, mount = before.split(" ")[3:5]
        if kind == "cgroup" and resource in options.split(" ")[-1].split(","):
            version, path = 1, next((path for names, path in own.items() if resource in names.split(",")), None)
        elif kind == "cgroup2":
            version, path = 2, own.get("")
        else:
            continue
        if path is None or not f"{path}/".startswith(f"{inside.rstrip('/')}/"):
            continue
        top = os.path.join(root, mount.lstrip("/"))
        directory = os.path.normpath(f"{top}/{path[len(inside.rstrip('/')) :]}")
        if (place := _usable(resource, version, directory, top)) is not None:
            return place
    return None


def _usable(resource: str, version: int, directory: str, top: str) -> Place | None:
    """Version 1: below our own group. Version 2: a group with processes cannot give resources to groups below it, so
    the nearest one above us that already does."""
    if version == 1:
        return Place(resource, 1, directory) if os.access(directory, os.W_OK) else None
    while directory.startswith(top):
        given = " ".join(_lines(os.path.join(directory, "cgroup.subtree_control"))).split()
        if resource in given:
            movable = os.access(directory, os.W_OK) and os.access(os.path.join(directory, "cgroup.procs"), os.W_OK)
            return Place(resource, 2, directory) if movable else None
        directory = os.path.dirname(directory)
    return None


def _forbid_swap(path: str, version: int, memory_bytes: int) -> None:
    """Where swap is accounted at all; a limit that only moves pages to disk is none."""
    name, value = ("memory.swap.max", "0") if version == 2 else ("memory.memsw.limit_in_bytes", str(memory_bytes))
    with contextlib.suppress(OSError):
        _write(os.path.join(path, name), value)


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().splitlines()
    except OSError:
        return []


def _write(path: str, value: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)  # never made anew: a group's files are the kernel's
    try:
        os.write(descriptor, value.encode())
    finally:
        os.close(descriptor)
