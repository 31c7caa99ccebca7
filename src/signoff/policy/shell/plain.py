"""Read a script that is nothing but simple commands, character by character as bash would.

Every character is consumed by exactly one alternative below, or the script is refused: there is no place between
tokens for something that was not looked at. What is refused may be fine, but it is not granted.
"""

import re

from signoff.policy.shell.segments import Join, Segment
from signoff.policy.shell.words import Dialect, Refused, read_word

_TOKEN = re.compile(
    r"""(?P<blank>(?:[ \t]|\\\n(?!\#))+)
      | (?P<word>[A-Za-z0-9_./:=@%+,-]+(?=[ \t\n;|&]|\Z))
      | '(?P<single>[^']*)'(?=[ \t\n;|&]|\Z)
      | "(?P<double>[^"\\$`]*)"(?=[ \t\n;|&]|\Z)
      | (?P<operator>&&(?!&)|\|\||\|&|\|(?!\|)|;(?![;&])|\n)
      | (?P<comment>\#[^\n]*)
      | (?P<free>(?:[0-9]?(?:>&|<&)[ \t]*(?:[0-9]|-)|(?:[0-9]?|&)>>?[ \t]*/dev/null)(?=[ \t\n;|&]|\Z))
      | [0]?<[ \t]*(?P<read>[A-Za-z0-9_.][A-Za-z0-9_./:=@%+,-]*|/[A-Za-z0-9_./:=@%+,-]*)(?=[ \t\n;|&]|\Z)
    """,
    re.VERBOSE,
)
_JOINS = {"&&": Join.AND, "||": Join.OR, "|": Join.PIPE, "|&": Join.PIPE}
RESERVED = frozenset(
    "! [[ ]] { } case coproc do done elif else esac fi for function if in select then until while time".split()
)
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[.*\])?\+?=", re.DOTALL)


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
            word, end = read_word(script, position, home, dialect)
            reader.word(word, position, end)
            position = end
    return reader.finish()


class _Script:
    def __init__(self, script: str, home: str, dialect: Dialect) -> None:
        self.script, self.home, self.dialect = script, home, dialect
        self.segments: list[Segment] = []
        self.words: list[str] = []
        self.reads: list[str] = []
        self.join = Join.START
        self.start = 0
        self.end = 0
        self.redirected = False
        self.touching = -1  # where the last word or redirection ended: the next token may not touch it

    def take(self, match: re.Match[str]) -> None:
        group = match.lastgroup
        if group == "blank":
            return
        if group == "operator":
            self.operator(match.group(group))
            return
        if match.start() == self.touching:
            raise Refused("two tokens without a blank between them")
        if group == "comment":
            return
        if group in ("word", "single", "double"):
            self.word(match.group(group), match.start(), match.end())
        else:
            self.redirection(match, group)

    def word(self, word: str, start: int, end: int) -> None:
        if start in (end, self.touching):
            raise Refused(f"`{self.script[start : start + 2]}` is no part of a simple command")
        if self.dialect is Dialect.ZSH and word[:1] == "=":
            raise Refused("a word that zsh expands")
        if not self.words:
            self.start = start
        self.words.append(word)
        self.end = self.touching = end

    def redirection(self, match: re.Match[str], group: str | None) -> None:
        if self.dialect is not Dialect.BASH and "&>" in match.group():
            raise Refused("a redirection that other shells read differently")
        if group == "read":
            self.reads.append(match.group("read"))
        self.redirected = True
        self.end = self.touching = match.end()

    def operator(self, operator: str) -> None:
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
        self.segments.append(Segment(self.words, text, self.join, self.reads, fed=fed))
        self.words, self.reads = [], []
        self.join, self.redirected = Join.START, False

    def finish(self) -> list[Segment]:
        if self.words:
            self.close()
        elif self.join is not Join.START or self.redirected:
            raise Refused("an operator without a command after it")
        return self.segments
