"""Read a unified diff, as git and diff write it and as models imitate it. Pure.

Counts in `@@ -1,3 +1,4 @@` are believed where they fit what follows; a model's wrong counts are not held against it.
"""

import re

import msgspec

from signoff.domain.errors import InvalidArguments
from signoff.tools.patch_format import (
    BEGIN,
    Add,
    Change,
    Chunk,
    Delete,
    Line,
    Mark,
    Reader,
    Update,
    body,
    invalid,
    parse_marked,
    uniform,
)

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NO_NEWLINE = "\\ "
_NOWHERE = "/dev/null"
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", '"': '"', "\\": "\\"}
_PLAIN_MODES = {"100644": False, "100755": True, "100664": False, "100600": False}


class _Header(msgspec.Struct):
    """What stands before the hunks of one file."""

    line: int
    old: str | None = None
    new: str | None = None
    added: bool = False
    deleted: bool = False
    executable: bool = False
    rename_from: str | None = None
    rename_to: str | None = None


def parse_patch(text: str) -> tuple[Change, ...]:
    """Every change of a patch in either form. Raises InvalidArguments with the line that is wrong."""
    if text.strip().startswith((BEGIN, "<<")):
        changes = parse_marked(text)
    elif re.search(r"^(--- |diff --git )", text, re.MULTILINE):
        changes = _parse_unified(text)
    else:
        raise InvalidArguments(f"this is no patch: it begins neither with {BEGIN!r} nor like a unified diff")
    _refuse_collisions(changes)
    return changes


def paths(change: Change) -> tuple[str, ...]:
    if isinstance(change, Update) and change.move_to is not None:
        return (change.path, change.move_to)
    return (change.path,)


def _refuse_collisions(changes: tuple[Change, ...]) -> None:
    seen: set[str] = set()
    for change in changes:
        for path in paths(change):
            if not path:
                raise InvalidArguments("invalid patch: a file has no name")
            if path in seen:
                raise InvalidArguments(f"invalid patch: more than one change names {path!r}")
            seen.add(path)


def _parse_unified(text: str) -> tuple[Change, ...]:
    reader = Reader(uniform(text))
    changes: list[Change] = []
    while (line := reader.peek()) is not None:
        if line.startswith("diff --git ") or _begins_file(reader):
            changes.append(_file(reader))
        elif line.startswith("@@ "):
            raise invalid(reader.number, "a hunk before the name of its file")
        else:
            reader.next()  # prose around the diff
    return tuple(changes)


def _begins_file(reader: Reader) -> bool:
    return (reader.peek() or "").startswith("--- ") and (reader.peek(1) or "").startswith("+++ ")


def _file(reader: Reader) -> Change:
    header = _header(reader)
    chunks: list[Chunk] = []
    while (line := reader.peek()) is not None and line.startswith("@@"):
        chunks.append(_hunk(reader))
    if header.added:
        return Add(_name(header.new, header), _content(chunks), header.executable, may_replace=False)
    if header.deleted:
        return Delete(_name(header.old, header), tuple(chunks))
    path, target = _name(header.old, header), _name(header.new, header)
    if not chunks and path == target:
        raise invalid(header.line, f"nothing is changed in {path!r}")
    return Update(path, tuple(chunks), target if target != path else None)


def _name(name: str | None, header: _Header) -> str:
    if not name:
        raise invalid(header.line, "the name of the file is missing")
    return name


def _header(reader: Reader) -> _Header:
    found = _Header(reader.number)
    if (line := reader.peek()) is not None and line.startswith("diff --git "):
        _git_header(reader, found)
    if _begins_file(reader):
        old, new = _unquoted(reader.next()[4:]), _unquoted(reader.next()[4:])
        found.added, found.deleted = old == _NOWHERE, new == _NOWHERE
        found.old, found.new = _stripped(old, new)
    if found.rename_to is not None:
        found.old, found.new = found.rename_from, found.rename_to
    return found


def _git_header(reader: Reader, found: _Header) -> None:
    first = reader.next()
    found.old, found.new = _git_names(first.removeprefix("diff --git "))
    while (
        (line := reader.peek()) is not None and not line.startswith(("diff --git ", "@@")) and not _begins_file(reader)
    ):
        word, _, rest = line.rpartition(" ")
        if line.startswith(("GIT binary patch", "Binary files ")):
            raise invalid(reader.number, "binary changes cannot be applied")
        if word in ("new file mode", "deleted file mode"):
            found.executable = _mode(rest, reader.number)
            found.added, found.deleted = word.startswith("new"), word.startswith("deleted")
        elif word in ("old mode", "new mode"):
            raise invalid(reader.number, "a change of a file's mode cannot be applied")
        elif line.startswith("rename from "):
            found.rename_from = _unquoted(line.removeprefix("rename from "))
        elif line.startswith("rename to "):
            found.rename_to = _unquoted(line.removeprefix("rename to "))
        elif line.startswith("copy "):
            raise invalid(reader.number, "a copy cannot be applied; write the new file as an addition")
        elif not line.startswith(("index ", "similarity index ", "dissimilarity index ")):
            return
        reader.next()


