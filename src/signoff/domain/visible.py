"""Show text so that nothing in it can hide, move the cursor or swap the order of what a person reads.

Every character that prints nothing, or prints something other than what it is, becomes its name or number in ‹ ›. Those
quotes are escaped themselves where they occur, so what stands in them is always ours.
"""

import re
import unicodedata
from collections.abc import Iterator

import msgspec

# Printable by category, yet drawn as nothing or as a blank; and our own quotes.
_UNSEEN = frozenset(
    map(
        chr,
        (
            *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, 0x2039, 0x203A),
            *(0x13441, 0x13442, 0x16FE4, 0x1D159),
            *range(0x180B, 0x1810),
            *range(0xFE00, 0xFE10),
            *range(0xE0100, 0xE01F0),
        ),
    )
)
_NAMES = {"\t": "TAB", "\n": "LF", "\r": "CR", "\x1b": "ESC", "\x00": "NUL", "\x7f": "DEL", "\b": "BS"}
_PADDING = re.compile(r"(?<=[^ ])( {9,})")  # how the end of a command is pushed out of sight
_NOT_PLAIN = re.compile(r"[^\x00-\x7e]")
_STEERING = re.compile(r"(?!\x1b\[(?:[0-2]|3[1-3])m)[^\n\t\x20-\x7e]")
_MARKS_SHOWN = 2  # combining marks on one letter; more of them bury the line


class Piece(msgspec.Struct, frozen=True):
    """A stretch of shown text; `escaped` when it stands for something that could not be seen."""

    text: str
    escaped: bool = False


def pieces(text: str) -> Iterator[Piece]:
    """The text as it may be shown on one line: line feeds are escaped too, a caller who wants lines splits first."""
    for number, part in enumerate(_PADDING.split(text)):
        if number % 2:
            yield Piece(f"‹{len(part)} blanks›", escaped=True)
        elif part:
            yield from _characters(part)


def visible(text: str) -> str:
    return "".join(piece.text for piece in pieces(text))


def steerless(text: str) -> str:
    """Shown text, perhaps in our colours and in lines, where somebody forgot to make a part of it visible."""
    return _STEERING.sub(lambda found: found[0] if found[0].isprintable() else _named(found[0]), text)


def spelled(json: str) -> str:
    """A JSON document in which no character stands that a terminal would obey: each has another spelling there."""
    return _NOT_PLAIN.sub(lambda found: found[0] if found[0].isprintable() else _in_json(found[0]), json)


def hidden(text: str) -> tuple[str, ...]:
    """What was escaped, each once, in order of appearance."""
    return tuple(dict.fromkeys(piece.text for piece in pieces(text) if piece.escaped))


def lookalikes(text: str) -> tuple[str, ...]:
    """Characters that can be taken for others, each once with its name. Wide ones are not: none looks like a plain one."""
    found = sorted({one for one in text if one > "\x7e" and unicodedata.east_asian_width(one) != "W"})
    return tuple(
        f"{one} {unicodedata.name(one, 'unnamed').lower()}" for one in found if one.isprintable() and one not in _UNSEEN
    )


def width(text: str) -> int:
    """How many terminal columns shown text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )


def _named(character: str) -> str:
    return f"‹{_NAMES.get(character) or f'U+{ord(character):04X}'}›"


def _in_json(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def _characters(text: str) -> Iterator[Piece]:
    if text.isascii() and text.isprintable():
        yield Piece(text)
        return
    plain = ""
    marks = 0
    for character in text:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if character.isprintable() and character not in _UNSEEN and marks <= _MARKS_SHOWN:
            plain += character
            continue
        if plain:
            yield Piece(plain)
            plain = ""
        yield Piece(_named(character), escaped=True)
    if plain:
        yield Piece(plain)
