"""All rules over one stretch of text, and the masks put in place of what they found."""

from collections.abc import Callable

from signoff.domain.settings import Redact
from signoff.ledger.redact.assigned import assigned
from signoff.ledger.redact.blocks import folded_keys
from signoff.ledger.redact.mask import Span, merge
from signoff.ledger.redact.pattern import pattern
from signoff.ledger.redact.people import people, strange
from signoff.ledger.redact.places import addresses, headers, options
from signoff.ledger.redact.tokens import shaped, vendors

_ESCAPE = pattern(r"\\(?:u[0-9a-fA-F]{4}|.)")
_BARE_QUOTE = pattern(r'(?<!\\)"')


def scan(text: str, level: Redact) -> list[Span]:
    """What must not be shown in these whole lines, in order and without overlap."""
    if level is Redact.OFF:
        return []
    folded = text.encode("latin-1").lower().decode("latin-1")
    spans = [
        *vendors(text),
        *shaped(text),
        *assigned(text, folded),
        *addresses(text),
        *headers(text, folded),
        *options(text),
        *folded_keys(text),
    ]
    if level is Redact.STRICT:
        spans += [*people(text), *strange(text)]
    return [legal for span in merge(spans) if (legal := _legal(text, span)) is not None]


def _legal(text: str, span: Span) -> Span | None:
    """The span, moved so that what remains still parses: an escape stays whole, no quote and no backslash is lost."""
    start, end, kind = span
    slash = text.rfind("\\", max(0, start - 5), start)
    if slash >= 0 and _is_odd(text, slash):
        escape = _ESCAPE.match(text, slash)
        start = max(start, escape.end() if escape else start)
    quote = _BARE_QUOTE.search(text, start, end)
    end = quote.start() if quote else end
    while end > start and text[end - 1] == "\\":
        end -= 1
    return Span(start, end, kind) if start < end else None


def _is_odd(text: str, slash: int) -> bool:
    """Whether the backslash here begins an escape, not ends one."""
    before = text[max(0, slash - 64) : slash]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 0


def replace(text: str, spans: list[Span], mask: Callable[[str, str], str]) -> str:
    pieces: list[str] = []
    done = 0
    for start, end, kind in spans:
        pieces += (text[done:start], mask(text[start:end], kind))
        done = end
    return "".join((*pieces, text[done:]))
