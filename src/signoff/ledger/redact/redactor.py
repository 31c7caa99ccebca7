"""Take secrets out of a text, a JSON value or a stream of bytes, and put them back for whoever holds the redactor."""

import hashlib
import hmac
import os
from typing import Any

from signoff.domain.settings import Redact
from signoff.ledger.redact.mask import PREFIX
from signoff.ledger.redact.pattern import pattern
from signoff.ledger.redact.stream import Lines
from signoff.ledger.redact.structure import Structure

_SHORTEST = 6  # characters; nothing shorter is taken for a secret, and records are full of short strings
_SHORT, _MOST_CLEAN = 1_000, 1_024  # texts remembered as clean: names, commands and paths come again and again
_TAGGED = pattern(rf"{PREFIX}[a-z0-9]+_[0-9a-f]{{8}}")
_VIEW = "latin-1"  # one character for each byte of UTF-8, so that every input has a text and every cut is a legal one


class Redactor:
    """One level, one memory. A reversible redactor tags each mask with eight digits of a keyed digest, the same for the
    same secret, and remembers what stood there; the key and the memory never leave the process."""

    def __init__(self, level: Redact, *, reversible: bool = True) -> None:
        self.level = level
        self._off = level is Redact.OFF  # a member of an enum is slow to get at
        self.kinds: set[str] = set()  # everything found so far
        self._key = os.urandom(32) if reversible else None
        self._secrets: dict[str, str] = {}
        self._clean: set[str] = set()

    def text(self, text: str) -> str:
        """The same text, its secrets masked."""
        if self._off or len(text) < _SHORTEST or text in self._clean:
            return text
        masked = self._masked(text)
        if masked == text and len(text) <= _SHORT:
            if len(self._clean) >= _MOST_CLEAN:
                self._clean.clear()
            self._clean.add(text)
        return masked

    def _masked(self, text: str) -> str:
        view = text if text.isascii() else text.encode("utf-8", "surrogatepass").decode(_VIEW)
        lines = Lines(self.level, self._mask)
        masked = lines.feed(view) + lines.finish()
        return text if masked == view else masked.encode(_VIEW).decode("utf-8", "surrogatepass")

    def value(self, value: Any) -> Any:
        """The same JSON value, its structure kept: only strings change."""
        if self.level is Redact.OFF:
            return value
        return Structure(self.text, self._mask).walk(value)

    def stream(self) -> "Stream":
        return Stream(Lines(self.level, self._mask))

    def restore(self, text: str) -> str:
        """Masks of this redactor back to what they stand for; anything else stays."""
        while (restored := _TAGGED.sub(lambda found: self._secrets.get(found[0], found[0]), text)) != text:
            text = restored  # a secret may have held the mask of a smaller one
        return text

    def _mask(self, secret: str, kind: str) -> str:
        self.kinds.add(kind)
        if kind == "number":
            return "9" * len(secret)  # a number that begins with zero is no JSON
        if self._key is None:
            return PREFIX + kind
        tag = hmac.digest(self._key, secret.encode(_VIEW), hashlib.sha256).hex()[:8]
        mask = f"{PREFIX}{kind}_{tag}"
        self._secrets[mask] = secret.encode(_VIEW).decode("utf-8", "surrogateescape")
        return mask


class Stream:
    """Bytes in, bytes out: the same output for any cutting of the input. Bytes that are not UTF-8 pass unchanged."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines

    def feed(self, data: bytes) -> bytes:
        return self._lines.feed(data.decode(_VIEW)).encode(_VIEW)

    def finish(self) -> bytes:
        """What was held back. Nothing may be fed afterwards."""
        return self._lines.finish().encode(_VIEW)