def _mode(mode: str, number: int) -> bool:
    if mode not in _PLAIN_MODES:
        raise invalid(number, f"mode {mode} is no regular file's; links and repositories are not made by patches")
    return _PLAIN_MODES[mode]


def _git_names(rest: str) -> tuple[str | None, str | None]:
    """`a/x b/x`; only needed where no `---` line follows, and then both names are the same."""
    if rest.startswith('"'):
        old, new = rest[: len(rest) // 2], rest[len(rest) // 2 + 1 :]
        return _stripped(_unquoted(old), _unquoted(new))
    half = len(rest) // 2
    old, new = rest[:half], rest[half + 1 :]
    return _stripped(old, new) if old[2:] == new[2:] else (None, None)


def _stripped(old: str, new: str) -> tuple[str | None, str | None]:
    """Without git's `a/` and `b/`, where both names have them."""
    if (old.startswith("a/") or old == _NOWHERE) and (new.startswith("b/") or new == _NOWHERE):
        old, new = old.removeprefix("a/"), new.removeprefix("b/")
    return (None if old == _NOWHERE else old, None if new == _NOWHERE else new)


def _unquoted(name: str) -> str:
    """A file name as git writes it: in quotes with C escapes if it is unusual; a tab begins a time stamp."""
    if not name.startswith('"'):
        return name.split("\t", 1)[0].rstrip("\r")
    data = bytearray()
    for octal, sign, plain in re.findall(r'\\([0-7]{3})|\\([abfnrtv"\\])|([^\\"])', name.rstrip()[1:-1]):
        data += bytes([int(octal, 8) & 0xFF]) if octal else (_ESCAPES[sign] if sign else plain).encode("utf-8")
    return data.decode("utf-8", "surrogateescape")


def _hunk(reader: Reader) -> Chunk:
    number, line = reader.number, reader.next()
    match = _HUNK.match(line)
    if match is None:
        if line.rstrip() != "@@" and not line.startswith("@@ "):
            raise invalid(number, f"{line[:80]!r} is no hunk header")
        return _made(number, _until_header(reader), None)
    start, old, _, new = (int(group) if group is not None else 1 for group in match.groups())
    begin = reader.at
    lines = _counted(reader, old, new)
    if lines is None:
        reader.at = begin
        lines = _until_header(reader)
    return _made(number, lines, start if old == 0 else start - 1)


def _made(number: int, lines: list[Line], start: int | None) -> Chunk:
    if not lines:
        raise invalid(number, "a hunk contains no lines")
    return Chunk(tuple(lines), start=start)


def _counted(reader: Reader, old: int, new: int) -> list[Line] | None:
    """The lines of a hunk if its counts are right."""
    lines: list[Line] = []
    while old > 0 or new > 0:
        line = reader.peek()
        if line is None or not _take(reader, lines):
            return None
        mark = lines[-1].mark if not line.startswith(_NO_NEWLINE) else None
        old -= mark in (Mark.KEEP, Mark.REMOVE)
        new -= mark in (Mark.KEEP, Mark.INSERT)
    if (line := reader.peek()) is not None and line.startswith(_NO_NEWLINE):
        _take(reader, lines)
    following = reader.peek()
    fits = following is None or not following.startswith((" ", "+", "-")) or _begins_file(reader) or following == "-- "
    return lines if fits and old == new == 0 else None


def _until_header(reader: Reader) -> list[Line]:
    lines: list[Line] = []
    while (
        (line := reader.peek()) is not None and not line.startswith(("@@", "diff --git ")) and not _begins_file(reader)
    ):
        if not _take(reader, lines):
            break
    while lines and lines[-1] == Line(Mark.KEEP, ""):
        lines.pop()  # blank lines before the next header belong to nobody
    return lines


def _take(reader: Reader, lines: list[Line]) -> bool:
    """One line of a hunk; False if it is none."""
    line = reader.peek() or ""
    if line.startswith(_NO_NEWLINE) and lines:
        lines[-1] = _without_newline(lines[-1])
    elif not line or line == "\r":
        lines.append(body(Mark.KEEP, line))
    elif line[0] in " +-":
        lines.append(body(Mark(line[0]), line[1:]))
    else:
        return False
    reader.next()
    return True


def _without_newline(line: Line) -> Line:
    text = f"{line.text}\r" if line.ending == "\r\n" else line.text  # a lone carriage return is content
    return msgspec.structs.replace(line, text=text, ending="")


def _content(chunks: list[Chunk]) -> str:
    return "".join(line.text + line.ending for chunk in chunks for line in chunk.lines if line.mark is Mark.INSERT)
