"""Read a script that is nothing but simple commands, character by character as bash would.

Every character is consumed by exactly one alternative below, or the script is refused: there is no place between
tokens for something that was not looked at. What is refused may be fine, but it is not granted.
"""

import re

from signoff.domain.late import late_pattern
from signoff.policy.shell.segments import Join, Segment
from signoff.policy.shell.words import Dialect, Dynamic, Refused, read_word

_BLANK = r"(?:[ \t]|\\\n(?!\#))"
_END = r"(?=[ \t\n;|&]|\Z)"
_TOKEN = late_pattern(
    rf"""{_BLANK}*(?:
        (?P<word>[A-Za-z0-9_./:=@%+,-]+{_END})
      | '(?P<single>[^']*)'{_END}
      | "(?P<double>[^"\\$`]*)"{_END}
      | (?P<operator>&&(?!&)|\|\||\|&|\|(?!\|)|;(?![;&])|\n)
      | (?P<comment>\#[^\n]*)
      | (?P<free>(?:[0-9]?(?:>&|<&)[ \t]*(?:[0-9]|-)|(?:[0-9]?|&)>>?[ \t]*/dev/null){_END})
      | (?P<redirect>(?:0?<|(?:[0-9]?|&)>[>|]?)[ \t]*(?=[^\s<>&|;()\#]))
      | (?P<end>\Z)
    )""",
    re.VERBOSE,
)
_BLANKS = late_pattern(f"{_BLANK}*")
_JOINS = {"&&": Join.AND, "||": Join.OR, "|": Join.PIPE, "|&": Join.PIPE}
RESERVED = frozenset(
    "! [[ ]] { } case coproc do done elif else esac fi for function if in select then until while time".split()
)
_ASSIGNMENT = late_pattern(r"[A-Za-z_][A-Za-z0-9_]*(?:\[.*\])?\+?=", re.DOTALL)


def is_assignment(word: str) -> bool:
    return "=" in word and _ASSIGNMENT.match(word) is not None


def read_plain(script: str, home: str, dialect: Dialect = Dialect.BASH) -> list[Segment]:
    """The commands of the script. Raises `Refused` unless it is plain."""
    reader = _Script(script, home, dialect)
    position, size = 0, len(script)
    while position < size:
        match = _TOKEN.match(script, position)
        if match is not None:
            reader.take(match)
            position = match.end()
        else:
            start = _BLANKS.match(script, position).end()  # type: ignore[union-attr]
            word, position = read_word(script, start, home, dialect)
            reader.word(word, start, position)
    return reader.finish()


class _Script:
    def __init__(self, script: str, home: str, dialect: Dialect) -> None:
        self.script, self.home, self.dialect = script, home, dialect
        self.segments: list[Segment] = []
        self.words: list[str] = []
        self.reads: list[str] = []
        self.writes: list[str] = []
        self.target: list[str] | None = None  # where the next word goes, behind a redirection
        self.join = Join.START
        self.start = 0
        self.end = 0
        self.redirected = False
        self.literal = True
        self.touching = -1  # where the last word or redirection ended: the next token may not touch it

    def take(self, match: re.Match[str]) -> None:
        group = match.lastgroup
        if group == "word":
            self.word(match[group], match.start(group), match.end())
        elif group == "operator":
            self.operator(match[group])
        elif group == "end":
            return
        elif group == "single" or group == "double":
            self.word(match[group], match.start(group) - 1, match.end())
        elif match.start(group or 0) == self.touching:
            raise Refused("two tokens without a blank between them")
        elif group != "comment":
            self.redirection(match, match[group or 0], group == "redirect")

    def word(self, word: str, start: int, end: int) -> None:
        if start == end or (start == self.touching and self.target is None):
            raise Refused(f"`{self.script[start : start + 2]}` is no part of a simple command")
        if self.dialect is Dialect.ZSH and word[:1] == "=":
            raise Refused("a word that zsh expands")
        if self.target is not None:
            self.target.append(word)
            self.target = None
        else:
            if not self.words:
                self.start = start
            if type(word) is Dynamic:
                self.literal = False
            self.words.append(word)
        self.end = self.touching = end

    def redirection(self, match: re.Match[str], operator: str, has_target: bool) -> None:
        if self.dialect is not Dialect.BASH and "&>" in operator:
            raise Refused("a redirection that other shells read differently")
        if has_target:
            self.target = self.reads if "<" in operator else self.writes
        self.redirected = True
        self.end = self.touching = match.end()

    def operator(self, operator: str) -> None:
        if self.target is not None:
            raise Refused("a redirection without its file")
        if self.words:
            self.close()
        elif operator != "\n" or self.redirected:
            raise Refused("an operator without a command before it")
        if operator in _JOINS:
            if self.dialect is Dialect.POSIX and operator == "|&":
                raise Refused("an operator that other shells read differently")
            self.join = _JOINS[operator]
        elif operator == ";":
            self.join = Join.START

    def close(self) -> None:
        first = self.words[0]
        if first in RESERVED and first != "time":
            raise Refused(f"`{first}` is a word of the shell itself")
        if is_assignment(first):
            raise Refused("an assignment")
        fed = self.join is Join.PIPE or bool(self.reads)
        text = self.script[self.start : self.end]
        self.segments.append(
            Segment(self.words, text, self.join, self.reads, self.writes, fed=fed, literal=self.literal)
        )
        self.words, self.reads, self.writes = [], [], []
        self.join, self.redirected, self.literal = Join.START, False, True

    def finish(self) -> list[Segment]:
        if self.target is not None:
            raise Refused("a redirection without its file")
        if self.words:
            self.close()
        elif self.join is not Join.START or self.redirected:
            raise Refused("an operator without a command after it")
        return self.segments
