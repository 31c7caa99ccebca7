"""Read a patch: the `*** Begin Patch` form, or a unified diff as git and diff write it. Pure; nothing is looked up here."""

import enum
import re

import msgspec

from signoff.domain.errors import InvalidArguments

BEGIN, END = "*** Begin Patch", "*** End Patch"
_ADD, _DELETE, _UPDATE, _MOVE = "*** Add File: ", "*** Delete File: ", "*** Update File: ", "*** Move to: "
_END_OF_FILE = "*** End of File"
_HEADERS = (_ADD, _DELETE, _UPDATE, END)
_HEREDOC = re.compile(r"<<(['\"]?)EOF\1\Z")


class Mark(enum.StrEnum):
    KEEP = " "
    REMOVE = "-"
    INSERT = "+"


class Line(msgspec.Struct, frozen=True):
    """`ending` is what the patch itself says: LF, CRLF, or nothing where it says that no newline follows."""

    mark: Mark
    text: str
    ending: str = "\n"


class Chunk(msgspec.Struct, frozen=True):
    """One place to change. `anchors` are lines that come somewhere before it; `start` is the line number it claims."""

    lines: tuple[Line, ...]
    anchors: tuple[str, ...] = ()
    at_end: bool = False
    start: int | None = None  # counted from 0, in the file as it is

    @property
    def old(self) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if line.mark is not Mark.INSERT)


class Add(msgspec.Struct, frozen=True):
    path: str
    content: str
    executable: bool = False
    may_replace: bool = True  # a unified diff says that the file is not there yet


class Delete(msgspec.Struct, frozen=True):
    """`chunks`: what the file must still contain, where the patch says it."""

    path: str
    chunks: tuple[Chunk, ...] = ()


class Update(msgspec.Struct, frozen=True):
    path: str
    chunks: tuple[Chunk, ...]
    move_to: str | None = None


Change = Add | Delete | Update


def invalid(number: int, what: str) -> InvalidArguments:
    return InvalidArguments(f"invalid patch, line {number}: {what}")


class Reader:
    """The lines of a patch, one at a time, numbered from 1."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        if self.lines[-1] == "":
            self.lines.pop()
        self.at = 0

    @property
    def number(self) -> int:
        return self.at + 1

    def peek(self, ahead: int = 0) -> str | None:
        return self.lines[self.at + ahead] if self.at + ahead < len(self.lines) else None

    def next(self) -> str:
        line = self.lines[self.at]
        self.at += 1
        return line


def body(mark: Mark, raw: str) -> Line:
    """A line of a patch without its mark. A carriage return at the end belongs to the line ending."""
    return Line(mark, raw[:-1], "\r\n") if raw.endswith("\r") else Line(mark, raw)


def uniform(text: str) -> str:
    """A patch whose own headers end in CRLF was converted as a whole: take that back."""
    first = text.split("\n", 1)[0]
    return text.replace("\r\n", "\n") if first.endswith("\r") else text


def parse_marked(text: str) -> tuple[Change, ...]:
    """The `*** Begin Patch` form."""
    reader = Reader(uniform(_unwrapped(text.strip())))
    if reader.peek() is None or reader.next().strip() != BEGIN:
        raise invalid(1, f"the first line must be {BEGIN!r}")
    if reader.lines[-1].strip() != END:
        raise invalid(len(reader.lines), f"the last line must be {END!r}")
    reader.lines.pop()
    changes: list[Change] = []
    while (line := reader.peek()) is not None:
        header = line.strip()
        if not header:
            reader.next()
        elif header.startswith(_ADD):
            changes.append(_add(reader))
        elif header.startswith(_DELETE):
            changes.append(Delete(reader.next().strip().removeprefix(_DELETE)))
        elif header.startswith(_UPDATE):
            changes.append(_update(reader))
        else:
            raise invalid(
                reader.number,
                f"{line[:80]!r} is no header; a file begins with '*** Add File: ', '*** Delete File: ' or '*** Update File: '",
            )
    return tuple(changes)


def _unwrapped(text: str) -> str:
    """Without the here-document that some models put around it."""
    lines = text.split("\n")
    if len(lines) >= 4 and _HEREDOC.match(lines[0].strip()) and lines[-1].strip() == "EOF":
        return "\n".join(lines[1:-1])
    return text


def _add(reader: Reader) -> Add:
    path = reader.next().strip().removeprefix(_ADD)
    lines: list[str] = []
    while (line := reader.peek()) is not None and line.startswith("+"):
        lines.append(reader.next()[1:] + "\n")
    return Add(path, "".join(lines))


def _update(reader: Reader) -> Update:
    first = reader.number
    path = reader.next().strip().removeprefix(_UPDATE)
    move_to = None
    if (line := reader.peek()) is not None and line.rstrip().startswith(_MOVE):
        move_to = reader.next().rstrip().removeprefix(_MOVE)
    chunks: list[Chunk] = []
    while (line := reader.peek()) is not None and not line.startswith(_HEADERS):
        if not line.strip() and _only_blank_before_header(reader):
            reader.next()
            continue
        chunks.append(_chunk(reader, first=not chunks))
    if not chunks:
        raise invalid(first, f"the update of {path!r} contains no change")
    return Update(path, tuple(chunks), move_to)


def _only_blank_before_header(reader: Reader) -> bool:
    ahead = 0
    while (line := reader.peek(ahead)) is not None and not line.strip():
        ahead += 1
    return line is None or line.startswith(_HEADERS)


def _chunk(reader: Reader, *, first: bool) -> Chunk:
    start, anchors = reader.number, []
    while (line := reader.peek()) is not None and (line.rstrip() == "@@" or line.startswith("@@ ")):
        anchor = reader.next()[3:].rstrip("\r")
        if anchor.strip():
            anchors.append(anchor)
    if reader.number == start and not first:
        raise invalid(start, f"expected '@@' before another change, not {(line or '')[:80]!r}")
    lines: list[Line] = []
    at_end = False
    while (line := reader.peek()) is not None and not line.startswith(("@@", *_HEADERS)):
        if line.rstrip() == _END_OF_FILE:
            reader.next()
            at_end = True
            break
        if line and line[0] not in " -+\r":
            raise invalid(reader.number, f"{line[:80]!r} begins with none of ' ', '-', '+', '@@'")
        if not line.strip() and _only_blank_before_header(reader):
            break
        reader.next()
        lines.append(body(Mark(line[0]), line[1:]) if line and line[0] != "\r" else body(Mark.KEEP, line))
    if not lines:
        raise invalid(start, "a change contains no lines")
    return Chunk(tuple(lines), tuple(anchors), at_end)
