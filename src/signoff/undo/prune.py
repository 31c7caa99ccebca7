"""Keep the store within its bounds: the oldest calls go first, then the copies that no call needs any more.

Copies that only spare the next command another look at an unchanged file stay while there is room. What was written within
the last hour stays in any case, and nothing is removed while somebody saves.
"""

import contextlib
import os
import time
from collections.abc import Iterator

import msgspec

from signoff.domain.errors import FileRefused, SignoffError
from signoff.domain.unreadable import UNREADABLE
from signoff.files import lock
from signoff.undo.records import Snapshot, files, read
from signoff.undo.states import Kind, Seen

_DAY_NS = 86_400 * 1_000_000_000
_FRESH_NS = 3_600 * 1_000_000_000
_EVERY_NS = _FRESH_NS
_PATIENCE_S = 0.1


class Bounds(msgspec.Struct, frozen=True):
    max_bytes: int = 2 << 30
    keep_days: int = 30


class Pruned(msgspec.Struct, frozen=True):
    """`bytes_left`: what the copies that stay take up."""

    calls: int
    objects: int
    bytes_freed: int
    bytes_left: int


@contextlib.contextmanager
def in_use(directory: str) -> Iterator[None]:
    """Nothing is removed from the store meanwhile."""
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
    except OSError as error:
        raise FileRefused(f"cannot save what is needed to undo this: {error.strerror}") from error
    with lock.locked(os.path.join(directory, "lock"), shared=True):
        yield


def prune_sometimes(directory: str, bounds: Bounds) -> None:
    """Once an hour at most, and never in anybody's way: what goes wrong here goes wrong again next time."""
    mark = os.path.join(directory, "pruned")
    with contextlib.suppress(SignoffError, OSError):
        with contextlib.suppress(FileNotFoundError):
            if time.time_ns() - os.stat(mark).st_mtime_ns < _EVERY_NS:
                return
        if os.path.isdir(directory):
            prune(directory, bounds)


def prune(directory: str, bounds: Bounds, *, now_ns: int | None = None) -> Pruned:
    now = time.time_ns() if now_ns is None else now_ns
    os.makedirs(directory, mode=0o700, exist_ok=True)
    with lock.locked(os.path.join(directory, "lock"), wait=_PATIENCE_S):
        mark = os.path.join(directory, "pruned")
        os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600))
        os.utime(mark)
        sizes = {name: entry.stat().st_size for name, entry in _objects(directory)}
        calls = _doomed(directory, bounds, sizes, now)
        for path in calls:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            with contextlib.suppress(OSError):  # the run has other calls
                os.rmdir(os.path.dirname(path))
        return _clear(directory, len(calls), bounds, now)


def _doomed(directory: str, bounds: Bounds, sizes: dict[str, int], now: int) -> list[str]:
    """The calls that go: too old, or beyond what the newer ones may take up. A copy counts for the newest that needs it."""
    doomed: list[str] = []
    counted: set[str] = set()
    total = 0
    for path in reversed(files(directory)):
        snapshot = read(path)
        if snapshot is None:
            continue
        needed = _contents(snapshot) - counted
        counted |= needed
        total += sum(sizes.get(name, 0) for name in needed)
        age = now - snapshot.at_ms * 1_000_000
        if age > _FRESH_NS and (total > bounds.max_bytes or age > bounds.keep_days * _DAY_NS):
            doomed.append(path)
    return doomed


def _clear(directory: str, calls: int, bounds: Bounds, now: int) -> Pruned:
    needed = {name for path in files(directory) if (one := read(path)) is not None for name in _contents(one)}
    handy = _in_indexes(directory, bounds, now) - needed
    found = [(name, entry.path, entry.stat()) for name, entry in _objects(directory)]
    room = bounds.max_bytes - sum(status.st_size for name, _, status in found if name in needed)
    gone = freed = left = 0
    for name, path, status in found:
        room -= status.st_size if name in handy else 0
        if name in needed or (name in handy and room >= 0) or now - status.st_mtime_ns < _FRESH_NS:
            left += status.st_size
            continue
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
            gone, freed = gone + 1, freed + status.st_size
    return Pruned(calls, gone, freed, left)


def _in_indexes(directory: str, bounds: Bounds, now: int) -> set[str]:
    """The copies of files as they were last seen. An index nobody used for long goes."""
    names: set[str] = set()
    with contextlib.suppress(FileNotFoundError), os.scandir(os.path.join(directory, "index")) as entries:
        for entry in entries:
            if now - entry.stat().st_mtime_ns > bounds.keep_days * _DAY_NS:
                os.unlink(entry.path)
                continue
            with contextlib.suppress(*UNREADABLE), open(entry.path, "rb") as file:
                seen = msgspec.msgpack.decode(file.read(), type=dict[str, Seen])
                names |= {one.state.content for one in seen.values()}
    return names


def _contents(snapshot: Snapshot) -> set[str]:
    states = (state for entry in snapshot.entries for state in (entry.before, entry.after) if state is not None)
    return {state.content for state in states if state.kind is Kind.FILE}


def _objects(directory: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    top = os.path.join(directory, "objects")
    with contextlib.suppress(FileNotFoundError), os.scandir(top) as folders:
        for folder in folders:
            if not folder.is_dir(follow_symlinks=False):
                yield folder.name, folder  # a copy that was cut short
                continue
            with os.scandir(folder.path) as entries:
                for entry in entries:
                    yield folder.name + entry.name, entry
