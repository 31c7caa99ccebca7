"""apply_patch: change any number of files together. Every change is located before the first is written."""

import msgspec

from signoff.domain.errors import InvalidArguments
from signoff.domain.intent import Aspect, FileDelete, FileRead, FileWrite, Permission
from signoff.domain.review import AddFile, DeleteFile, FileChange, UpdateFile
from signoff.domain.settings import ApprovalPolicy
from signoff.files.ground import Ground, spelled
from signoff.tools.changing import ChangingTool
from signoff.tools.edits import Edit, planned
from signoff.tools.patch_format import Add, Change, Chunk, Delete, Update
from signoff.tools.patch_unified import parse_patch
from signoff.tools.tool import Place


class PatchArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    patch_text: str
    dry_run: bool = False  # say what would change, and change nothing


class ApplyPatch(ChangingTool[PatchArguments]):
    name = "apply_patch"
    version = "1.0.0"
    description = (
        "Change files: add, update, move, delete, any number of them, all or nothing. The patch is either a unified diff"
        " or begins with '*** Begin Patch' and ends with '*** End Patch'. dry_run shows what would change."
    )
    permissions = (Permission.FS_READ, Permission.FS_WRITE, Permission.FS_DELETE)
    side_effects = ("changes, makes and deletes files",)
    arguments = PatchArguments

    def touched(self, arguments: PatchArguments, place: Place) -> list[Aspect]:
        changes = parse_patch(arguments.patch_text)
        if not changes:
            raise InvalidArguments("the patch changes no file")
        return [aspect for change in changes for aspect in _aspects(change, place)]

    def edits(self, arguments: PatchArguments, ground: Ground, place: Place) -> list[Edit]:
        return planned(parse_patch(arguments.patch_text), ground, place)

    def previews(self, arguments: PatchArguments) -> bool:
        return arguments.dry_run

    def as_written(self, arguments: PatchArguments, place: Place) -> dict[str, FileChange]:
        changes = parse_patch(arguments.patch_text)
        return {spelled(change.path, place.workspace): _as_written(change, place) for change in changes}

    def wants_no_sandbox_approval(self, policy: ApprovalPolicy) -> bool:
        return policy is not ApprovalPolicy.NEVER


def _aspects(change: Change, place: Place) -> list[Aspect]:
    """An update reads what it changes: an error shows the lines it found instead."""
    path = spelled(change.path, place.workspace)
    match change:
        case Add():
            return [FileWrite(path)]
        case Delete():
            return [FileDelete(path)]
        case Update(move_to=target):
            moved: list[Aspect] = [] if target is None else [FileWrite(spelled(target, place.workspace))]
            return [FileWrite(path), *moved, FileRead(path)]  # the graver first: of equal verdicts the first is cited


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
