"""One shell word: what a program would see of it, or why only the shell can know.

A word is a `str` if it is literal, else a `Dynamic`, whose text begins with NUL and so equals no rule and no table key.
"""

import enum
import re

from signoff.domain.late import late_pattern


class Kind(enum.Enum):
    """What makes a word unknown."""

    GLOB = enum.auto()  # file names the shell will find
    HOME = enum.auto()  # a tilde or "$HOME": the value is known, but only from the environment
    VARIABLE = enum.auto()  # a harmless variable in double quotes, or a number such as $?
    UNKNOWN = enum.auto()  # anything else


class Dynamic(str):
    """A word of which only `lead`, the text before the unknown part, is certain.

    `pattern` is the whole word as a glob; `value` is its text where that is known although the word is not literal.
    """

    __slots__ = ("kind", "lead", "pattern", "value")
    kind: Kind
    lead: str
    pattern: str
    value: str | None

    @classmethod
    def of(cls, kind: Kind, raw: str, lead: str = "", pattern: str = "*", value: str | None = None) -> "Dynamic":
        word = cls("\0" + raw)
        word.kind, word.lead, word.pattern, word.value = kind, lead, pattern, value
        return word

    @property
    def raw(self) -> str:
        return self[1:]


class Dialect(enum.Enum):
    """Which shell will read it: they differ in what a word may contain."""

    BASH = enum.auto()
    POSIX = enum.auto()
    ZSH = enum.auto()


def seen(word: str) -> str | None:
    """The text the program gets, None if only the shell knows."""
    return word.value if isinstance(word, Dynamic) else word


_HARMLESS = "HOME|OLDPWD|PWD|USER|LOGNAME|SHELL|PATH|LANG|TERM|TMPDIR|HOSTNAME"
_PIECE = late_pattern(
    r"""(?P<bare>(?:[A-Za-z0-9_./:=@%+,^\#!\]-]|[^\x00-\x7f])+)
      | \\(?P<escaped>[^\n])
      | (?P<joined>\\\n)(?!\#)
      | '(?P<single>[^']*)'
      | "(?P<double>(?:[^"\\]|\\.)*)"
      | \$'(?P<ansi>(?:[^'\\]|\\.)*)'
      | (?P<glob>[*?\[])
      | (?P<tilde>~)
      | (?P<number>\$[?\#])(?![A-Za-z0-9_])
      | (?P<braces>\{\})
    """,
    re.VERBOSE | re.DOTALL,
)
_QUOTED = late_pattern(
    rf"""(?P<text>[^\\$`]+)
      | \\(?P<escaped>[$`"\\])
      | (?P<joined>\\\n)
      | (?P<kept>\\.)
      | \$(?P<variable>(?:{_HARMLESS})(?![A-Za-z0-9_])|\{{(?:{_HARMLESS})\}}|[?\#](?![A-Za-z0-9_]))
      | (?P<dollar>\$)(?=[ \t\n/.,:;|)^%+=~\]\}}\\]|\Z)
    """,
    re.VERBOSE | re.DOTALL,
)
_ANSI = late_pattern(
    r"\\(?:([abeEfnrtv\\'\"?])|x([0-9A-Fa-f]{1,2})|([0-7]{1,3})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8}))|([^\\]+)"
)
_ESCAPES = dict(zip("abeEfnrtv", "\a\b\x1b\x1b\f\n\r\t\v", strict=True))
_SEPARATORS = " \t\n;|&<>()"
_ENDS = frozenset(_SEPARATORS)
_BRACES = late_pattern(r"(?:-[A-Za-z])?\{\}")  # alone, or as the value of an option: no shell makes anything of them
_ZSH_ONLY = late_pattern(r"^=|[~^#]")
_GLOB_MARKS = late_pattern(r"([*?\[\]\\])")


class Refused(Exception):
    """The word has a form that is not read here."""


def read_word(source: str, start: int, home: str, dialect: Dialect = Dialect.BASH) -> tuple[str, int]:
    """The word that begins at `start` and where it ends. Raises `Refused` unless every character was understood."""
    reader = _Reader(source, start, home, dialect)
    position, size = start, len(source)
    while position < size and source[position] not in _ENDS:
        match = _PIECE.match(source, position)
        if match is None:
            raise Refused("a word with a form that only the shell can expand")
        reader.take(match)
        position = match.end()
    return reader.word(position), position


