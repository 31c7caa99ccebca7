"""What stands in place of a secret, and how it is known again.

A mask is one word, `REDACTED_<kind>` or `REDACTED_<kind>_<8 hex digits>`, so that it is valid wherever the secret was:
in JSON, YAML, XML, a URL, an unquoted shell word, an identifier. No kind contains a word that would itself promise a
secret, or a second pass would see promises the first did not.
"""

from typing import NamedTuple

from signoff.ledger.redact.families import KINDS as VENDORS
from signoff.ledger.redact.pattern import pattern

RULES = frozenset(
    {"assigned", "header", "url", "option", "random", "pem", "jwt", "number", "manifest", "email", "address", "person"}
)
SHAPES = frozenset({"telegram", "terraform", "azure", "mailchimp", "facebook", "discord", "teams"})
KINDS = VENDORS | RULES | SHAPES
PREFIX = "REDACTED_"
MASK = pattern(rf"(?<!\w){PREFIX}([a-z0-9]+)(?:_[0-9a-f]{{8}})?(?!\w)")


def holds_mask(text: str) -> bool:
    return PREFIX in text and any(found[1] in KINDS for found in MASK.finditer(text))


class Span(NamedTuple):
    """Half-open range of one text that must not be shown."""

    start: int
    end: int
    kind: str


def merge(spans: list[Span]) -> list[Span]:
    """In order and without overlap. Overlapping spans become their union, so that no half of a secret is left for a
    second pass to find, under the name that says most."""
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start < merged[-1].end:
            known = merged[-1]
            kind = max(known.kind, span.kind, key=_says)
            merged[-1] = Span(known.start, max(known.end, span.end), kind)
        else:
            merged.append(span)
    return merged


def _says(kind: str) -> int:
    """How much a kind tells: a vendor's name more than a rule's, any rule's more than that it looked random."""
    return 0 if kind == "random" else 1 if kind in RULES else 2
