"""apply_patch: change any number of files together. Every change is located before the first is written."""

import enum
from typing import Any

import msgspec

from signoff.approvals.request import PatchSubject, Subject
from signoff.domain.call import Artifacts
from signoff.domain.errors import InvalidArguments, SignoffError
from signoff.domain.intent import Action, Aspect, FileDelete, FileRead, FileWrite, Intent, Permission
from signoff.domain.review import AddFile, DeleteFile, FileChange, UpdateFile
from signoff.domain.settings import ApprovalPolicy
from signoff.files.ground import Ground, shown, spelled
from signoff.tools.edits import Edit, carry_out, change_shown, diff, planned
from signoff.tools.patch_format import Add, Change, Chunk, Delete, Update
from signoff.tools.patch_unified import parse_patch
from signoff.tools.tool import Attempt, Done, Place, Tool


class PatchArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    patch_text: str
    dry_run: bool = False  # say what would change, and change nothing


class What(enum.StrEnum):
    ADDED = "A"
    MODIFIED = "M"
    DELETED = "D"


class ChangedFile(msgspec.Struct, frozen=True):
    path: str
    change: What


class PatchResult(msgspec.Struct, frozen=True):
    applied: bool
    files: tuple[ChangedFile, ...]
    diff: str | None = None  # of a dry run


class FileKey(msgspec.Struct, frozen=True):
    """What a yes for the session covers: changes of this file."""

    path: str


class ApplyPatch(Tool[PatchArguments]):
    name = "apply_patch"
    version = "1.0.0"
    description = (
        "Change files: add, update, move, delete, any number of them, all or nothing. The patch is either a unified diff"
        " or begins with '*** Begin Patch' and ends with '*** End Patch'. dry_run shows what would change."
    )
    permissions = (Permission.FS_READ, Permission.FS_WRITE, Permission.FS_DELETE)
    side_effects = ("changes, makes and deletes files",)
    arguments = PatchArguments
    returns = PatchResult

    def intent(self, arguments: PatchArguments, place: Place) -> Intent:
        changes = parse_patch(arguments.patch_text)
        if not changes:
            raise InvalidArguments("the patch changes no file")
        if arguments.dry_run:
            reads = (FileRead(spelled(change.path, place.workspace)) for change in changes)
            return Intent(self.name, Action.READ, tuple(reads))
        return Intent(self.name, Action.WRITE, tuple(touched(changes, place)))

    def approval_keys(self, arguments: PatchArguments, place: Place) -> tuple[Any, ...]:
        aspects = touched(parse_patch(arguments.patch_text), place)
        changed = (aspect.path for aspect in aspects if isinstance(aspect, FileWrite | FileDelete))
        return tuple(map(FileKey, dict.fromkeys(changed)))

    def subject(self, arguments: PatchArguments, place: Place) -> Subject:
        return patch_subject(parse_patch(arguments.patch_text), place)

    def wants_no_sandbox_approval(self, policy: ApprovalPolicy) -> bool:
        return policy is not ApprovalPolicy.NEVER

    async def run(self, arguments: PatchArguments, attempt: Attempt) -> Done:
        changes, place = parse_patch(arguments.patch_text), attempt.place
        with Ground(place.workspace) as ground:
            edits = planned(changes, ground, place)
            if not arguments.dry_run:
                carry_out(edits, ground)
        return done(edits, place, dry_run=arguments.dry_run)


def touched(changes: tuple[Change, ...], place: Place) -> list[Aspect]:
    """An update reads what it changes: an error shows the lines it found instead."""
    aspects: list[Aspect] = []
    for change in changes:
        path = spelled(change.path, place.workspace)
        match change:
            case Add():
                aspects.append(FileWrite(path))
            case Delete():
                aspects.append(FileDelete(path))
            case Update(move_to=None):
                aspects += [FileRead(path), FileWrite(path)]
            case Update(move_to=str(target)):
                aspects += [FileRead(path), FileWrite(spelled(target, place.workspace)), FileWrite(path)]
    return aspects


def patch_subject(changes: tuple[Change, ...], place: Place) -> PatchSubject:
    """What the person sees: the true differences if the patch fits, else the patch as it is."""
    try:
        with Ground(place.workspace) as ground:
            edits = planned(changes, ground, place)
    except SignoffError:
        return PatchSubject({spelled(change.path, place.workspace): _as_written(change, place) for change in changes})
    return PatchSubject({edit.path: change_shown(edit, shown(edit.path, place.workspace)) for edit in edits})


def _as_written(change: Change, place: Place) -> FileChange:
    match change:
        case Add(content=content):
            return AddFile(content)
        case Delete(chunks=chunks):
            return DeleteFile(_lines(chunks))
        case Update(chunks=chunks, move_to=target):
            return UpdateFile(_lines(chunks), None if target is None else spelled(target, place.workspace))


def _lines(chunks: tuple[Chunk, ...]) -> str:
    return "".join("@@\n" + "".join(f"{line.mark}{line.text}\n" for line in chunk.lines) for chunk in chunks)


def done(edits: list[Edit], place: Place, *, dry_run: bool = False) -> Done:
    """The same result for every tool that edits files."""
    names = {edit.path: shown(edit.path, place.workspace) for edit in edits}
    differences = "".join(diff(edit, names[edit.path]) for edit in edits)
    differences = differences.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    result = PatchResult(
        applied=not dry_run,
        files=tuple(ChangedFile(names[edit.path], _what(edit)) for edit in edits),
        diff=differences if dry_run else None,
    )
    return Done(
        payload=msgspec.to_builtins(result),
        artifacts=Artifacts() if dry_run else Artifacts(files_changed=tuple(names.values())),
        display=differences,
    )


def _what(edit: Edit) -> What:
    if edit.before is None:
        return What.ADDED
    return What.DELETED if edit.after is None else What.MODIFIED
