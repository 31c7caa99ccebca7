"""Secrets that span lines: private keys in PEM armour, and the data of Kubernetes Secrets.

The only rules with a memory of more than one line. Lines are masked one by one, so their number never changes.
"""

import re
from collections.abc import Iterator

from signoff.ledger.redact.mask import Span, holds_mask

_BEGIN = re.compile(r"-----BEGIN[ A-Z0-9]{0,40} PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d:")
_END = re.compile(r"-----END[ A-Z0-9]{0,40} PRIVATE KEY(?: BLOCK)?-----")
_BODY = re.compile(r"[ \t#*/+>\"'|-]*(?P<body>[A-Za-z0-9+/=]{4,}|=[A-Za-z0-9+/]{4})(?:\\n|\\r|[\"',;+ \t\\]|$)*\r?$")
_HEADER = re.compile(r"[ \t#*/]*(?:[A-Z][\w-]{2,40}: .*|)\r?$")
_ONE_LINE = re.compile(
    r"(?P<body>(?:[A-Za-z0-9+/= \t:,.-]|\\{1,2}[nr]|\"[ \t]*\+?[ \t]*\")*?)(?=-----END|[^A-Za-z0-9+/= \t:,.\\\"-]|\\[^nr\\]|$)"
)
_PART = re.compile(r"(?:\\{1,2}[nr])*(?P<part>[A-Za-z0-9+/=]{8,})")
_MANIFEST = re.compile(r"(?P<indent>[ \t]*)[\"']?kind[\"']?:[ \t]*[\"']?Secret[\"']?,?[ \t]*\r?$")
_SECTION = re.compile(r"[ \t]*[\"']?(?P<name>[\w.-]+)[\"']?:[ \t]*\{?[ \t]*\r?$")
_ENTRY = re.compile(r"[ \t]+[\"']?[\w.-]+[\"']?:[ \t]*[\"']?(?P<value>[A-Za-z0-9+/=_.!@%^*-]{4,})[\"']?,?[ \t]*\r?$")
_FOLDED = re.compile(r"[ \t]+(?P<value>[A-Za-z0-9+/=]{8,})[ \t]*\r?$")
_LONGEST_KEY = 400


class Blocks:
    """Fed line by line, in order; answers with the spans of each stretch of lines."""

    def __init__(self) -> None:
        self._key_lines = 0  # lines of the key still to come at most; 0 outside
        self._manifest = False
        self._section = False

    def scan(self, text: str) -> Iterator[Span]:
        if (
            not (self._key_lines or self._manifest)
            and " PRIVATE KEY" not in text
            and "Secret" not in text
            and "PuTTY" not in text
        ):
            return
        position = 0
        for line in text.splitlines(keepends=True) if "\n" not in text else text.split("\n"):
            yield from self._line(line, position)
            position += len(line) + 1

    def _line(self, line: str, position: int) -> Iterator[Span]:
        if self._key_lines:
            yield from self._key_line(line, position)
            return
        begin = _BEGIN.search(line)
        if begin is not None:
            yield from self._open(line, begin.end(), position)
        elif _MANIFEST.match(line):
            self._manifest, self._section = True, False
        elif self._manifest:
            yield from self._manifest_line(line, position)

    def _open(self, line: str, start: int, position: int) -> Iterator[Span]:
        end = _END.search(line, start)
        rest = line[start : end.start() if end else len(line)]
        found = False
        for part in _PART.finditer(rest):
            if not holds_mask(part["part"]):
                yield Span(position + start + part.start("part"), position + start + part.end("part"), "pem")
                found = True
        if end is None and not (found and len(rest) > 100):
            self._key_lines = _LONGEST_KEY

    def _key_line(self, line: str, position: int) -> Iterator[Span]:
        self._key_lines -= 1
        end = _END.search(line)
        if end is not None:
            self._key_lines = 0
            line = line[: end.start()]
        body = _BODY.match(line)
        if body is not None:
            if len(body["body"]) >= 4:
                yield Span(position + body.start("body"), position + body.end("body"), "pem")
        elif not _HEADER.match(line) and not holds_mask(line):
            self._key_lines = 0

    def _manifest_line(self, line: str, position: int) -> Iterator[Span]:
        if line.startswith("---") or _MANIFEST.match(line):
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
