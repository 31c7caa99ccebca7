"""Level strict: who and where, and everything that looks random. For what is shared, not for logs one debugs with."""

from collections.abc import Iterator

from signoff.ledger.redact.mask import Span, holds_mask
from signoff.ledger.redact.pattern import pattern
from signoff.ledger.redact.randomness import surprise

_EMAIL = pattern(r"@[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}\.){1,6}[A-Za-z]{2,18}(?![\w@])")
_LOCAL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._%+-"
_IPV4 = pattern(r"(?<![\w.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\w.]\d)")
_IPV6 = pattern(r"(?<![\w:.])(?:[0-9a-fA-F]{1,4}:){2,7}(?::?[0-9a-fA-F]{1,4}){1,7}(?![\w:])")
_NOBODY = ("127.", "0.", "255.255.255.")
_HOMES = tuple(pattern(head + r"(?P<name>[A-Za-z0-9][\w.-]*)") for head in ("/home/", "/Users/", r"\\Users\\{1,2}"))
_RUN = pattern(r"[\w+/=-]{24,}")


def people(text: str) -> Iterator[Span]:
    for found in _EMAIL.finditer(text):
        left = text[max(0, found.start() - 64) : found.start()]
        local = len(left) - len(left.rstrip(_LOCAL))
        if local and not holds_mask(left[-local:]):
            yield Span(found.start() - local, found.end(), "email")
    for found in _IPV4.finditer(text):
        if not found[0].startswith(_NOBODY):
            yield Span(found.start(), found.end(), "address")
    for found in _IPV6.finditer(text):
        if "::" in found[0] or found[0].count(":") == 7:
            yield Span(found.start(), found.end(), "address")
    for home in _HOMES:
        for found in home.finditer(text):
            if not holds_mask(found["name"]):
                yield Span(found.start("name"), found.end("name"), "person")


def strange(text: str) -> Iterator[Span]:
    for found in _RUN.finditer(text):
        value = found[0]
        if surprise(value) >= 5.0 and any(map(str.isdigit, value)) and not holds_mask(value) and value.count("/") < 4:
            yield Span(found.start(), found.end(), "random")
