"""Ask the person at the terminal.

The question goes to stderr, or to the terminal itself where stderr leads elsewhere: nobody approves what they cannot see.
The answer comes from the controlling terminal, never from a pipe. What was typed before the question stood there whole
is thrown away, and so is what follows within a moment of it.
"""

import contextlib
import os
import termios
import tty
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Self

from signoff.approvals.request import ReviewRequest
from signoff.approvals.review import OVERLOADED, Line
from signoff.cli.answers import EDITING, Ask, Chosen, press, read_rule, said, typed_rule
from signoff.cli.question import Row, Span, Style, keys_row, paint, question, rules
from signoff.domain.errors import UsageError
from signoff.domain.late import late
from signoff.domain.review import Abort, Denied, ReviewDecision
from signoff.domain.visible import visible

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = late("asyncio")

ARM_S = 0.3  # nobody reads a question faster
_MOST_KEYS = 1_000
_ERASE = "\r\x1b[K"
_BACKSPACE, _ERASE_LINE, _ESCAPE, _END = ("\x7f", "\b"), "\x15", "\x1b", ("\r", "\n")
_INTERRUPT = b"\x03"
_STOP = ("\x03", "\x04", "\x1c")
MORE = " space: more   n: no   Esc: stop "


class TerminalReviewer:
    """Give it the descriptor of a terminal; `on` chooses where to ask."""

    name = "terminal"
    is_person = True

    def __init__(self, terminal: int, screen: int, *, colour: bool, arm_s: float = ARM_S) -> None:
        self._terminal = terminal
        self._screen = screen
        self._colour = colour
        self._arm_s = arm_s
        self._line = Line(changed=self._tell)
        self._drawn = 0  # rows that the keys take on the screen
        self._redraw: Callable[[], object] | None = None  # shows the last line anew, while nothing else is on it

    @classmethod
    def on(cls, terminal: int, *, colour: bool) -> Self:
        """Asks on stderr where that is a terminal, else on the terminal the answers come from."""
        return cls(terminal, 2 if os.isatty(2) else terminal, colour=colour)

    async def review(self, request: ReviewRequest) -> ReviewDecision:
        async with self._line.turn() as admitted:
            if not admitted:
                return OVERLOADED
            with _keys_as_typed(self._terminal), self._reading() as keys:
                try:
                    decision = await self._ask(request, keys)
                except asyncio.CancelledError:
                    self._write(f"{self._erase()} → the question was withdrawn; nothing was approved\n")
                    raise
            self._write(f"{self._erase()} → {visible(said(decision))}\n")
            return decision

    async def _ask(self, request: ReviewRequest, keys: "asyncio.Queue[bytes]") -> ReviewDecision:
        width, height = self._size()
        refused = await self._show(question(request, width), max(height - 2, 1), keys)
        if refused is not None:
            return refused
        chosen, armed, self._drawn = 0, False, 0
        while True:
            if not self._drawn:
                self._keys(request, chosen, width)
            with self._news(lambda: self._keys(request, chosen, width)):
                armed = armed or await self._arm(keys)
                meaning = press(request, chosen, await keys.get())
            if meaning is None:
                self._write("\a")
                continue
            self._drawn = 0
            match meaning:
                case Chosen(number=chosen):
                    self._write("\n")
                case Ask.REASON:
                    reason = await self._type("why not? (for the agent; Enter: no reason)", "", keys)
                    if reason is not None:
                        return Denied(rejection=reason.strip() or None)
                case Ask.RULE:
                    answer = await self._edit(request, chosen, keys)
                    if answer is not None:
                        return answer
                case answer:
                    return answer

    @contextlib.contextmanager
    def _news(self, redraw: Callable[[], object]) -> Iterator[None]:
        self._redraw = redraw
        try:
            yield
        finally:
            self._redraw = None

    def _tell(self) -> None:
        """Another question came to wait."""
        if self._redraw is not None:
            self._redraw()

    async def _show(self, rows: list[Row], height: int, keys: "asyncio.Queue[bytes]") -> ReviewDecision | None:
        """Every row, a screenful at a time. Only a refusal can be given before the last row was on the screen."""
        self._write("\n")
        for start in range(0, len(rows), height):
            self._write("".join(f"{paint(row, self._colour)}\n" for row in rows[start : start + height]))
            shown = start + height
            if shown >= len(rows):
                break
            self._write(paint((Span(f" {shown} of {len(rows)} lines ", Style.ALERT), Span(MORE)), self._colour))
            while (key := await keys.get()) != b" ":
                if key in (b"n", b"N"):
                    return Denied()
                if key in (b"\x1b", b"\x03"):
                    return Abort()
            self._write(self._erase())
        return None

    async def _edit(self, request: ReviewRequest, chosen: int, keys: "asyncio.Queue[bytes]") -> ReviewDecision | None:
        self._write(f"\n {EDITING}\n")
        text: str | None = typed_rule(rules(request)[chosen])
        while text is not None:
            text = await self._type("rule", text, keys)
            if text is None:
                break
            try:
                offer = read_rule(text)
            except UsageError as error:
                self._write(f"\n {error.message}\n")
                continue
            self._write(f"\n {visible(offer.rule)}\n {offer.reach}\n save it and run? y / n ")
            answer = await keys.get()
            self._write("\n")
            if answer in (b"y", b"Y"):
                return offer.decision
        return None

    async def _type(self, label: str, text: str, keys: "asyncio.Queue[bytes]") -> str | None:
        """A line of text. None when it was given up with Esc."""
        self._write("\n")
        while True:
            room = max(self._size()[0] - len(label) - 6, 8)
            shown = visible(text)
            self._write(f"{self._erase()} {label}: {'…' + shown[-room + 1 :] if len(shown) > room else shown}")
            typed = (await keys.get()).decode("utf-8", "replace")
            if typed in (_ESCAPE, *_STOP):
                return None
            for character in typed:
                if character in _END:
                    return text
                if character in _BACKSPACE:
                    text = text[:-1]
                elif character == _ERASE_LINE:
                    text = ""
                elif character.isprintable():
                    text += character

    def _keys(self, request: ReviewRequest, chosen: int, width: int) -> None:
        """Show what can be pressed, in the place where it stands already."""
        rows = keys_row(request, chosen, self._line.behind, width - 2)
        up = f"\x1b[{self._drawn - 1}A\r\x1b[J" if self._drawn > 1 else ""
        back = up if up and self._erase() == _ERASE else self._erase()
        self._write(back + "\n".join(paint(row, self._colour) for row in rows) + " ")
        self._drawn = len(rows)

    async def _arm(self, keys: "asyncio.Queue[bytes]") -> bool:
        """Forget what was typed so far and what is typed in the next moment: nobody has read the question yet."""
        termios.tcflush(self._terminal, termios.TCIFLUSH)
        loop = asyncio.get_running_loop()
        armed_at = loop.time() + self._arm_s
        while not keys.empty():
            keys.get_nowait()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(armed_at):
                while await keys.get() != _INTERRUPT:
                    pass
                keys.put_nowait(_INTERRUPT)  # stopping needs no second thought
        return True

    @contextlib.contextmanager
    def _reading(self) -> Iterator["asyncio.Queue[bytes]"]:
        """Keys as they come, one chunk for each read."""
        keys: asyncio.Queue[bytes] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def read() -> None:
            try:
                data = os.read(self._terminal, 1_024)
            except OSError:
                data = b""
            if not data:
                loop.remove_reader(self._terminal)
                keys.put_nowait(b"\x04")  # the terminal is gone: as good as a refusal
            elif keys.qsize() < _MOST_KEYS:
                keys.put_nowait(data)

        loop.add_reader(self._terminal, read)
        try:
            yield keys
        finally:
            loop.remove_reader(self._terminal)

    def _erase(self) -> str:
        return _ERASE if self._colour or os.environ.get("TERM", "dumb") != "dumb" else "\n"

    def _size(self) -> tuple[int, int]:
        try:
            columns, lines = os.get_terminal_size(self._terminal)
        except OSError:
            return 80, 24
        return max(columns or 80, 40), max(lines or 24, 6)

    def _write(self, text: str) -> None:
        data = text.encode("utf-8", "backslashreplace")
        while data:
            data = data[os.write(self._screen, data) :]


@contextlib.contextmanager
def _keys_as_typed(terminal: int) -> Iterator[None]:
    """No line editing, no echo, no signals from keys; everything as it was afterwards."""
    before: list[Any] = termios.tcgetattr(terminal)
    settings = [*before[:6], list(before[6])]
    settings[tty.LFLAG] &= ~(termios.ECHO | termios.ICANON | termios.ISIG)
    settings[tty.CC][termios.VMIN], settings[tty.CC][termios.VTIME] = 1, 0
    termios.tcsetattr(terminal, termios.TCSAFLUSH, settings)  # and nothing typed before counts
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
