"""Tokens that are known by their own shape: vendor prefixes, web tokens, and plain randomness near a telling word."""

import functools
import re
from collections.abc import Iterator

from signoff.ledger.redact.families import DIGITLESS, FAMILIES, Family
from signoff.ledger.redact.mask import Span, holds_mask
from signoff.ledger.redact.randomness import surprise

_RUN = re.compile(r"(?<![\w.~+/=$-])(?=[A-Za-z_.~+/=$-]*+[0-9])[\w.~+/=$-]{16,}", re.ASCII)
_PIECE = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9_$]")
_FAKE = re.compile(r"[xX*.z0_-]{6}|EXAMPLE$|([A-Za-z0-9])\1{7}")
_ESCAPES = "nrtbfuv"


@functools.cache
def _index() -> dict[str, list[Family]]:
    index: dict[str, list[Family]] = {}
    for family in sorted(FAMILIES, key=lambda family: -len(family.prefix)):
        index.setdefault(family.prefix[:2], []).append(family)
    return index


@functools.cache
def _compiled(family: Family) -> re.Pattern[str]:
    return re.compile(re.escape(family.prefix) + f"(?:{family.tail})" + r"(?![A-Za-z0-9])", re.ASCII)


def vendor_at(text: str, position: int) -> Span | None:
    """The vendor token that begins exactly here, if one does."""
    for family in _index().get(text[position : position + 2], ()):
        if not text.startswith(family.prefix, position) or not _is_free(text, position, family):
            continue
        found = _compiled(family).match(text, position)
        if found is not None and _is_real(found[0][len(family.prefix) :], family):
            return Span(position, found.end(), family.kind)
    return None


def _is_free(text: str, position: int, family: Family) -> bool:
    before = text[position - 1 : position] if position else ""
    if before.isalnum() and before.isascii():
        return before in _ESCAPES and text[position - 2 : position - 1] == "\\"
    return not (len(family.prefix) <= 4 and before and before in "-_+/.")


def _is_real(tail: str, family: Family) -> bool:
    if holds_mask(tail):
        return False
    if family.wary:
        return surprise(tail) >= 5.2 and any(map(str.isdigit, tail))
    return True


def vendors(text: str) -> Iterator[Span]:
    for run in _RUN.finditer(text):
        yield from _in_run(text, run.start(), run.end())
    for prefix in DIGITLESS:
        position = text.find(prefix)
        while position >= 0:
            span = vendor_at(text, position)
            if span is not None:
                yield span
            position = text.find(prefix, position + 1)


def _in_run(text: str, start: int, end: int) -> Iterator[Span]:
    escaped = start and text[start - 1] == "\\" and text[start] in _ESCAPES
    if escaped:
        span = vendor_at(text, start + 1)
        if span is not None:
            yield span
    for piece in _PIECE.finditer(text, start, end):
        span = vendor_at(text, piece.start())
        if span is not None:
            yield span
            return


_JWT = re.compile(r"ey[A-Za-z0-9][\w-]{10,}+\.[\w-]{10,}+(?:\.[\w-]*+)?={0,2}", re.ASCII)
_TELEGRAM = re.compile(r":A[\w-]{34}(?![\w-])", re.ASCII)
_DISCORD = re.compile(r"(?<![\w.-])[\w-]{23,28}\.[\w-]{6,7}\.[\w-]{27,40}(?![\w-])", re.ASCII)
_ATLAS = re.compile(r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,70}", re.ASCII)
_AZURE = re.compile(r"(?<![\w.~-])[\w.~-]{3}\dQ~[\w.~-]{31,34}(?![\w.~-])", re.ASCII)
_MAILCHIMP = re.compile(r"(?<![A-Za-z0-9])[0-9a-f]{32}-us\d{1,2}(?!\w)", re.ASCII)
_FACEBOOK = re.compile(r"(?<!\d)\d{15,16}\|[\w-]{27,40}(?![\w-])", re.ASCII)
_TEAMS = re.compile(r"/webhookb2/[\w@-]{20,}/IncomingWebhook/[\w/-]{20,}", re.ASCII)
_WRAPPED_KEY = re.compile(r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{20,}={0,2}", re.ASCII)
_BEARER = re.compile(r"bearer[ \t]{1,4}([\w.~+/=-]{16,})", re.ASCII)
_SHAPES: tuple[tuple[str, re.Pattern[str], str], ...] = (
    (".atlasv1.", _ATLAS, "terraform"),
    (".", _DISCORD, "discord"),
    ("Q~", _AZURE, "azure"),
    ("-us", _MAILCHIMP, "mailchimp"),
    ("/webhookb2/", _TEAMS, "teams"),
)


def shaped(text: str) -> Iterator[Span]:
    """Tokens without a prefix whose inner build gives them away."""
    position = text.find("ey")
    for found in _JWT.finditer(text, max(position, 0)) if position >= 0 else ():
        before = text[found.start() - 1 : found.start()]
        if not (before.isalnum() or before in ("_", "-")) or text[found.start() - 2 : found.start() - 1] == "\\":
            yield Span(found.start(), found.end(), "jwt")
    for mark, pattern, kind in _SHAPES:
        if mark in text:
            for found in pattern.finditer(text):
                yield Span(found.start(), found.end(), kind)
    yield from _telegram(text)
    if "|" in text:
        for found in _FACEBOOK.finditer(text):
            yield Span(found.start(), found.end(), "facebook")
    for found in _WRAPPED_KEY.finditer(text):
        if _PRIVATE_WRAPPED.search(found[0][:120]):
            yield Span(found.start(), found.end(), "pem")


_PRIVATE_WRAPPED = re.compile(r"UFJJVkFUR|BSSVZBVE|QUklWQVRF")  # "PRIVATE" at its three offsets in base64


def _telegram(text: str) -> Iterator[Span]:
    for found in _TELEGRAM.finditer(text):
        left = text[max(0, found.start() - 11) : found.start()]
        digits = len(left) - len(left.rstrip("0123456789"))
        if 8 <= digits <= 10:
            yield Span(found.start() - digits, found.end(), "telegram")
