"""Find where each change of a patch belongs, and make the new text of a file. Pure.

A place that fits more exactly comes before one that fits less; two that fit equally well are an error. What the patch does
not touch keeps its bytes, and lines that are added end the way the patch says, or else as their neighbours do.
"""

import difflib
import unicodedata
from collections.abc import Callable, Sequence

import msgspec

from signoff.domain.errors import ToolConflict
from signoff.tools.patch_format import Chunk, Line, Mark

_MOST_PLACES_NAMED = 5
_LONGEST_SEARCH = 4_000  # lines looked at for the nearest candidate
_FOLDED = {
    **dict.fromkeys("‐‑‒–—―−", "-"),
    **dict.fromkeys("‘’‚‛", "'"),
    **dict.fromkeys("“”„‟", '"'),
    **dict.fromkeys("\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "),
}
_TABLE = str.maketrans(_FOLDED)
_BOM = "\ufeff"


class Whole(msgspec.Struct, frozen=True):
    """A line of the file."""

    text: str
    ending: str


class Place(msgspec.Struct, frozen=True):
    """Where a chunk goes: at this line, in place of so many. `literal`: the patch knows the line endings."""

    chunk: Chunk
    at: int
    literal: bool


def split(text: str) -> list[Whole]:
    """The lines of a file; only LF and CRLF end one."""
    lines = [Whole(part[:-1], "\r\n") if part.endswith("\r") else Whole(part, "\n") for part in text.split("\n")]
    last = lines.pop()
    if last.text or last.ending == "\r\n":
        lines.append(Whole(last.text + ("\r" if last.ending == "\r\n" else ""), ""))
    return lines


def updated(path: str, text: str, chunks: tuple[Chunk, ...], *, show: bool = True) -> str:
    """The new text of a file. `show`: an error may quote the file."""
    bom = _BOM if text.startswith(_BOM) else ""
    lines = split(text.removeprefix(_BOM))
    places = locate(path, lines, chunks, show=show)
    made: list[tuple[str, str | None]] = []
    done = 0
    for place in places:
        made += [(line.text, line.ending) for line in lines[done : place.at]]
        done = place.at
        for line in place.chunk.lines:
            if line.mark is Mark.INSERT:
                made.append((line.text, line.ending if place.literal else None))
                continue
            if line.mark is Mark.KEEP:
                made.append((lines[done].text, lines[done].ending))
            done += 1
    made += [(line.text, line.ending) for line in lines[done:]]
    return bom + _joined(made, lines)


def _joined(made: list[tuple[str, str | None]], before: list[Whole]) -> str:
    """Put the lines together: an ending nobody gave is the one of the line before."""
    endings = [line.ending for line in before if line.ending]
    usual = max(sorted(set(endings), reverse=True), key=endings.count) if endings else "\n"
    unended = bool(before) and not before[-1].ending
    parts: list[str] = []
    previous = next((ending for _, ending in made if ending), usual)
    for position, (text, ending) in enumerate(made):
        last = position == len(made) - 1
        adopted = "" if last and (ending == "" or unended) else previous
        chosen = ending or adopted
        previous = chosen or previous
        parts.append(text + chosen)
    return "".join(parts)


def locate(path: str, lines: Sequence[Whole], chunks: tuple[Chunk, ...], *, show: bool = True) -> list[Place]:
    """A place for every chunk, one after the other, or an error about the first that has none or too many."""
    places: list[Place] = []
    cursor = shift = 0
    for number, chunk in enumerate(chunks, 1):
        label = path if len(chunks) == 1 else f"{path} (change {number} of {len(chunks)})"
        place = _place(label, lines, chunk, cursor, shift, show)
        if chunk.start is not None and chunk.old:
            shift = place.at - chunk.start
        cursor = place.at + len(place.chunk.old)
        places.append(place)
    return places


def _place(label: str, lines: Sequence[Whole], chunk: Chunk, cursor: int, shift: int, show: bool) -> Place:
    starts = _after_anchors(label, lines, chunk, cursor)
    if not chunk.old:
        at = len(lines) if chunk.start is None else min(chunk.start + shift, len(lines))
        if at < cursor:
            raise ToolConflict(f"{label}: an insertion overlaps the change before it")
        # without a line to compare with, a diff that names other endings than LF is believed
        return Place(chunk, at, literal=chunk.start is not None and any(line.ending != "\n" for line in chunk.lines))
    for candidate in _with_and_without_blank(chunk):
        for same in _LEVELS:
            found = _matches(lines, candidate, starts, same)
            if not found:
                continue
            expected = None if chunk.start is None else chunk.start + shift
            if expected in found:
                found = [expected]
            if len(found) > 1:
                raise ToolConflict(_ambiguous(label, lines, found, show))
            region = lines[found[0] : found[0] + len(candidate.old)]
            literal = all(have.ending == want.ending for have, want in zip(region, candidate.old, strict=True))
            return Place(candidate, found[0], literal)
    raise ToolConflict(_missing(label, lines, chunk, cursor, show))


