"""What all tools that change files have in common: the intent, the question, the difference shown, and all or nothing."""

import enum
from typing import Any, ClassVar, Protocol, TypeVar

import msgspec

from signoff.approvals.request import PatchSubject, Subject, Width
from signoff.domain.call import Artifacts
from signoff.domain.errors import PeerError, SignoffError
from signoff.domain.event import FileEdited
from signoff.domain.intent import Action, Aspect, FileDelete, FileRead, FileWrite, Intent
from signoff.domain.review import FileChange
from signoff.files.ground import Ground, shown
from signoff.tools.buffers import BufferedGround, carry_out_with, held
from signoff.tools.edits import Edit, change_shown, diff, text
from signoff.tools.tool import Attempt, Done, FileAccess, Place, Tool

Arguments = TypeVar("Arguments", bound=msgspec.Struct)


class What(enum.StrEnum):
    ADDED = "A"
    MODIFIED = "M"
    DELETED = "D"


class ChangedFile(msgspec.Struct, frozen=True):
    path: str
    change: What


class Changed(msgspec.Struct, frozen=True):
    applied: bool
    files: tuple[ChangedFile, ...]
    diff: str | None = None  # of a dry run


class FileKey(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a yes for the session covers: changes of this file; that it goes away is another matter."""

    path: str
    deletes: bool = False


class ChangingTool(Tool[Arguments], Protocol):
    """A tool that says which files it touches and what becomes of them; the rest is here."""

    side_effects: ClassVar[tuple[str, ...]] = ("changes files",)
    returns: ClassVar[type[msgspec.Struct]] = Changed
    remembered: ClassVar[Width] = Width.PLACE

    def touched(self, arguments: Arguments, place: Place) -> list[Aspect]: ...

    def edits(self, arguments: Arguments, ground: Ground, place: Place) -> list[Edit]:
        """What becomes of each file, with nothing written yet."""
        ...

    def previews(self, arguments: Arguments) -> bool:
        """Is only the difference wanted?"""
        return False

    def as_written(self, arguments: Arguments, place: Place) -> dict[str, FileChange]:
        """What to show of a call that does not fit the files; it will fail when it runs."""
        return {}

    def intent(self, arguments: Arguments, place: Place) -> Intent:
        aspects = self.touched(arguments, place)
        if not self.previews(arguments):
            return Intent(self.name, Action.WRITE, tuple(aspects))
        reads = {aspect.path: None for aspect in aspects if isinstance(aspect, FileRead | FileWrite | FileDelete)}
        return Intent(self.name, Action.READ, tuple(map(FileRead, reads)))

    def approval_keys(self, arguments: Arguments, place: Place) -> tuple[Any, ...]:
        aspects = self.touched(arguments, place)
        changed = [aspect for aspect in aspects if isinstance(aspect, FileWrite | FileDelete)]
        return tuple(dict.fromkeys(FileKey(aspect.path, isinstance(aspect, FileDelete)) for aspect in changed))

    def subject(self, arguments: Arguments, place: Place) -> Subject | None:
        """The true differences if the call fits the files, else the call as it is."""
        return self._subject(arguments, place, {})

    async def newest_subject(self, arguments: Arguments, place: Place, files: FileAccess) -> Subject | None:
        try:
            buffers = await held(files, self._texts(arguments, place))
        except PeerError:  # an editor that does not answer leaves us with the disk
            buffers = {}
        return self._subject(arguments, place, buffers)

    def _subject(self, arguments: Arguments, place: Place, buffers: dict[str, bytes]) -> Subject | None:
        try:
            with BufferedGround(place.workspace, buffers) as ground:
                edits = self.edits(arguments, ground, place)
        except SignoffError:
            written = self.as_written(arguments, place)
            return PatchSubject(written) if written else None
        return PatchSubject({edit.path: change_shown(edit, shown(edit.path, place.workspace)) for edit in edits})

    def _texts(self, arguments: Arguments, place: Place) -> list[str]:
        """Files whose text goes into the change."""
        return [each.path for each in self.touched(arguments, place) if isinstance(each, FileRead | FileWrite)]

    async def run(self, arguments: Arguments, attempt: Attempt) -> Done:
        place, preview = attempt.place, self.previews(arguments)
        with BufferedGround(place.workspace, await held(attempt.files, self._texts(arguments, place))) as ground:
            edits = self.edits(arguments, ground, place)
            if not preview:
                await carry_out_with(attempt.files, edits, ground)
        for edit in () if preview else edits:
            attempt.show(_edited(edit, attempt.call_id))
        return _done(edits, place, preview)


def _done(edits: list[Edit], place: Place, preview: bool) -> Done:
    names = {edit.path: shown(edit.path, place.workspace) for edit in edits}
    differences = "".join(diff(edit, names[edit.path]) for edit in edits)
    differences = differences.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    files = tuple(ChangedFile(names[edit.path], _what(edit)) for edit in edits)
    return Done(
        payload=msgspec.to_builtins(Changed(not preview, files, differences if preview else None)),
        artifacts=Artifacts() if preview else Artifacts(files_changed=tuple(names.values())),
        display=differences,
    )


def _edited(edit: Edit, call_id: str) -> FileEdited:
    before, after = (None if data is None else text(data) for data in (edit.before, edit.after))
    return FileEdited(call_id, edit.path, before, after)


def _what(edit: Edit) -> What:
    if edit.before is None:
        return What.ADDED
    return What.DELETED if edit.after is None else What.MODIFIED
