"""A text in pieces: the same output however it is cut, and never more than a bounded tail held back.

Whole lines go through the rules together with the line before them. A line longer than a window is taken in windows at
fixed distances from its start; each sees a little of what came before and of what comes after, and no window ends inside
a secret. Everything here is text of one byte per character, so cuts never fall inside a character.
"""

from collections.abc import Callable

from signoff.domain.settings import Redact
from signoff.ledger.redact.blocks import Blocks
from signoff.ledger.redact.engine import replace, scan
from signoff.ledger.redact.mask import Span, merge

WINDOW = 65_536
AHEAD = 8_192
BEHIND = 512


class Lines:
    """The rules over a sequence of characters that arrive in order."""

    def __init__(self, level: Redact, mask: Callable[[str, str], str]) -> None:
        self._level = level
        self._mask = mask
        self._blocks = Blocks()
        self._before = ""  # what was last seen, for rules that look back
        self._held = ""
        self._inside = False  # the held text continues a line too long for one window

    def feed(self, text: str) -> str:
        self._held += text
        return self._drain(final=False)

    def finish(self) -> str:
        return self._drain(final=True)

    def _drain(self, *, final: bool) -> str:
        done: list[str] = []
        while True:
            length = self._ready(final)
            if length == 0:
                return "".join(done)
            done.append(self._take(length))

    def _ready(self, final: bool) -> int:
        """How many characters of the held text can go now, as whole lines or as one window; 0: wait for more."""
        held = self._held
        size = len(held)
        first = held.find("\n") + 1
        if (first or size) > WINDOW + AHEAD:
            return WINDOW
        if not first:
            return size if final else 0
        if self._inside:
            return first
        # as many lines as come before the next one that is too long
        end = first
        while end < size:
            reach = held.rfind("\n", end, end + WINDOW + AHEAD) + 1
            if not reach:
                break
            end = reach
        return end

    def _take(self, length: int) -> str:
        """Mask the first `length` held characters, or a few more where a secret would be cut."""
        held = self._held
        window = length == WINDOW and held[length - 1 : length] != "\n" and len(held) > WINDOW
        base = len(self._before)
        text = self._before + held[: length + AHEAD if window else length]
        spans = scan(text, self._level)
        if not window and not self._inside and self._level is not Redact.OFF:
            spans = merge([*spans, *(Span(s + base, e + base, k) for s, e, k in self._blocks.scan(held[:length]))])
        spans = [span for span in spans if span.start >= base and (not window or span.start < base + length)]
        if window and spans:
            length = max(length, spans[-1].end - base)
        body = held[:length]
        self._held = held[length:]
        self._inside = window
        self._before = _tail(body)
        return replace(body, [Span(start - base, end - base, kind) for start, end, kind in spans], self._mask)


def _tail(text: str) -> str:
    """The last line, or what rules may still look at of it."""
    start = text.rfind("\n", 0, len(text) - 1) + 1
    return text[max(start, len(text) - BEHIND) :]
