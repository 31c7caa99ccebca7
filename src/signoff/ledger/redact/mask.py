"""What stands in place of a secret, and how it is known again.

A mask is one word, `REDACTED_<kind>` or `REDACTED_<kind>_<8 hex digits>`, so that it is valid wherever the secret was:
in JSON, YAML, XML, a URL, an unquoted shell word, an identifier. No kind contains a word that would itself promise a
secret, or a second pass would see promises the first did not.
"""

import re
from typing import NamedTuple

from signoff.ledger.redact.families import KINDS as VENDORS

RULES = frozenset(
    {"assigned", "header", "url", "option", "random", "pem", "jwt", "number", "manifest", "email", "address", "person"}
)
KINDS = VENDORS | RULES
PREFIX = "REDACTED_"
MASK = re.compile(rf"(?<!\w){PREFIX}([a-z0-9]+)(?:_[0-9a-f]{{8}})?(?!\w)")


def holds_mask(text: str) -> bool:
    return PREFIX in text and any(found[1] in KINDS for found in MASK.finditer(text))


class Span(NamedTuple):
    """Half-open range of one text that must not be shown."""

    start: int
    end: int
    kind: str


def merge(spans: list[Span]) -> list[Span]:
    """In order and without overlap. Overlapping spans become their union, under the name of the first and longest, so
    that no half of a secret is left for a second pass to find."""
    merged: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end, span.kind)):
        if merged and span.start < merged[-1].end:
            if span.end > merged[-1].end:
                merged[-1] = merged[-1]._replace(end=span.end)
        else:
            merged.append(span)
    return merged
