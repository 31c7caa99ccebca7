"""list_dir: what lies in a directory."""

import enum
import fnmatch
import os
import stat

import msgspec

from signoff.domain.intent import Action, FileRead, Intent, Permission
from signoff.files import beneath
from signoff.files.ground import Ground, spelled
from signoff.tools.tool import Attempt, Done, Place, Tool

MOST_ENTRIES = 2_000


class Kind(enum.StrEnum):
    FILE = "file"
    DIRECTORY = "directory"
    LINK = "link"
    OTHER = "other"


class ListArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: str = "."
    ignore_globs: tuple[str, ...] = ()


class Entry(msgspec.Struct, frozen=True):
    name: str
    kind: Kind
    size: int


class Listing(msgspec.Struct, frozen=True):
    path: str
    entries: tuple[Entry, ...]
    omitted: int = 0  # beyond the limit


class ListDirectory(Tool[ListArguments]):
    name = "list_dir"
    version = "1.0.0"
    description = "List a directory: names, kinds and sizes. Names that one of ignore_globs fits are left out."
    permissions = (Permission.FS_READ,)
    arguments = ListArguments
    returns = Listing

    def intent(self, arguments: ListArguments, place: Place) -> Intent:
        return Intent(self.name, Action.READ, (FileRead(spelled(arguments.path, place.workspace)),))

    async def run(self, arguments: ListArguments, attempt: Attempt) -> Done:
        with Ground(attempt.place.workspace) as ground:
            found = beneath.entries(*ground.at(spelled(arguments.path, attempt.place.workspace)))
        kept = [
            Entry(os.fsencode(name).decode("utf-8", "backslashreplace"), _kind(status.st_mode), status.st_size)
            for name, status in found
            if not any(fnmatch.fnmatchcase(name, glob) for glob in arguments.ignore_globs)
        ]
        listing = Listing(arguments.path, tuple(kept[:MOST_ENTRIES]), max(0, len(kept) - MOST_ENTRIES))
        marks = {Kind.DIRECTORY: "/", Kind.LINK: "@"}
        shown = "\n".join(entry.name + marks.get(entry.kind, "") for entry in listing.entries)
        return Done(payload=msgspec.to_builtins(listing), display=shown)


def _kind(mode: int) -> Kind:
    kinds = {stat.S_IFREG: Kind.FILE, stat.S_IFDIR: Kind.DIRECTORY, stat.S_IFLNK: Kind.LINK}
    return kinds.get(stat.S_IFMT(mode), Kind.OTHER)
