"""read_file: the lines of a text file, numbered; of anything else, what it is. A piece of a large file costs that piece."""

import enum

import msgspec

from signoff.domain.errors import InvalidArguments
from signoff.domain.intent import Action, FileRead, Intent, Permission
from signoff.files import beneath
from signoff.files.ground import Ground, spelled
from signoff.tools.picture import LARGEST, Picture, pictured
from signoff.tools.tool import Attempt, Done, Place, Tool

MOST_LINES = 2_000
MOST_BYTES = 262_144
LONGEST_LINE = 2_000
_PIECE = 1 << 18
_PICTURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"BM": "image/bmp",
    b"%PDF-": "application/pdf",
    b"PK\x03\x04": "application/zip",
    b"\x1f\x8b": "application/gzip",
    b"\x7fELF": "application/x-executable",
}
_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


class Kind(enum.StrEnum):
    TEXT = "text"
    IMAGE = "image"
    BINARY = "binary"


class ReadArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: str
    offset: int = 1  # the first line wanted, counted from 1
    limit: int = MOST_LINES


class Content(msgspec.Struct, frozen=True):
    """`content` has every line after its number and a tab. `more`: the file goes on at line `next_offset`."""

    path: str
    kind: Kind
    size: int
    encoding: str | None = None
    media_type: str | None = None
    content: str | None = None
    first_line: int = 1
    lines: int = 0
    more: bool = False
    next_offset: int | None = None
    images: tuple[Picture, ...] = ()  # the picture itself, where models take its kind and size


class ReadFile(Tool[ReadArguments]):
    name = "read_file"
    version = "1.0.0"
    description = (
        f"Read a text file: at most {MOST_LINES} lines from line `offset` on, each with its number. Shows an"
        " image, and says what a file is that is neither."
    )
    permissions = (Permission.FS_READ,)
    arguments = ReadArguments
    returns = Content

    def intent(self, arguments: ReadArguments, place: Place) -> Intent:
        return Intent(self.name, Action.READ, (FileRead(spelled(arguments.path, place.workspace)),))

    async def run(self, arguments: ReadArguments, attempt: Attempt) -> Done:
        if arguments.offset < 1 or arguments.limit < 1:
            raise InvalidArguments("read_file: `offset` and `limit` are counted from 1")
        path = spelled(arguments.path, attempt.place.workspace)
        newer = None if attempt.files is None else await attempt.files.read(path)
        if newer is not None:
            found = _of_text(arguments, newer)
        else:
            with Ground(attempt.place.workspace) as ground:
                found = _read(ground, path, arguments)
        return Done(payload=msgspec.to_builtins(found), display=found.content or f"{found.path}: {found.media_type}")


def _of_text(arguments: ReadArguments, text: str) -> Content:
    data = text.encode("utf-8", "surrogateescape")
    wanted = data.split(b"\n", arguments.offset - 1)
    rest = wanted[-1] if len(wanted) == arguments.offset else b""
    return _numbered(arguments, len(data), rest, "utf-8", end=True)


def _read(ground: Ground, path: str, arguments: ReadArguments) -> Content:
    root, name = ground.at(path)
    head = ground.read(path, limit=8_192)  # refuses what is no regular file
    size = beneath.status(root, name).st_size
    encoding = _encoding(head)
    if encoding is None:
        media = next((kind for magic, kind in _PICTURES.items() if head.startswith(magic)), "application/octet-stream")
        media = "image/webp" if head[:4] == b"RIFF" and head[8:12] == b"WEBP" else media
        kind = Kind.IMAGE if media.startswith("image/") else Kind.BINARY
        wanted = kind is Kind.IMAGE and size <= LARGEST
        images = pictured(media, ground.read(path, limit=LARGEST + 1)) if wanted else ()
        return Content(arguments.path, kind, size, media_type=media, images=images)
    if encoding == "utf-16":
        return _numbered(arguments, size, ground.read(path).decode("utf-16", "replace").encode(), "utf-16", end=True)
    data, end = _wanted(ground, path, arguments)
    return _numbered(arguments, size, data, encoding, end=end)


def _encoding(head: bytes) -> str | None:
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    if b"\0" in head or any(head.startswith(magic) for magic in _PICTURES if magic != b"BM"):
        return None
    try:
        head[: max(0, len(head) - 3)].decode("utf-8")
    except UnicodeDecodeError as error:
        return "utf-8" if error.start >= len(head) - 8 else "latin-1"
    return "utf-8"


def _wanted(ground: Ground, path: str, arguments: ReadArguments) -> tuple[bytes, bool]:
    """The file up to the last line wanted, without the lines before the first; and whether the file ends there."""
    skip, kept, position, lines = arguments.offset - 1, bytearray(), 0, 0
    while True:
        piece = ground.read(path, offset=position, limit=_PIECE)
        position += len(piece)
        if skip:
            count = piece.count(b"\n")
            if count < skip and piece:
                skip -= count
                continue
            begin = 0
            for _ in range(min(skip, count)):
                begin = piece.index(b"\n", begin) + 1
            piece, skip = piece[begin:], 0
            if begin and not piece:
                continue
        kept += piece
        lines += piece.count(b"\n")
        if not piece or lines > arguments.limit or len(kept) > MOST_BYTES:
            return bytes(kept), not piece


def _numbered(arguments: ReadArguments, size: int, data: bytes, encoding: str, *, end: bool) -> Content:
    first = arguments.offset
    lines = data.split(b"\n")
    if encoding == "utf-16":  # was read whole
        lines = lines[first - 1 :]
    ended = end and len(lines) <= arguments.limit + 1
    if lines and not lines[-1]:
        lines.pop()
    chosen: list[str] = []
    used = 0
    for line in lines[: arguments.limit]:
        text = line.removesuffix(b"\r").decode("latin-1" if encoding == "latin-1" else "utf-8", "replace")
        text = text.removeprefix("\ufeff") if first == 1 and not chosen else text
        cut = f"{text[:LONGEST_LINE]}… [{len(text) - LONGEST_LINE} more]" if len(text) > LONGEST_LINE else text
        used += len(cut)
        if used > MOST_BYTES:
            break
        chosen.append(f"{first + len(chosen)}\t{cut}")
    more = len(chosen) < len(lines) or not ended
    return Content(
        path=arguments.path,
        kind=Kind.TEXT,
        size=size,
        encoding=encoding,
        content="\n".join(chosen),
        first_line=first,
        lines=len(chosen),
        more=more,
        next_offset=first + len(chosen) if more else None,
    )
