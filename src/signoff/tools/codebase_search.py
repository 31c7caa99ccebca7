"""codebase_search: find the places that have to do with a question in plain words."""

import asyncio
import contextlib
import hashlib
import os
import re
import sqlite3
from typing import Annotated

import msgspec

from signoff.domain.errors import ToolError
from signoff.domain.intent import Action, FileRead, Intent, Permission
from signoff.files.ground import shown, spelled
from signoff.policy.rules.sensitive import is_credential
from signoff.tools import meaning
from signoff.tools.grep import Grep, GrepArguments
from signoff.tools.search_index import Found, SearchIndex, words
from signoff.tools.tool import Attempt, Done, Place, Tool

MOST_PLACES = 20


class SearchArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    query: Annotated[str, msgspec.Meta(min_length=1, max_length=2_000)]
    target_directories: tuple[str, ...] = ()  # none: the whole workspace


class Hit(msgspec.Struct, frozen=True):
    path: str
    first_line: int
    text: str
    score: float


class Hits(msgspec.Struct, frozen=True):
    """`by`: how they were found: `index`, `index and meaning` with the extra `embedding`, `words` where there is no index."""

    hits: tuple[Hit, ...]
    by: str
    note: str | None = None


class CodebaseSearch(Tool[SearchArguments]):
    name = "codebase_search"
    version = "1.0.0"
    description = (
        "Find the places in the workspace that have to do with a question; for an exact text or pattern use grep."
    )
    permissions = (Permission.FS_READ,)
    side_effects = ("keeps an index of the workspace in the cache directory",)
    arguments = SearchArguments
    returns = Hits

    def __init__(self, directory: str | None = None) -> None:
        self._directory = directory  # where indexes are kept; None: nowhere, so no index

    def intent(self, arguments: SearchArguments, place: Place) -> Intent:
        paths = [spelled(path, place.workspace) for path in arguments.target_directories] or [place.workspace]
        return Intent(self.name, Action.READ, tuple(map(FileRead, paths)))

    async def run(self, arguments: SearchArguments, attempt: Attempt) -> Done:
        try:
            found = await asyncio.to_thread(self._indexed, arguments, attempt.place)
            by = "index and meaning" if meaning.available() else "index"
            hits, note = self._allowed(found, attempt), None
        except (sqlite3.Error, OSError) as error:
            hits, by, note = await self._by_words(arguments, attempt), "words", f"there is no index: {error}"
        result = Hits(tuple(hits[:MOST_PLACES]), by, note)
        display = "\n".join(f"{hit.path}:{hit.first_line}" for hit in result.hits)
        return Done(payload=msgspec.to_builtins(result), display=display or "nothing found")

    def _indexed(self, arguments: SearchArguments, place: Place) -> list[Found]:
        if self._directory is None:
            raise OSError("no directory to keep it in")
        name = hashlib.sha256(os.fsencode(place.workspace)).hexdigest()[:32]
        with contextlib.closing(SearchIndex(os.path.join(self._directory, f"{name}.db"), place.workspace)) as index:
            index.refresh(lambda path: not is_credential(f"{place.workspace}/{path}", place.home))
            below = [shown(spelled(path, place.workspace), place.workspace) for path in arguments.target_directories]
            found = index.search(arguments.query, [path for path in below if path != "."], MOST_PLACES * 2)
        return meaning.by_meaning(arguments.query, found)

    def _allowed(self, found: list[Found], attempt: Attempt) -> list[Hit]:
        readable = {one.path: attempt.readable(os.path.join(attempt.place.workspace, one.path)) for one in found}
        return [Hit(one.path, one.first, one.text, one.score) for one in found if readable[one.path]]

    async def _by_words(self, arguments: SearchArguments, attempt: Attempt) -> list[Hit]:
        """Lines with the most of the words, by grep."""
        wanted = {word.lower() for word in words(arguments.query).split() if len(word) > 2}
        if not wanted:
            return []
        pattern = "|".join(map(re.escape, sorted(wanted)))
        scores: dict[tuple[str, int], Hit] = {}
        for path in arguments.target_directories or (".",):
            done = await Grep().run(GrepArguments(pattern, path, head_limit=2_000, ignore_case=True), attempt)
            if done.payload is None:
                raise ToolError("the search failed")
            for match in done.payload["matches"]:
                score = sum(word in match["text"].lower() for word in wanted) / len(wanted)
                scores[match["path"], match["line"]] = Hit(match["path"], match["line"], match["text"], round(score, 4))
        return sorted(scores.values(), key=lambda hit: (-hit.score, hit.path, hit.first_line))