def _with_and_without_blank(chunk: Chunk) -> tuple[Chunk, ...]:
    """A blank line at the end of the old lines is often only the end of the patch text."""
    last = chunk.lines[-1]
    if last.mark is Mark.INSERT or last.text.strip() or len(chunk.old) < 2:
        return (chunk,)
    return (chunk, msgspec.structs.replace(chunk, lines=chunk.lines[:-1]))


def _after_anchors(label: str, lines: Sequence[Whole], chunk: Chunk, cursor: int) -> list[int]:
    """Where the search may begin: after each line that an anchor fits."""
    starts = [cursor]
    for anchor in chunk.anchors:
        wanted = Line(Mark.KEEP, anchor)
        found: list[int] = []
        for same in _LEVELS:
            found = [at for at in range(starts[0], len(lines)) if same(lines[at], wanted)]
            if found:
                break
        if not found:
            raise ToolConflict(f"{label}: there is no line {anchor.strip()!r} to begin after")
        starts = [at + 1 for at in found]
    return starts


def _matches(lines: Sequence[Whole], chunk: Chunk, starts: list[int], same: "Same") -> list[int]:
    """Everywhere the old lines fit; after an anchor only the first place counts."""
    old = chunk.old
    last = len(lines) - len(old)
    first = last if chunk.at_end else starts[0]
    fits = [
        at
        for at in range(max(first, starts[0]), last + 1)
        if same(lines[at], old[0]) and all(same(lines[at + n], line) for n, line in enumerate(old))
    ]
    if not chunk.anchors:
        return fits
    nearest = (next((at for at in fits if at >= start), None) for start in starts)
    return sorted({at for at in nearest if at is not None})


Same = Callable[[Whole, Line], bool]


def folded(text: str) -> str:
    return unicodedata.normalize("NFC", text.strip().translate(_TABLE))


_LEVELS: tuple[Same, ...] = (
    lambda have, want: have.text == want.text,
    lambda have, want: have.text.rstrip() == want.text.rstrip(),
    lambda have, want: have.text.strip() == want.text.strip(),
    lambda have, want: folded(have.text) == folded(want.text),
)


def _ambiguous(label: str, lines: Sequence[Whole], found: list[int], show: bool) -> str:
    named = [f"line {at + 1}" + (f": {lines[at].text.strip()[:80]}" if show else "") for at in found]
    more = f"\n  and {len(found) - _MOST_PLACES_NAMED} more" if len(found) > _MOST_PLACES_NAMED else ""
    listed = "\n  ".join(named[:_MOST_PLACES_NAMED])
    return f"{label}: the change fits {len(found)} places equally well; add lines around it or an '@@' line:\n  {listed}{more}"


def _missing(label: str, lines: Sequence[Whole], chunk: Chunk, cursor: int, show: bool) -> str:
    wanted = "\n".join(f"  {line.text}" for line in chunk.old)
    said = f"{label}: these lines were not found" + (" after the change before" if cursor else "") + f":\n{wanted}"
    near = _nearest(lines, chunk) if show else None
    if near is None:
        return said
    at, count = near
    shown = "\n".join(f"  {at + n + 1}: {line.text}" for n, line in enumerate(lines[at : at + count]))
    return f"{said}\nThe nearest lines are:\n{shown}"


def _nearest(lines: Sequence[Whole], chunk: Chunk) -> tuple[int, int] | None:
    """Where the file looks most like it."""
    old = [line.text.strip() for line in chunk.old]
    have = [line.text.strip() for line in lines[:_LONGEST_SEARCH]]
    known = set(old)
    best, score = None, 0.0
    for at in range(max(1, len(have) - len(old) + 1)):
        window = have[at : at + len(old)]
        alike = sum(a == b for a, b in zip(window, old, strict=False)) + 0.5 * len(known.intersection(window))
        if alike > score:
            best, score = at, alike
    if best is None and old:
        close = difflib.get_close_matches(max(old, key=len), have, n=1, cutoff=0.6)
        best = have.index(close[0]) if close else None
    return None if best is None else (best, len(old))
