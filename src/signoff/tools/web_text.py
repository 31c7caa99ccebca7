"""The text of what a web server sent: in its character set, and of a page what a reader would see. Pure."""

import codecs
import re
from html.parser import HTMLParser

_TEXTUAL = re.compile(
    r"text/.*|application/(?:.*\+)?(?:json|xml|yaml|x-yaml|toml|javascript|ecmascript|x-ndjson|jsonl|sql|graphql)"
)
_META = re.compile(rb"<meta[^>]+charset=[\"']?([A-Za-z0-9_.:-]+)", re.IGNORECASE)
_SILENT = frozenset({"script", "style", "template", "svg"})
_BLOCKS = re.compile(
    "address|article|aside|blockquote|br|d[dlt]|div|footer|h[1-6]|header|hr|li|main|nav|[ou]l|p|pre|section|t[dhr]|table|title"
)


def media_type(header: str) -> tuple[str, str | None]:
    """The type, and the character set it names."""
    kind, *parameters = header.split(";")
    named = (part.partition("=") for part in parameters)
    charset = next((value.strip().strip("\"'") for name, _, value in named if name.strip().lower() == "charset"), None)
    return kind.strip().lower() or "application/octet-stream", charset or None


def is_text(kind: str) -> bool:
    return _TEXTUAL.fullmatch(kind) is not None


def decoded(data: bytes, kind: str, charset: str | None) -> tuple[str, str]:
    """The text, and the character set it was read in: a byte order mark, else the header, else the page, else UTF-8."""
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if data.startswith(mark):
            return data.decode(name, "replace"), name
    if charset is None and "html" in kind:
        found = _META.search(data[:4_096])
        charset = found[1].decode() if found else None
    name = _known(charset)
    return data.decode(name, "replace"), name


def _known(charset: str | None) -> str:
    """Of the names a server gives only those of character sets; Python has codecs that are something else."""
    name = charset or "utf-8"
    try:
        b"xx".decode(name, "replace")
    except (LookupError, ValueError):
        return "utf-8"
    return codecs.lookup(name).name


def readable(page: str) -> str:
    """What a reader sees of a page, a line for each block; links keep their addresses."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    lines = (re.sub(r"[ \t\r\f\v\u00a0]+", " ", line).strip() for line in "".join(reader.parts).split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._silent: list[str] = []
        self._links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SILENT:
            self._silent.append(tag)
        if _BLOCKS.fullmatch(tag):
            self.parts.append("\n")
        if tag == "a":
            self._links.append(dict(attrs).get("href") or "")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._silent:
            del self._silent[self._silent.index(tag) :]
        if _BLOCKS.fullmatch(tag):
            self.parts.append("\n")
        if tag == "a" and self._links:
            link = self._links.pop()
            if link.startswith(("http://", "https://")):
                self.parts.append(f" <{link}>")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.parts.append(data)
