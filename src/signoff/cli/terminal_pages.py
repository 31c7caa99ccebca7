"""Rows that do not fit on the screen, a screenful at a time, forwards and backwards. Pure: keys in, rows to show out.

Going on only adds rows below, so that what was read stays in the terminal's own memory; going back shows the rows anew in
the place of what is on the screen.
"""

from signoff.cli.question import Row

_ON = (b" ", b"f", b"\x1b[6~")
_BACK = (b"b", b"\x1b[5~")
_DOWN = (b"j", b"\x1b[B", b"\x1bOB")
_UP = (b"k", b"\x1b[A", b"\x1bOA")
_FIRST = (b"g", b"\x1b[H", b"\x1bOH", b"\x1b[1~")
_LAST = (b"G", b"\x1b[F", b"\x1bOF", b"\x1b[4~")
STOP = (b"\x1b", b"\x04", b"\x1c")


class Pages:
    def __init__(self, rows: tuple[Row, ...], height: int) -> None:
        self._rows = rows
        self._height = height
        self._bottom = 0  # rows before this one were shown last, as many as fit

    @property
    def several(self) -> bool:
        return len(self._rows) > self._height

    @property
    def at_end(self) -> bool:
        return self._bottom >= len(self._rows)

    @property
    def status(self) -> str:
        return f" {self._bottom} of {len(self._rows)} lines "

    def help(self, width: int) -> str:
        """What can be pressed, on one line with the status whatever the width."""
        back = "  b: back" if self._bottom > self._height else ""
        whole = f" space: more{back}   G: to the end   n: no   Esc: stop "
        return whole if len(self.status) + len(whole) < width else " space n: no Esc: stop"

    def begin(self) -> tuple[Row, ...]:
        return self._on_to(self._height)

    def goes_back(self, key: bytes) -> bool:
        return self.several and key in (*_BACK, *_UP, *_FIRST)

    def turn(self, key: bytes) -> tuple[bool, tuple[Row, ...]]:
        """Whether to begin on an empty screen, and the rows to write; none for a key that means nothing."""
        steps = {_ON: self._height, _DOWN: 1, _LAST: len(self._rows), _BACK: -self._height, _UP: -1}
        step = next((step for keys, step in steps.items() if key in keys), -len(self._rows) if key in _FIRST else 0)
        if step >= 0:
            return False, self._on_to(self._bottom + step)
        self._bottom = max(self._bottom + step, min(self._height, len(self._rows)))
        return True, self._rows[max(self._bottom - self._height, 0) : self._bottom]

    def _on_to(self, bottom: int) -> tuple[Row, ...]:
        start, self._bottom = self._bottom, min(bottom, len(self._rows))
        return self._rows[start : self._bottom]
