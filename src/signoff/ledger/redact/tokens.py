"""Tokens that are known by their own shape: vendor prefixes, web tokens, and plain randomness near a telling word."""

import functools
import re
from collections.abc import Iterator
from typing import NamedTuple

from signoff.ledger.redact.families import DIGITLESS, FAMILIES, Family
from signoff.ledger.redact.mask import Span, holds_mask
from signoff.ledger.redact.noise import noise
from signoff.ledger.redact.pattern import pattern
from signoff.ledger.redact.randomness import surprise

# begins with a class of characters, which is the fastest thing a search can begin with when it is no literal
_RUN = pattern(r"[^\w.~+/=$-](?=[A-Za-z_.~+/=$-]*+[0-9])[\w.~+/=$-]{16,}")
_FIRST_RUN = pattern(r"[\w.~+/=$-]{16,}")
_PIECE = pattern(r"(?<![A-Za-z0-9])[A-Za-z0-9_$].")
_HASH_BEFORE = pattern(r"(?:sha\d{1,3}|md5|h1)[=:-]$")
_ESCAPES = "nrtbfuv"


_SHORTEST = 13  # no family is shorter, prefix and tail together


@functools.cache
def _index() -> dict[str, list[Family]]:
    """Families by the first two characters of their prefix, longest prefix first."""
    index: dict[str, list[Family]] = {}
    for family in sorted(FAMILIES, key=lambda family: -len(family.prefix)):
        index.setdefault(family.prefix[:2], []).append(family)
    return index


@functools.cache
def _compiled(family: Family) -> re.Pattern[str]:
    return pattern(re.escape(family.prefix) + f"(?:{family.tail})" + r"(?![A-Za-z0-9])")


def vendor_at(text: str, position: int) -> Span | None:
    """The vendor token that begins exactly here, if one does."""
    for family in _index().get(text[position : position + 2], ()):
        if not text.startswith(family.prefix, position) or not _is_free(text, position, family):
            continue
        found = _compiled(family).match(text, position)
        if found is not None and _is_real(found[0][len(family.prefix) :], family):
            kept = (
                len(family.prefix) if family.prefix[-1] in "=/" else 0
            )  # a name or an address, not part of the secret
            return Span(position + kept, found.end(), family.kind)
    return None


def _is_free(text: str, position: int, family: Family) -> bool:
    """Whether the token begins here and is not the inside of a longer word or a hash."""
    if not starts_word(text, position):
        return False
    before = text[position - 1 : position]
    if before in ("=", ":", "-") and _HASH_BEFORE.search(text, max(0, position - 8), position):
        return False
    return len(family.prefix) > 4 or family.prefix[-1] in "_-" or before not in ("-", "_", "+", "/", ".")


def starts_word(text: str, position: int) -> bool:
    """No letter or digit stands before, or one that belongs to an escape such as \\n or \\u0007."""
    before = text[position - 1 : position] if position else ""
    if not (before.isalnum() and before.isascii()):
        return True
    return (before in _ESCAPES and text[position - 2 : position - 1] == "\\") or text[
        max(0, position - 6) : max(0, position - 4)
    ] == "\\u"


def _is_real(tail: str, family: Family) -> bool:
    if holds_mask(tail):
        return False
    if family.wary:
        return surprise(tail) >= 5.2 and any(map(str.isdigit, tail))
    return True


def vendors(text: str) -> Iterator[Span]:
    first = _FIRST_RUN.match(text)
    if first is not None:
        yield from _in_run(text, 0, first.end())
    for run in _RUN.finditer(text):
        yield from _in_run(text, run.start() + 1, run.end())
    for prefix in DIGITLESS:
        position = text.find(prefix)
        while position >= 0:
            span = vendor_at(text, position)
            if span is not None:
                yield span
            position = text.find(prefix, position + 1)


def _in_run(text: str, start: int, end: int) -> Iterator[Span]:
    if start and text[start - 1] == "\\" and text[start] in _ESCAPES:
        start += 5 if text[start] == "u" else 1
        span = vendor_at(text, start)
        if span is not None:
            yield span
    heads = _index()
    done = start
    for piece in _PIECE.finditer(text, start, end - _SHORTEST + 2):
        if piece[0] in heads and piece.start() >= done:
            span = vendor_at(text, piece.start())
            if span is not None:
                done = span.end
                yield span
    if done == start and end - start >= 20:
        span = noise(text, start, end)
        if span is not None:
            yield span


# each begins with a literal, so that the search for it is a search for a string; what lies left of it is checked after
_JWT_HEAD = pattern(r"ey(?=[A-Za-z0-9][\w-]{10})")
_JWT = pattern(r"ey[\w-]++\.[\w-]{10,}+(?:\.[\w-]*+)?={0,2}")
_WRAPPED_KEY = pattern(r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{20,}={0,2}")
_PRIVATE_WRAPPED = pattern(r"UFJJVkFUR|BSSVZBVE|QUklWQVRF")  # "PRIVATE" at its three offsets in base64
_TEAMS = pattern(r"/webhookb2/[\w@-]{20,}/IncomingWebhook/[\w/-]{20,}")
_DIGITS = "0123456789"
_HEX = "0123456789abcdef"
_URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"


class Shape(NamedTuple):
    """A token known by something in its middle: the pattern from there on, and what must stand to the left."""

    kind: str
    middle: re.Pattern[str]
    left: str  # characters
    least: int
    most: int


_SHAPES = (
    Shape("telegram", pattern(r":A[\w-]{34}(?![\w-])"), _DIGITS, 8, 10),
    Shape("terraform", pattern(r"\.atlasv1\.[\w=-]{60,70}"), _URL, 14, 14),
    Shape("azure", pattern(r"Q~[\w.~-]{31,34}(?![\w.~-])"), _URL + ".~", 4, 4),
    Shape("mailchimp", pattern(r"-us\d{1,2}(?!\w)"), _HEX, 32, 32),
    Shape("facebook", pattern(r"\|[\w-]{27,40}(?![\w-])"), _DIGITS, 15, 16),
    Shape("discord", pattern(r"\.[\w-]{6,7}\.[\w-]{27,40}(?![\w-])"), _URL, 23, 28),
)


def shaped(text: str) -> Iterator[Span]:
    """Tokens without a prefix whose inner build gives them away."""
    for head in _JWT_HEAD.finditer(text):
        if (
            text[head.start() - 1 : head.start()] not in ("_", "-")
            and starts_word(text, head.start())
            and (found := _JWT.match(text, head.start()))
        ):
            yield Span(found.start(), found.end(), "jwt")
    for shape in _SHAPES:
        for found in shape.middle.finditer(text):
            left = text[max(0, found.start() - shape.most - 1) : found.start()]
            length = len(left) - len(left.rstrip(shape.left))
            if shape.least <= length <= shape.most and any(map(str.isdigit, left)):
                yield Span(found.start() - length, found.end(), shape.kind)
    for found in _TEAMS.finditer(text):
        yield Span(found.start(), found.end(), "teams")
    for found in _WRAPPED_KEY.finditer(text):
        if _PRIVATE_WRAPPED.search(found[0][:120]):
            yield Span(found.start(), found.end(), "pem")
