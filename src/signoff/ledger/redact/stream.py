"""A text in pieces: the same output however it is cut, and never more than a bounded tail held back.

Whole lines go through the rules together with the line before them. A line longer than a window is taken in windows at
fixed distances from its start; each sees a little of what came before and of what comes after, and no window ends inside
a secret. Everything here is text of one character per byte, so cuts never fall inside a character.
"""

from collections.abc import Callable

from signoff.domain.settings import Redact
from signoff.ledger.redact.blocks import Blocks
from signoff.ledger.redact.engine import replace, scan
from signoff.ledger.redact.mask import Span, merge
from signoff.ledger.redact.structure import inside_strings, is_json

WINDOW = 65_536
AHEAD = 8_192  # more than the longest secret
BEHIND = 512  # more than any rule looks back
BLOCK = 1_048_576
_ROUNDS = 8


class Lines:
    """The rules over a sequence of characters that arrive in order."""

    def __init__(self, level: Redact, mask: Callable[[str, str], str]) -> None:
        self._level = level
        self._mask = mask
        self._blocks = Blocks()
        self._held = ""
        self._before = ""  # what was last let go, for rules that look back
        self._inside = False  # the held text continues a line too long for one window

    def feed(self, text: str) -> str:
        self._held += text
        return self._drain(final=False)

    def finish(self) -> str:
        return self._drain(final=True)

    def _drain(self, *, final: bool) -> str:
        pieces: list[str] = []
        position = 0
        while position < len(self._held):
            if self._overlong(position):
                end = self._window(position, pieces)
            else:
                end = self._whole_lines(position) or (len(self._held) if final else 0)
                if not end:
                    break
                self._lines(position, end, pieces)
            position = end
        self._held = self._held[position:]
        return "".join(pieces)

    def _overlong(self, position: int) -> bool:
        limit = position + WINDOW + AHEAD
        return len(self._held) > limit and self._held.find("\n", position, limit) < 0

    def _whole_lines(self, position: int) -> int:
        """Where the lines end that can go together: before the next overlong or unfinished one. 0: there is none."""
        if self._inside:
            return self._held.find("\n", position) + 1
        end = position
        while end - position < BLOCK and (reach := self._held.rfind("\n", end, end + WINDOW + AHEAD) + 1):
            end = reach
        return end if end > position else 0

    def _lines(self, position: int, end: int, pieces: list[str]) -> None:
        body = self._held[position:end]
        spans = self._scan(body)
        if not self._inside and self._level is not Redact.OFF:
            spans = merge([*spans, *self._blocks.scan(body)])
        self._let_go(body, spans, pieces)
        self._inside = False

    def _window(self, position: int, pieces: list[str]) -> int:
        spans = self._scan(self._held[position : position + WINDOW + AHEAD])
        spans = [span for span in spans if span.start < WINDOW]
        length = max(WINDOW, spans[-1].end) if spans else WINDOW
        self._let_go(self._held[position : position + length], spans, pieces)
        self._inside = True
        return position + length

    def _scan(self, body: str) -> list[Span]:
        base = len(self._before)
        found = scan(self._before + body, self._level)
        return [Span(start - base, end - base, kind) for start, end, kind in found if start >= base]

    def _let_go(self, body: str, spans: list[Span], pieces: list[str]) -> None:
        start = body.rfind("\n", 0, len(body) - 1) + 1
        self._before = body[max(start, len(body) - BEHIND) :]
        pieces.append(self._settle(body, replace(body, spans, self._mask)) if spans else body)

    def _settle(self, body: str, masked: str) -> str:
        """Masks change what stands near: look at the changed lines again until nothing more comes up, so that a second
        pass finds nothing either."""
        lines = masked.split("\n")
        for number, before in enumerate(body.split("\n")):
            if lines[number] != before:
                line = self._unbroken(before, lines[number])
                for _ in range(_ROUNDS):
                    again = self._unbroken(line, replace(line, scan(line, self._level), self._mask))
                    if again == line:
                        break
                    line = again
                lines[number] = line
        return "\n".join(lines)

    def _unbroken(self, before: str, after: str) -> str:
        """A line that was JSON stays JSON: if need be, only what lies inside its strings is masked."""
        if before.lstrip(" \t")[:1] not in ("{", "[", '"') or not is_json(before) or is_json(after):
            return after
        return replace(before, inside_strings(before, scan(before, self._level)), self._mask)
