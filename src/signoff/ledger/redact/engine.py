"""All rules over one stretch of text, and the masks put in place of what they found."""

from collections.abc import Callable

from signoff.domain.settings import Redact
from signoff.ledger.redact.assigned import assigned
from signoff.ledger.redact.mask import Span, merge
from signoff.ledger.redact.places import addresses, options
from signoff.ledger.redact.tokens import shaped, vendors


def scan(text: str, level: Redact) -> list[Span]:
    """What must not be shown in these whole lines, in order and without overlap."""
    if level is Redact.OFF:
        return []
    folded = text.encode("latin-1").lower().decode("latin-1")
    spans = [*vendors(text), *shaped(text), *assigned(text, folded), *addresses(text), *options(text)]
    return merge(spans)


def replace(text: str, spans: list[Span], mask: Callable[[str, str], str]) -> str:
    pieces: list[str] = []
    done = 0
    for start, end, kind in spans:
        pieces += (text[done:start], mask(text[start:end], kind))
        done = end
    return "".join((*pieces, text[done:]))
