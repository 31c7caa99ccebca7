"""Private keys in PEM armour, and the data of Kubernetes Secrets: the secrets that span lines.

The only rules with a memory of more than one line. Lines are masked one by one, so their number never changes.
"""

from collections.abc import Iterator

from signoff.ledger.redact.mask import Span, holds_mask
from signoff.ledger.redact.pattern import pattern

_BEGIN = pattern(
    r"-----BEGIN[ A-Z0-9]{0,40} PRIVATE KEY(?: BLOCK)?-----[\"',;+ \t\\nr]{0,12}\r?$|^Private-Lines: \d+\r?$"
)
_END = pattern(r"-----END[ A-Z0-9]{0,40} PRIVATE KEY(?: BLOCK)?-----")
_BODY = pattern(r"[ \t#*>\"'|-]*+(?://)?[ \t]*+(?P<body>[A-Za-z0-9+/=]++)(?:\\[nr]|[\"',;+ \t\\])*+\r?$")
_HEADER = pattern(r"[ \t#*/]*+(?:[A-Z][\w-]{2,40}: .*)?\r?$")
_ONE_LINE = pattern(
    r"-----BEGIN[ A-Z0-9]{0,40} PRIVATE KEY(?: BLOCK)?-----(?:[ \"'+,]|\\{1,3}[nr])*+"
    r"(?P<body>[A-Za-z0-9+/=]{16,}+(?:(?:[ \"'+,]|\\{1,3}[nr]){1,12}+[A-Za-z0-9+/=]++)*+)"
)
_BETWEEN_QUOTES = pattern(r"[A-Za-z0-9+/=][^\"']*")
_MANIFEST = pattern(r"[ \t]*[\"']?kind[\"']?:[ \t]*[\"']?Secret[\"']?,?[ \t]*\r?$")
_SECTION = pattern(r"[ \t]*[\"']?(?P<name>[\w.-]+)[\"']?:[ \t]*\{?[ \t]*\r?$")
_ENTRY = pattern(r"[ \t]+[\"']?[\w.-]+[\"']?:[ \t]*[\"']?(?P<value>[A-Za-z0-9+/=_.!@%^*-]{4,})[\"']?,?[ \t]*\r?$")
_FOLDED = pattern(r"[ \t]+(?P<value>[A-Za-z0-9+/=]{8,})[ \t]*\r?$")
_MARKS = (" PRIVATE KEY", "Secret", "Private-Lines: ")
_LONGEST_KEY = 400  # lines
_LONGEST_LINE = 4096


def folded_keys(text: str) -> Iterator[Span]:
    """A key on one line, its line ends written as \\n or left out."""
    for found in _ONE_LINE.finditer(text):
        for part in _BETWEEN_QUOTES.finditer(text, *found.span("body")):
            if not holds_mask(part[0]):
                yield Span(part.start(), part.end(), "pem")


class Blocks:
    """Fed whole lines in order; answers with the spans in each stretch of them."""

    def __init__(self) -> None:
        self._key_lines = 0  # how many lines of the key may still come; 0 outside
        self._manifest = False
        self._section = False

    def scan(self, text: str) -> Iterator[Span]:
        if not (self._key_lines or self._manifest) and not any(mark in text for mark in _MARKS):
            return
        position = 0
        for line in text.removesuffix("\n").split("\n"):  # what follows the last end of line is no line
            if len(line) <= _LONGEST_LINE:
                yield from self._line(line, position)
            position += len(line) + 1

    def _line(self, line: str, position: int) -> Iterator[Span]:
        if self._key_lines:
            yield from self._key_line(line, position)
        elif _BEGIN.search(line):
            self._key_lines = _LONGEST_KEY
        elif _MANIFEST.match(line):
            self._manifest, self._section = True, False
        elif self._manifest:
            yield from self._manifest_line(line, position)

    def _key_line(self, line: str, position: int) -> Iterator[Span]:
        first = self._key_lines == _LONGEST_KEY
        self._key_lines -= 1
        end = _END.search(line)
        if end is not None:
            self._key_lines = 0
            line = line[: end.start()]
        body = _BODY.match(line)
        if body is not None:
            if not first or len(body["body"]) >= 16:  # one short word is no key
                yield Span(position + body.start("body"), position + body.end("body"), "pem")
        elif not _HEADER.match(line) and not holds_mask(line):
            self._key_lines = 0

    def _manifest_line(self, line: str, position: int) -> Iterator[Span]:
        if line.startswith("---"):
            self._manifest = False
            return
        section = _SECTION.match(line)
        if section is not None:
            self._section = section["name"] in ("data", "stringData")
            return
        value = (_ENTRY.match(line) or _FOLDED.match(line)) if self._section else None
        if value is not None and not holds_mask(value["value"]):
            yield Span(position + value.start("value"), position + value.end("value"), "manifest")
        elif self._section and line[:1] not in (" ", "\t", "", "#", "\r"):
            self._section = False
