"""The parts a reader hands on: one simple command with its words, its redirections and its place in the list."""

import enum

import msgspec


class Join(enum.Enum):
    """What stands before a command."""

    START = enum.auto()  # the beginning, `;` or a new line: it runs whatever happened before
    AND = enum.auto()
    OR = enum.auto()
    PIPE = enum.auto()


class Segment(msgspec.Struct):
    words: list[str]
    text: str
    join: Join = Join.START
    reads: list[str] = []  # targets of `<`
    writes: list[str] = []  # targets of `>` and its relatives that are neither /dev/null nor a descriptor
    stdin: str | None = None  # text given by a here-document or here-string, if it is literal
    fed: bool = False  # its input is a pipe, a file or a here-document
    literal: bool = False  # no word is known to be dynamic
