"""edit_file: replace a piece of text that occurs exactly as often as the caller thinks."""

import msgspec

from signoff.domain.errors import InvalidArguments, NotFound, ToolConflict
from signoff.domain.intent import Aspect, FileRead, FileWrite, Permission
from signoff.files.ground import Ground, spelled
from signoff.tools.changing import ChangingTool
from signoff.tools.edits import Edit, text
from signoff.tools.tool import Place


class EditArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: str
    old: str
    new: str
    expected_replacements: int = 1  # 0: all there are, at least one


class EditFile(ChangingTool[EditArguments]):
    name = "edit_file"
    version = "1.0.0"
    description = "Replace exact text in a file. Refused if it does not occur exactly expected_replacements times."
    permissions = (Permission.FS_READ, Permission.FS_WRITE)
    arguments = EditArguments

    def touched(self, arguments: EditArguments, place: Place) -> list[Aspect]:
        path = spelled(arguments.path, place.workspace)
        return [FileWrite(path), FileRead(path)]  # the graver first: of equal verdicts the first is cited

    def edits(self, arguments: EditArguments, ground: Ground, place: Place) -> list[Edit]:
        if not arguments.old or arguments.expected_replacements < 0:
            raise InvalidArguments("edit_file: `old` must not be empty, nor `expected_replacements` negative")
        path = spelled(arguments.path, place.workspace)
        before = ground.content(path)
        if before is None:
            raise NotFound(f"{arguments.path} is to be changed, but it is not there")
        content, old, new = text(before), arguments.old, arguments.new
        if old not in content and "\r\n" in content:  # models write LF whatever the file has
            old, new = (part.replace("\r\n", "\n").replace("\n", "\r\n") for part in (old, new))
        count = content.count(old)
        if count == 0 or count != (arguments.expected_replacements or count):
            wanted = arguments.expected_replacements or "at least 1"
            raise ToolConflict(f"{arguments.path}: the text occurs {count} times, not {wanted}; nothing was changed")
        return [Edit(path, before, content.replace(old, new).encode("utf-8", "surrogateescape"))]
