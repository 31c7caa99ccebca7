"""delete_file: take one file away. It can be undone."""

import msgspec

from signoff.domain.intent import Aspect, FileDelete, Permission
from signoff.files.ground import Ground, spelled
from signoff.tools.changing import ChangingTool
from signoff.tools.edits import Edit, planned
from signoff.tools.patch_format import Delete
from signoff.tools.tool import Place


class DeleteArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: str


class DeleteFile(ChangingTool[DeleteArguments]):
    name = "delete_file"
    version = "1.0.0"
    description = "Delete a file. Directories are refused."
    permissions = (Permission.FS_DELETE,)
    side_effects = ("deletes a file",)
    arguments = DeleteArguments

    def touched(self, arguments: DeleteArguments, place: Place) -> list[Aspect]:
        return [FileDelete(spelled(arguments.path, place.workspace))]

    def edits(self, arguments: DeleteArguments, ground: Ground, place: Place) -> list[Edit]:
        return planned((Delete(arguments.path),), ground, place)
