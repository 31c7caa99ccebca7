"""glob_file_search: the files whose path fits a pattern, less what the project ignores."""

import asyncio
import os
import re

import msgspec

from signoff.domain.errors import InvalidArguments, NotFound
from signoff.domain.intent import Action, FileRead, Intent, Permission
from signoff.files.ground import Ground, shown, spelled
from signoff.files.ignore import glob_regex, walk
from signoff.tools.tool import Attempt, Done, Place, Tool

MOST_FILES = 1_000
MOST_CHOICES = 1_000


class GlobArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    glob_pattern: str
    target_directory: str = "."


class Found(msgspec.Struct, frozen=True):
    files: tuple[str, ...]  # relative to the workspace
    truncated: bool = False


class GlobFileSearch(Tool[GlobArguments]):
    name = "glob_file_search"
    version = "1.0.0"
    description = (
        "Find files by their path: `*` and `?` within a name, `**` across directories. A pattern without a slash fits in"
        " every directory. What .gitignore names is left out."
    )
    permissions = (Permission.FS_READ,)
    arguments = GlobArguments
    returns = Found

    def intent(self, arguments: GlobArguments, place: Place) -> Intent:
        return Intent(self.name, Action.READ, (FileRead(spelled(arguments.target_directory, place.workspace)),))

    async def run(self, arguments: GlobArguments, attempt: Attempt) -> Done:
        found = await asyncio.to_thread(_search, arguments, attempt.place)
        return Done(payload=msgspec.to_builtins(found), display="\n".join(found.files))


def expanded(glob: str) -> list[str]:
    """`*.{a,b}` is `*.a` and `*.b`."""
    braces = re.search(r"\{([^{}]*,[^{}]*)\}", glob)
    if braces is None:
        return [glob]
    before, after = glob[: braces.start()], glob[braces.end() :]
    return [one for choice in braces[1].split(",") for one in expanded(before + choice + after)][:MOST_CHOICES]


def path_pattern(glob: str) -> re.Pattern[str]:
    anywhere = "" if "/" in glob else "(?:.*/)?"
    choices = "|".join(glob_regex(one.removeprefix("./").lstrip("/")) for one in expanded(glob))
    try:
        return re.compile(f"{anywhere}(?:{choices})", re.DOTALL)
    except re.error as error:
        raise InvalidArguments(f"{glob!r} is no pattern: {error}") from error


def files_below(directory: str, place: Place, pattern: re.Pattern[str] | None) -> list[str]:
    """The regular files below a directory that the pattern fits, relative to the workspace where it lies in it."""
    with Ground(place.workspace) as ground:
        root, name = ground.at(directory)
        with root.opened(name, os.O_PATH) as descriptor:
            # where the kernel says it is, so that a link is walked as what it leads to
            real = os.readlink(f"/proc/self/fd/{descriptor}")
        if not ground.is_directory(directory):
            raise NotFound(f"{shown(directory, place.workspace)} is not a directory")
    top = place.workspace if real == place.workspace or real.startswith(f"{place.workspace}/") else real
    below = "" if real == top else os.path.relpath(real, top)
    found: list[str] = []
    for path, entry in walk(top, below=below):
        inner = path.removeprefix(f"{below}/") if below else path
        if entry.is_file(follow_symlinks=False) and (pattern is None or pattern.fullmatch(inner)):
            found.append(path if top == place.workspace else os.path.join(top, path))
    return found


def _search(arguments: GlobArguments, place: Place) -> Found:
    pattern = path_pattern(arguments.glob_pattern)
    files = files_below(spelled(arguments.target_directory, place.workspace), place, pattern)
    names = tuple(os.fsencode(name).decode("utf-8", "backslashreplace") for name in files[:MOST_FILES])
    return Found(names, len(files) > MOST_FILES)
