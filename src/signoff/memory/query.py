"""What to ask the memory, from everything that says what this run is about. Pure, bounded; names survive the cutting."""

import re
from collections.abc import Mapping

import msgspec

from signoff.domain.settings import Source
from signoff.memory.words import STOP

LONGEST = 1_200  # characters
EXAMINED = 50_000  # of a text that is cut: further away nobody looks for names
_LONGEST_NAME = 200
_PROMPT_SHARE = 0.7  # of the room, if there is anything else to say

_ENTITY = re.compile(
    r"""
      (?:[\w.-]+)?(?:/[\w.@-]+)+                  # a path
    | \b[A-Za-z_][\w-]*(?:(?:\.|::)[A-Za-z_]\w*)+  # file.txt, a.dotted.name, a::path
    | \b[A-Za-z]\w*(?:Error|Exception|Warning|Panic)\b
    | \b[a-z0-9]+(?:_[a-z0-9]+)+\b                # snake_case
    | \b[A-Za-z]*[a-z][A-Z]\w*\b                  # camelCase
    | \b[A-Z][A-Z0-9_]{2,}\b                      # CONSTANTS, E0308
    | --[a-z][\w-]+                               # --options
    """,
    re.VERBOSE,
)


class Built(msgspec.Struct, frozen=True):
    text: str
    sources: tuple[str, ...]  # those that had something to say


def build(texts: Mapping[Source, str], *, longest: int = LONGEST) -> Built:
    """One query: the prompt first, then what is named in the rest, the newest last lines first.

    `texts` holds each source that was asked for; a source without words is left out of the answer.
    """
    said = {source: " ".join(text.split()) for source, text in texts.items() if text.strip()}
    others = [source for source in Source if source in said and source is not Source.PROMPT]
    prompt = said.get(Source.PROMPT, "")
    room = longest if not others else int(longest * _PROMPT_SHARE)
    pieces = [cut(prompt, room)] if prompt else []
    left = longest - sum(map(len, pieces))
    for number, source in enumerate(others):
        share = left // (len(others) - number)
        piece = cut(said[source], share - 1, newest=True)
        pieces += [piece] if piece else []
        left -= len(piece) + 1
    return Built(" ".join(pieces)[:longest], tuple(source for source in Source if source in said))


def cut(text: str, room: int, *, newest: bool = False) -> str:
    """The text in this many characters: as it is, or what it names and then as much of one end of it as there is room."""
    text = " ".join(text.split())
    if len(text) <= room:
        return text
    names = entities(text[-EXAMINED:] if newest else text[:EXAMINED])
    kept: list[str] = []
    used = 0
    for name in reversed(names) if newest else names:
        if used + len(name) + 1 <= room // 2:
            kept.append(name)
            used += len(name) + 1
    room -= used
    rest = _tail(text, room) if newest else _head(text, room)
    return " ".join(part for part in (rest, *kept) if part)


def entities(text: str) -> list[str]:
    """Paths, names, errors, options: what a search must not lose. Each once, in the order of the text."""
    words = " ".join(word for word in text.split() if len(word) <= _LONGEST_NAME)  # the search is slow in longer ones
    return list(dict.fromkeys(found for found in _ENTITY.findall(words) if found.lower() not in STOP))


def _head(text: str, room: int) -> str:
    return text[: max(0, room)].rpartition(" ")[0]


def _tail(text: str, room: int) -> str:
    return text[-room:].partition(" ")[2] if room > 0 else ""