class _Reader:
    """The pieces of one word, joined as the shell joins them."""

    def __init__(self, source: str, start: int, home: str, dialect: Dialect) -> None:
        self.source, self.start, self.home, self.dialect = source, start, home, dialect
        self.value: list[str] = []
        self.wild: dict[int, str] = {}  # which pieces of the value are patterns
        self.lead: str | None = None
        self.kind: Kind | None = None

    def take(self, match: re.Match[str]) -> None:
        group = match.lastgroup
        text = match.group(group) if group else ""
        if group == "bare":
            if self.dialect is Dialect.ZSH and _ZSH_ONLY.search(text):
                raise Refused("a character that zsh expands")
            self.literal(text)
        elif group in ("escaped", "single"):
            self.literal(text)
        elif group == "braces":
            if not _BRACES.fullmatch(self.source[self.start : match.end() + 1].rstrip(_SEPARATORS)):
                raise Refused("braces")
            self.literal(text)
        elif group == "double":
            self.double(text)
        elif group == "ansi":
            if self.dialect is Dialect.POSIX:
                raise Refused("$'…' is read differently by other shells")
            self.literal(decode_ansi(text))
        elif group == "glob":
            self.unknown(Kind.GLOB, text)
        elif group == "number":
            self.unknown(Kind.VARIABLE, "*")
        elif group == "tilde":
            self.tilde(match.start())

    def literal(self, text: str) -> None:
        self.value.append(text)

    def unknown(self, kind: Kind, pattern: str, value: str | None = None) -> None:
        if self.lead is None:
            self.lead = "".join(self.value)
        if self.kind is None or self.kind is Kind.HOME:
            self.kind = kind
        elif self.kind is not kind and kind is not Kind.HOME:
            self.kind = Kind.UNKNOWN
        if value is None:
            self.wild[len(self.value)] = pattern
        self.value.append(value or "")

    def double(self, text: str) -> None:
        position = 0
        while position < len(text):
            match = _QUOTED.match(text, position)
            if match is None:
                raise Refused("an expansion in double quotes")
            group = match.lastgroup
            if group == "variable":
                name = match.group(group).strip("{}")
                self.unknown(*((Kind.HOME, "*", self.home) if name == "HOME" else (Kind.VARIABLE, "*")))
            elif group != "joined" and group is not None:
                self.literal(match.group(group))
            position = match.end()

    def tilde(self, at: int) -> None:
        before, after = self.source[at - 1 : at], self.source[at + 1 : at + 2]
        if self.dialect is Dialect.ZSH and at != self.start:
            raise Refused("a character that zsh expands")
        if at != self.start and before not in ("=", ":"):
            self.literal("~")
        elif at == self.start and (after == "/" or after == "" or after in _ENDS):
            self.unknown(Kind.HOME, "*", self.home)
        else:
            self.unknown(Kind.UNKNOWN, "*")

    def word(self, end: int) -> str:
        if self.kind is None:
            return "".join(self.value)
        raw = self.source[self.start : end]
        if raw == "[":
            return raw  # the name of a program; a pattern needs its other half
        value = None if self.wild else "".join(self.value)
        pattern = (self.wild.get(index) or _GLOB_MARKS.sub(r"\\\1", text) for index, text in enumerate(self.value))
        return Dynamic.of(self.kind, raw, self.lead or "", "".join(pattern), value)


def decode_ansi(text: str) -> str:
    r"""The inside of $'…'. Only what every locale decodes alike: no NUL, no code above 127, no \c."""
    parts: list[str] = []
    position = 0
    while position < len(text):
        match = _ANSI.match(text, position)
        if match is None:
            raise Refused("an escape in $'…' that is not decoded")
        letter, hexadecimal, octal, short, long, plain = match.groups()
        if plain is not None:
            parts.append(plain)
        elif letter is not None:
            parts.append(_ESCAPES.get(letter, letter))
        else:
            code = int(octal, 8) if octal else int(hexadecimal or short or long, 16)
            if not 0 < code < 128:
                raise Refused("a character in $'…' that depends on the locale")
            parts.append(chr(code))
        position = match.end()
    return "".join(parts)
