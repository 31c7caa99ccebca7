"""Files that somebody else holds open: their newer text is what a tool reads, and they get the new text to save."""

from collections.abc import Iterable

from signoff.domain.errors import SignoffError, ToolConflict
from signoff.files.ground import Ground
from signoff.tools.edits import Edit, carry_out, text
from signoff.tools.tool import FileAccess


class BufferedGround(Ground):
    """The files of the workspace, with the text that an editor holds in place of what the disk has."""

    def __init__(self, workspace: str, buffers: dict[str, bytes]) -> None:
        super().__init__(workspace)
        self.buffers = buffers

    def content(self, path: str) -> bytes | None:
        held = self.buffers.get(path)
        return super().content(path) if held is None else held


async def held(files: FileAccess | None, paths: Iterable[str]) -> dict[str, bytes]:
    """What the editor has of these files."""
    if files is None:
        return {}
    found = {}
    for path in dict.fromkeys(paths):
        newer = await files.read(path)
        if newer is not None:
            found[path] = newer.encode("utf-8", "surrogateescape")
    return found


async def carry_out_with(files: FileAccess | None, edits: list[Edit], ground: BufferedGround) -> None:
    """Make every edit: through the editor what it holds, on the disk the rest. If one fails, all are taken back."""
    theirs = [] if files is None else [edit for edit in edits if edit.path in ground.buffers and edit.after is not None]
    if files is None or not theirs:
        carry_out(edits, ground)
        return
    for edit in theirs:  # as late as possible: the person may be typing
        if await held(files, [edit.path]) != {edit.path: edit.before}:
            raise ToolConflict(f"{edit.path} changed meanwhile", hint="read it again")
    ours = [edit for edit in edits if edit not in theirs]
    carry_out(ours, ground)
    taken: list[Edit] = []
    try:
        for edit in theirs:
            if not await files.write(edit.path, text(edit.after or b"")):
                ground.write(edit.path, edit.after or b"")
            taken.append(edit)
    except BaseException:
        await _take_back(files, ours, taken, ground)
        raise


async def _take_back(files: FileAccess, ours: list[Edit], taken: list[Edit], ground: Ground) -> None:
    for edit in taken:
        if not await files.write(edit.path, text(edit.before or b"")):
            ground.write(edit.path, edit.before or b"")
    for edit in reversed(ours):
        try:
            if edit.before is None:
                ground.remove(edit.path)
            else:
                ground.write(edit.path, edit.before)
        except SignoffError:
            continue  # whatever can be put back is
