"""What is known of the calls that changed something: a file each, named by the time they began."""

import contextlib
import os
from collections.abc import Iterator

import msgspec

from signoff.domain.unreadable import UNREADABLE
from signoff.undo.states import State


class Entry(msgspec.Struct, frozen=True):
    """`after` None: the call was cut short, and what it left is not known."""

    path: str  # relative to the workspace, or absolute outside of it
    before: State
    after: State | None = None


class Snapshot(msgspec.Struct, frozen=True):
    """What one call changed."""

    run_id: str
    call_id: str
    tool: str
    workspace: str
    at_ms: int
    entries: tuple[Entry, ...]
    complete: bool = True  # False: the workspace was too large to save all of it
    ended_ns: int = 0  # 0: it has not, or was cut short
    undoes: tuple[str, ...] = ()  # the calls that this one put back, by `key`

    @property
    def key(self) -> str:
        return f"{self.run_id}/{self.call_id}"


def place_of(directory: str, run_id: str, began_ns: int) -> str:
    return os.path.join(directory, "calls", run_id, f"{began_ns:020d}.json")


def files(directory: str, *, since_ns: int = 0) -> list[str]:
    """Where the records are, the oldest call first; with `since_ns` those that were written since."""
    calls = os.path.join(directory, "calls")
    found = [entry.path for run in _written(calls, since_ns) for entry in _written(run.path, since_ns)]
    return sorted((path for path in found if path.endswith(".json")), key=os.path.basename)


def _written(directory: str, since_ns: int) -> Iterator[os.DirEntry[str]]:
    with contextlib.suppress(FileNotFoundError), os.scandir(directory) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):  # another process clears away
                if not since_ns or entry.stat().st_mtime_ns >= since_ns - _GRAIN_NS:
                    yield entry


_GRAIN_NS = 20_000_000  # the clock that file times come from is coarser than ours


def read(path: str) -> Snapshot | None:
    """None: it is gone, or damaged."""
    with contextlib.suppress(OSError, *UNREADABLE), open(path, "rb") as file:
        return msgspec.json.decode(file.read(), type=Snapshot)
    return None


def history(directory: str, workspace: str | None = None) -> list[Snapshot]:
    """Every call that changed something, the oldest first."""
    found = filter(None, map(read, files(directory)))
    return [one for one in found if workspace is None or one.workspace == workspace]


def standing(snapshots: list[Snapshot]) -> list[Snapshot]:
    """The calls that nobody has put back, without those that did nothing else; an undo that was undone counts for nothing."""
    undone: set[str] = set()
    found = []
    for one in reversed(snapshots):
        if one.key in undone:
            continue
        undone.update(one.undoes)
        if not one.undoes:
            found.append(one)
    return found[::-1]


def left_by_others(directory: str, workspace: str, own: str, since_ns: int) -> dict[str, State]:
    """What other calls, of this run or of others, left in the workspace since then, path by path."""
    left: dict[str, tuple[int, State]] = {}
    for path in files(directory, since_ns=since_ns):
        other = read(path) if path != own else None
        if other is None or other.workspace != workspace or other.ended_ns < since_ns:
            continue
        for entry in other.entries:
            if entry.after is not None and other.ended_ns >= left.get(entry.path, (0, entry.after))[0]:
                left[entry.path] = (other.ended_ns, entry.after)
    return {path: state for path, (_, state) in left.items()}
