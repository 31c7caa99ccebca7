"""Change files all together or not at all. Every tool that writes files does it here."""

import contextlib
import difflib
import os

import msgspec

from signoff.domain.errors import FileRefused, NotFound, SignoffError, ToolConflict
from signoff.domain.review import AddFile, DeleteFile, FileChange, UpdateFile
from signoff.files.ground import Ground, shown, spelled
from signoff.policy.rules.sensitive import is_credential
from signoff.tools.patch_apply import updated
from signoff.tools.patch_format import Add, Change, Delete, Update
from signoff.tools.tool import Place


class Edit(msgspec.Struct, frozen=True):
    """What becomes of one file: `before` None, it was not there; `after` None, it goes away. The path is absolute."""

    path: str
    before: bytes | None
    after: bytes | None
    mode: int = 0o666  # of a new file


class Undone(msgspec.Struct):
    """What has been done so far, to take back."""

    edits: list[Edit]
    directories: list[str]


def text(data: bytes) -> str:
    """Bytes that are no UTF-8 survive the way there and back."""
    return data.decode("utf-8", "surrogateescape")


def planned(changes: tuple[Change, ...], ground: Ground, place: Place) -> list[Edit]:
    """What each change comes to, with nothing written yet. Raises where one of them does not fit the files."""
    edits: list[Edit] = []
    for change in changes:
        path = spelled(change.path, place.workspace)
        if ground.is_directory(path):
            raise FileRefused(f"{change.path} is a directory")
        before = ground.content(path)
        match change:
            case Add(content=content, executable=executable, may_replace=may_replace):
                if before is not None and not may_replace:
                    raise ToolConflict(f"{change.path} is to be added, but it is there already")
                edits.append(Edit(path, before, _bytes(content), 0o777 if executable else 0o666))
            case Delete(chunks=chunks):
                if before is None:
                    raise NotFound(f"{change.path} is to be deleted, but it is not there")
                if chunks and updated(change.path, text(before), chunks, show=_may_show(path, place)):
                    raise ToolConflict(f"{change.path} is to be deleted, but it contains more than the patch says")
                edits.append(Edit(path, before, None))
            case Update():
                edits += _update(change, path, before, ground, place)
    _refuse_overlap(edits, place)
    return edits


def _update(change: Update, path: str, before: bytes | None, ground: Ground, place: Place) -> list[Edit]:
    if before is None:
        raise NotFound(f"{change.path} is to be changed, but it is not there")
    after = before
    if change.chunks:
        after = _bytes(updated(change.path, text(before), change.chunks, show=_may_show(path, place)))
    if change.move_to is None:
        return [Edit(path, before, after)]
    target = spelled(change.move_to, place.workspace)
    if ground.is_directory(target):
        raise FileRefused(f"{change.move_to} is a directory")
    there = ground.content(target)
    return [Edit(target, there, after, ground.mode(path)), Edit(path, before, None)]


def _may_show(path: str, place: Place) -> bool:
    return not is_credential(path, place.home)


def _bytes(content: str) -> bytes:
    return content.encode("utf-8", "surrogateescape")


def _refuse_overlap(edits: list[Edit], place: Place) -> None:
    """Two spellings of one path (`a`, `./a`), or a file below a path that is itself a file."""
    seen: set[str] = set()
    for edit in edits:
        if edit.path in seen:
            raise ToolConflict(f"more than one change names {shown(edit.path, place.workspace)}")
        seen.add(edit.path)


def carry_out(edits: list[Edit], ground: Ground) -> None:
    """Make every edit; if one fails, take back those before it and raise."""
    done = Undone([], [])
    try:
        for edit in edits:
            if ground.content(edit.path) != edit.before:
                raise ToolConflict(f"{edit.path} changed meanwhile", hint="read it again")
            if edit.after is None:
                ground.remove(edit.path)
            elif edit.after != edit.before:
                done.directories += ground.write(edit.path, edit.after, mode=edit.mode, settle=False)
            done.edits.append(edit)
        for directory in {os.path.dirname(edit.path) for edit in edits if edit.after is not None}:
            ground.sync(directory)  # once each, however many files it has
    except BaseException:
        _take_back(done, ground)
        raise


def _take_back(done: Undone, ground: Ground) -> None:
    for edit in reversed(done.edits):
        with contextlib.suppress(SignoffError):  # whatever can be put back is
            if edit.before is None:
                ground.remove(edit.path)
            elif edit.before != edit.after:
                ground.write(edit.path, edit.before)
    for directory in reversed(done.directories):
        with contextlib.suppress(SignoffError):
            ground.remove(directory)


def diff(edit: Edit, name: str) -> str:
    """As a person reads it."""
    before, after = text(edit.before or b""), text(edit.after or b"")
    lines = difflib.unified_diff(
        before.splitlines(keepends=True),
        after.splitlines(keepends=True),
        "/dev/null" if edit.before is None else f"a/{name}",
        "/dev/null" if edit.after is None else f"b/{name}",
    )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def change_shown(edit: Edit, name: str) -> FileChange:
    """The edit as an approval event says it; bytes that are no text are written out."""
    if edit.before is None:
        return AddFile((edit.after or b"").decode("utf-8", "backslashreplace"))
    if edit.after is None:
        return DeleteFile(edit.before.decode("utf-8", "backslashreplace"))
    return UpdateFile(diff(edit, name).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace"))
