"""write_file: the whole content of one file."""

import msgspec

from signoff.domain.intent import Aspect, FileWrite, Permission
from signoff.files.ground import Ground, spelled
from signoff.tools.changing import ChangingTool
from signoff.tools.edits import Edit, planned
from signoff.tools.patch_format import Add
from signoff.tools.tool import Place


class WriteArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: str
    content: str


class WriteFile(ChangingTool[WriteArguments]):
    name = "write_file"
    version = "1.0.0"
    description = (
        "Write a file: make it, or replace all of its content. To change part of a file use edit_file or apply_patch."
    )
    permissions = (Permission.FS_WRITE,)
    arguments = WriteArguments

    def touched(self, arguments: WriteArguments, place: Place) -> list[Aspect]:
        return [FileWrite(spelled(arguments.path, place.workspace))]

    def edits(self, arguments: WriteArguments, ground: Ground, place: Place) -> list[Edit]:
        return planned((Add(arguments.path, arguments.content),), ground, place)
