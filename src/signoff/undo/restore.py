"""Put back what calls changed. What somebody changed since is left alone unless told otherwise, and then nothing is touched."""

import contextlib
import os

import msgspec

from signoff.domain.errors import NotFound, SignoffError, ToolConflict
from signoff.files import beneath
from signoff.files.ground import Ground
from signoff.undo.objects import Objects
from signoff.undo.records import Snapshot, standing
from signoff.undo.snapshot import Undo
from signoff.undo.states import DIRECTORY, Kind, Observer, State

_MOST_NAMED = 10


class Step(msgspec.Struct, frozen=True):
    """One path and what is to stand there again. `expected` None: nobody knows what the call left."""

    path: str
    restored: State
    expected: State | None


def chosen(snapshots: list[Snapshot], name: str | None) -> list[Snapshot]:
    """The calls of the run or the call of that name (or beginning); without a name the last that is not undone."""
    if not snapshots:
        raise NotFound("there is nothing to undo here")
    if name is None:
        if not (left := standing(snapshots)):
            hint = "signoff undo --list shows it; an undo is itself undone by its id."
            raise NotFound("everything that was changed here is undone already", hint=hint)
        return left[-1:]
    for exact in (True, False):
        found = [one for one in snapshots if _named(one, name, exact=exact)]
        if found:
            break
    if not found:
        raise NotFound(f"no call and no run {name!r} changed anything here", hint="signoff undo --list shows them.")
    if len({one.run_id for one in found}) > 1:
        raise NotFound(f"{name!r} fits more than one run", hint="Give more of its id.")
    calls = {one.call_id for one in found}
    if not exact and len(calls) > 1 and not all(one.run_id.startswith(name) for one in found):
        raise NotFound(f"{name!r} fits more than one call", hint="Give more of its id.")
    return found


def _named(one: Snapshot, name: str, *, exact: bool) -> bool:
    if exact:
        return name in (one.run_id, one.call_id)
    return one.run_id.startswith(name) or one.call_id.startswith(name)


def steps(snapshots: list[Snapshot]) -> list[Step]:
    """What stood there before the first of these calls, wherever one of them changed something."""
    first: dict[str, State] = {}
    last: dict[str, State | None] = {}
    between: set[str] = set()
    for snapshot in snapshots:
        for entry in snapshot.entries:
            first.setdefault(entry.path, entry.before)
            if last.get(entry.path, entry.before) != entry.before:
                between.add(entry.path)  # somebody else was there between two of the calls
            last[entry.path] = entry.after
    return [
        Step(path, before, None if path in between else last[path])
        for path, before in first.items()
        if before != last[path] or path in between
    ]


def restore(directory: str, workspace: str, snapshots: list[Snapshot], *, force: bool, by: str | None) -> list[str]:
    """Put everything back or nothing, and give the paths. As call `by` it can itself be undone; None: somebody else saves."""
    planned = steps(snapshots)
    objects = Objects(os.path.join(directory, "objects"))
    contents = {
        step.path: objects.content(step.restored.content) for step in planned if step.restored.kind is Kind.FILE
    }
    with Ground(workspace) as ground:
        observer = Observer(ground, objects, {})
        now = {step.path: observer.state(os.path.join(workspace, step.path)) for step in planned}
        _refuse_conflicts(planned, now, force)
        due = [step for step in planned if now[step.path] != step.restored]
        undo = Undo(directory, workspace, by) if by else None
        saved = undo and undo.before(by or "", "undo", [os.path.join(workspace, step.path) for step in due])
        try:
            _put_back(due, now, contents, ground, workspace)
            if undo is not None and by:
                undo.took_back(by, snapshots)
        finally:
            if saved:
                saved.after()
    return [step.path for step in due if DIRECTORY not in (step.restored, now[step.path])]


def _refuse_conflicts(planned: list[Step], now: dict[str, State], force: bool) -> None:
    unsaved = [step.path for step in planned if step.restored.kind is Kind.UNSAVED]
    if unsaved:
        raise ToolConflict(f"what was there before could not be saved: {', '.join(unsaved[:_MOST_NAMED])}")
    changed = [
        step.path
        for step in planned
        if now[step.path] not in (step.expected, step.restored) and DIRECTORY not in (step.restored, step.expected)
    ]
    if changed and not force:
        more = f" and {len(changed) - _MOST_NAMED} more" if len(changed) > _MOST_NAMED else ""
        raise ToolConflict(
            f"changed since by somebody else: {', '.join(changed[:_MOST_NAMED])}{more}",
            hint="--force puts the earlier content back all the same.",
        )


def _put_back(
    due: list[Step], now: dict[str, State], contents: dict[str, bytes], ground: Ground, workspace: str
) -> None:
    """First what has to go, the deepest first; then what comes back, the outermost first."""
    for step in sorted(due, key=lambda step: step.path, reverse=True):
        goes = now[step.path].kind is not Kind.ABSENT and step.restored.kind is not now[step.path].kind
        if goes or now[step.path].kind is Kind.LINK:
            # a directory that others put something into stays
            with contextlib.suppress(SignoffError) if now[step.path] == DIRECTORY else contextlib.nullcontext():
                ground.remove(os.path.join(workspace, step.path))
    for step in sorted(due, key=lambda step: step.path):
        path = os.path.join(workspace, step.path)
        match step.restored.kind:
            case Kind.FILE:
                ground.write(path, contents[step.path])
                ground.set_mode(path, step.restored.mode)
            case Kind.LINK:
                root, name = ground.at(path)
                beneath.make_directory(root, os.path.dirname(name) or ".")
                beneath.make_link(root, name, step.restored.content)
            case Kind.DIRECTORY:
                root, name = ground.at(path)
                beneath.make_directory(root, name)
            case _:
                pass
