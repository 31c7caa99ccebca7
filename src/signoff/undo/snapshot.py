"""Save what a call may touch, before it runs; note what it left, when it has.

A call that names its files costs what those files cost. A command that may write anywhere has the whole workspace looked
at, less what the project ignores: files that did not change since the last look are not read again.
"""

import contextlib
import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterable

import msgspec

from signoff.domain.errors import FileRefused
from signoff.domain.unreadable import UNREADABLE
from signoff.files import atomic
from signoff.files.ground import Ground, shown
from signoff.files.ignore import ALWAYS, MADE_BY_TOOLS, walk
from signoff.undo.objects import Objects
from signoff.undo.prune import Bounds, in_use, prune_sometimes
from signoff.undo.records import Entry, Snapshot, left_by_others, place_of
from signoff.undo.states import ABSENT, UNSAVED, Kind, Observer, Seen, State

# Of a workspace; what lies beyond is not saved before a command, and the record says so.
MOST_FILES = 20_000
MOST_BYTES = 512 << 20  # that have to be read


class Undo:
    """For one run. `directory` is ours alone and masked in every sandbox.

    `placeheld`: where the sandbox puts empty directories of its own while it runs; they are no change of anybody's."""

    def __init__(
        self,
        directory: str,
        workspace: str,
        run_id: str,
        placeheld: Iterable[str] = (),
        *,
        bounds: Bounds | None = None,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self.directory, self.run_id, self._workspace = directory, run_id, workspace
        self._objects = Objects(os.path.join(directory, "objects"))
        self._placeheld = frozenset(placeheld)
        self._seen: dict[str, Seen] | None = None
        self._undoes: dict[str, tuple[str, ...]] = {}
        self._clock = clock
        self._latest = 0  # call of this run: they stay in order although somebody sets the clock back
        self._bounds = bounds  # None: somebody else keeps the store small
        self._folder = threading.Lock()  # of the run's calls: made by the first, gone with the last

    def before(self, call_id: str, tool: str, paths: Iterable[str] | None) -> "Pending":
        """Save these paths (absolute), or the whole workspace. What cannot be saved at all is refused."""
        began = self._latest = max(self._clock(), self._latest + 1)
        self._keep_small()
        with in_use(self.directory):
            return self._saved(call_id, tool, paths, began)

    def took_back(self, call_id: str, snapshots: Iterable[Snapshot]) -> None:
        """The call that is under way put these back."""
        self._undoes[call_id] = tuple(one.key for one in snapshots)

    def undoes(self, call_id: str) -> tuple[str, ...]:
        return self._undoes.pop(call_id, ())

    def _saved(self, call_id: str, tool: str, paths: Iterable[str] | None, began: int) -> "Pending":
        if paths is None:
            states, complete = self._tree()
            self._remember()
        else:
            states, complete = self._named(paths), True
        entries = tuple(Entry(path, state) for path, state in states.items())
        snapshot = Snapshot(self.run_id, call_id, tool, self._workspace, began // 1_000_000, entries, complete)
        place = place_of(self.directory, self.run_id, began)
        self.note(place, snapshot)
        return Pending(self, snapshot, place, began, whole=paths is None)

    def now(self, snapshot: Snapshot, *, whole: bool) -> tuple[dict[str, State], bool]:
        then = (entry.path for entry in snapshot.entries)
        if not whole:
            return self._named(os.path.join(self._workspace, path) for path in then), True
        states, complete = self._tree()
        if not complete:  # what is new may have pushed some of them beyond the limit
            states |= self._named(os.path.join(self._workspace, path) for path in then if path not in states)
        return states, complete

    def note(self, place: str, snapshot: Snapshot) -> None:
        with self._folder:
            _write(place, snapshot)

    def forget(self, place: str) -> None:
        with self._folder:
            os.unlink(place)
            with contextlib.suppress(OSError):  # the run has other calls
                os.rmdir(os.path.dirname(place))

    def _keep_small(self) -> None:
        """With the first call of a run."""
        if self._bounds is not None:
            prune_sometimes(self.directory, self._bounds)
            self._bounds = None

    def exists(self, path: str) -> bool:
        return os.path.lexists(os.path.join(self._workspace, path))

    def _named(self, paths: Iterable[str]) -> dict[str, State]:
        with Ground(self._workspace) as ground:
            observer = Observer(ground, self._objects, self._known())
            wanted = {above: None for path in paths for above in (*_new_above(path, self._workspace), path)}
            return {shown(path, self._workspace): observer.state(path) for path in wanted}

    def _tree(self) -> tuple[dict[str, State], bool]:
        """What stands in the workspace, and whether that is all of it."""
        states: dict[str, State] = {}
        left = MOST_BYTES
        with Ground(self._workspace) as ground:
            observer = Observer(ground, self._objects, self._known())
            for path, entry in walk(self._workspace, leave_out=ALWAYS | MADE_BY_TOOLS):
                if len(states) >= MOST_FILES:
                    return states, False
                full = f"{self._workspace}/{path}"
                with contextlib.suppress(FileNotFoundError):
                    if full in self._placeheld and entry.is_dir(follow_symlinks=False) and not os.listdir(full):
                        continue
                    if entry.is_symlink():
                        states[path] = State(Kind.LINK, os.readlink(full))
                        continue
                    found = entry.stat(follow_symlinks=False)
                    left -= 0 if observer.known(full, found) else found.st_size
                    states[path] = observer.of_entry(full, found) if left >= 0 else UNSAVED
        return states, left >= 0

    def _known(self) -> dict[str, Seen]:
        """From earlier runs: a file that is the same as then is saved already."""
        if self._seen is None:
            self._seen = {}
            with contextlib.suppress(OSError, *UNREADABLE), open(self._index, "rb") as file:
                self._seen = msgspec.msgpack.decode(file.read(), type=dict[str, Seen])
        return self._seen

    def _remember(self) -> None:
        os.makedirs(os.path.dirname(self._index), mode=0o700, exist_ok=True)
        atomic.write(self._index, msgspec.msgpack.encode(self._known()), mode=0o600)

    @property
    def _index(self) -> str:
        name = hashlib.sha256(os.fsencode(self._workspace)).hexdigest()[:32]
        return os.path.join(self.directory, "index", name)


class Pending:
    """A call that is under way."""

    def __init__(self, undo: Undo, snapshot: Snapshot, place: str, began: int, *, whole: bool) -> None:
        self._undo, self._snapshot, self._place, self._began, self._whole = undo, snapshot, place, began, whole

    def after(self) -> tuple[str, ...]:
        """Note what the call left, and say which paths it changed."""
        before = {entry.path: entry.before for entry in self._snapshot.entries}
        if self._whole:  # what others did meanwhile was there before whatever this call did to it, and is theirs
            before |= left_by_others(self._undo.directory, self._snapshot.workspace, self._place, self._began)
        now, all_of_it = self._undo.now(self._snapshot, whole=self._whole)
        complete = self._snapshot.complete and all_of_it
        paths = before.keys() | now.keys() if complete else before.keys()  # else nobody knows what is new
        entries = tuple(
            Entry(path, before.get(path, ABSENT), self._left(path, now, complete))
            for path in sorted(paths)
            if _differs(before.get(path, ABSENT), self._left(path, now, complete))
        )
        undoes = self._undo.undoes(self._snapshot.call_id)
        if entries or undoes:
            ended = {"ended_ns": time.time_ns(), "undoes": undoes}
            done = msgspec.structs.replace(self._snapshot, entries=entries, complete=complete, **ended)
            self._undo.note(self._place, done)
        else:
            self._undo.forget(self._place)
        return tuple(entry.path for entry in entries if Kind.DIRECTORY not in (entry.before.kind, _kind(entry)))

    def _left(self, path: str, now: dict[str, State], complete: bool) -> State | None:
        """None: it was not looked at any more."""
        if path in now:
            return None if now[path] == UNSAVED else now[path]
        return ABSENT if complete or not self._undo.exists(path) else None


def _differs(before: State, after: State | None) -> bool:
    """Two things that could not be saved are taken for the same; what could not be saved and is gone is not."""
    if before == UNSAVED:
        return after == ABSENT
    return before != after


def _kind(entry: Entry) -> Kind:
    return entry.after.kind if entry.after is not None else Kind.ABSENT


def _new_above(path: str, workspace: str) -> list[str]:
    """The directories that would have to be made for this path, the outermost first."""
    missing: list[str] = []
    above = os.path.dirname(path)
    while above not in ("/", workspace) and not os.path.lexists(above):
        missing.insert(0, above)
        above = os.path.dirname(above)
    return missing


def _write(place: str, snapshot: Snapshot) -> None:
    try:
        run = os.path.dirname(place)
        for folder in (os.path.dirname(run), run):
            os.makedirs(folder, mode=0o700, exist_ok=True)
        atomic.write(place, msgspec.json.encode(snapshot), mode=0o600)
    except OSError as error:
        raise FileRefused(f"cannot save what is needed to undo this: {error.strerror}") from error
