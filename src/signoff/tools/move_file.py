"""move_file: give a file another name, which must be free."""

import msgspec

from signoff.domain.errors import ToolConflict
from signoff.domain.intent import Aspect, FileRead, FileWrite, Permission
from signoff.files.ground import Ground, spelled
from signoff.tools.changing import ChangingTool
from signoff.tools.edits import Edit, planned
from signoff.tools.patch_format import Update
from signoff.tools.tool import Place


class MoveArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    source: str
    destination: str


class MoveFile(ChangingTool[MoveArguments]):
    name = "move_file"
    version = "1.0.0"
    description = "Move or rename a file. The new name must not exist yet."
    permissions = (Permission.FS_READ, Permission.FS_WRITE)
    arguments = MoveArguments

    def touched(self, arguments: MoveArguments, place: Place) -> list[Aspect]:
        source, destination = (spelled(path, place.workspace) for path in (arguments.source, arguments.destination))
        return [FileWrite(destination), FileWrite(source), FileRead(source)]  # the graver first, as in edit_file

    def edits(self, arguments: MoveArguments, ground: Ground, place: Place) -> list[Edit]:
        if ground.content(spelled(arguments.destination, place.workspace)) is not None:
            raise ToolConflict(f"{arguments.destination} is there already")
        return planned((Update(arguments.source, (), arguments.destination),), ground, place)
