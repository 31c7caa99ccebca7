"""Ask the person at the terminal.

The question goes to stderr, or to the terminal itself where stderr leads elsewhere: nobody approves what they cannot see.
The answer comes from the controlling terminal, never from a pipe. What was typed before the question stood there whole
is thrown away, and so is what follows within a moment of it.
"""

import contextlib
import os
import signal
import termios
import tty
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any, Self, TypeVar

from signoff.approvals.request import ReviewRequest
from signoff.approvals.review import OVERLOADED, Line
from signoff.approvals.silence import Silence, write_all
from signoff.cli.answers import EDITING, Ask, Chosen, press, read_rule, said, typed_rule
from signoff.cli.question import Row, Span, Style, keys_row, note, paint, question, rules
from signoff.cli.terminal_pages import STOP, Pages
from signoff.domain.errors import UsageError
from signoff.domain.late import late
from signoff.domain.review import Abort, Denied, ReviewDecision
from signoff.domain.visible import visible

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = late("asyncio")

T = TypeVar("T")
ARM_S = 0.3  # nobody reads a question faster
NO = (b"\r", b"\n", b"n", b"N")
_MOST_KEYS = 1_000
_ERASE = "\r\x1b[K"
_BACKSPACE, _ERASE_LINE, _ESCAPE, _END = ("\x7f", "\b"), "\x15", "\x1b", ("\r", "\n")
_INTERRUPT = b"\x03"
_STOP = ("\x04", "\x1c")
_GRACE_S = 0.5  # for whoever handles an interrupt to withdraw the question
# What a program left behind must not hide the question: scroll margins, character set, insert mode, no wrapping, an
# invisible cursor, concealed text, colours of its own choice.
_SOBER = "\x1b7\x1b[r\x1b8\x1b[0m\x1b(B\x0f\x1b[4l\x1b[?7h\x1b[?25h\x1b]104\x07\x1b]110\x07\x1b]111\x07"


class TerminalReviewer:
    """Give it the descriptor of a terminal; `on` chooses where to ask."""

    name = "terminal"
    is_person = True

    def __init__(
        self, terminal: int, screen: int, *, colour: bool, arm_s: float = ARM_S, silence: Silence | None = None
    ) -> None:
        self._silence = silence or Silence()
        self._terminal = terminal
        self._screen = screen
        self._colour = colour
        self._arm_s = arm_s
        self._line = Line(changed=self._tell)
        self._laid_out = self._size()
        self._drawn = 0  # rows that the keys take on the screen
        self._redraw: Callable[[], object] | None = None  # shows the last line anew, while nothing else is on it

    @classmethod
    def on(cls, terminal: int, *, colour: bool, silence: Silence | None = None) -> Self:
        """Asks on stderr where that is a terminal, else on the terminal the answers come from."""
        return cls(terminal, 2 if os.isatty(2) else terminal, colour=colour, silence=silence)

    async def review(self, request: ReviewRequest) -> ReviewDecision:
        return await self._standing(lambda keys: self._ask(request, keys), OVERLOADED, Abort(), said)

    async def _standing(
        self, ask: "Callable[[asyncio.Queue[bytes]], Awaitable[T]]", crowded: T, stopped: T, say: Callable[[T], str]
    ) -> T:
        """When it is its turn: the question alone on the screen, until it is answered or withdrawn."""
        async with self._line.turn() as admitted:
            if not admitted:
                return crowded
            with self._silence.kept(), _keys_as_typed(self._terminal), self._reading() as keys:
                try:
                    answer = await self._answered(ask, keys)
                except _Interrupted:
                    answer = stopped
                except asyncio.CancelledError:
                    self._write(f"{self._erase()} → the question was withdrawn; nothing was approved\n")
                    raise
                self._write(f"{self._erase()} → {visible(say(answer))}\n")
            return answer

    async def _answered(self, ask: "Callable[[asyncio.Queue[bytes]], Awaitable[T]]", keys: "asyncio.Queue[bytes]") -> T:
        while True:
            try:
                return await ask(keys)
            except _Resized:
                continue

    def _begin(self, pages: Pages) -> None:
        self._laid_out = self._size()
        self._write(("\n" if self._erase() == "\n" else _SOBER + "\n") + self._painted(pages.begin()))

    async def _ask(self, request: ReviewRequest, keys: "asyncio.Queue[bytes]") -> ReviewDecision:
        width, height = self._size()
        pages = Pages(tuple(question(request, width)), max(height - 2, 1))
        self._begin(pages)
        chosen, armed, self._drawn = 0, False, 0
        while True:
            refused = await self._read_on(pages, keys)
            if refused is not None:
                return refused
            if not self._drawn:
                self._keys(request, chosen, width, pages.several)
            with self._news(lambda: self._keys(request, chosen, width, pages.several)):
                armed = armed or await self._arm(keys)
                data = await self._pressed(keys)
            meaning = press(request, chosen, data)
            if pages.goes_back(data):
                self._write(self._wiped(self._drawn) + self._turned(pages, data))
                self._drawn, armed = 0, False
                continue
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

    async def _read_on(self, pages: Pages, keys: "asyncio.Queue[bytes]") -> ReviewDecision | None:
        """Until the last row is on the screen. Only a refusal can be given before."""
        while not pages.at_end:
            self._write(paint((Span(pages.status, Style.ALERT), Span(pages.help(self._size()[0]))), self._colour))
            key = await self._pressed(keys)
            self._write(self._erase())
            if key in (b"n", b"N"):
                return Denied()
            if key in STOP:
                return Abort()
            self._write(self._turned(pages, key) or "\a")
        return None

    def _turned(self, pages: Pages, key: bytes) -> str:
        """What to write so that the rows the key asks for are on the screen."""
        again, rows = pages.turn(key)
        return ("\x1b[H\x1b[J" if again and self._erase() == _ERASE else "") + self._painted(rows)

    def _wiped(self, drawn: int) -> str:
        if self._erase() != _ERASE:
            return "\n"
        return (f"\x1b[{drawn - 1}A" if drawn > 1 else "") + "\r\x1b[J"

    def _painted(self, rows: tuple[Row, ...]) -> str:
        return "".join(f"{paint(row, self._colour)}\n" for row in rows)

    async def _pressed(self, keys: "asyncio.Queue[bytes]") -> bytes:
        """The next key. In a window of another size than the question was laid out for, it can only refuse."""
        key = await self._next(keys)
        if self._size() != self._laid_out and key not in (*NO, *STOP):
            raise _Resized
        return key

    async def _next(self, keys: "asyncio.Queue[bytes]") -> bytes:
        """What is typed next. An interrupt is one for the whole program, as it would be without a question."""
        key = await keys.get()
        if key == _INTERRUPT:
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(_GRACE_S)
            raise _Interrupted
        return key

    async def _edit(self, request: ReviewRequest, chosen: int, keys: "asyncio.Queue[bytes]") -> ReviewDecision | None:
        self._note(f"{EDITING} (Esc: back)")
        text: str | None = typed_rule(rules(request)[chosen])
        while text is not None:
            text = await self._type("rule", text, keys)
            if text is None:
                break
            try:
                offer = read_rule(text, request)
            except UsageError as error:
                self._note(error.message)
                continue
            self._note(*offer.rule.split("\n"), offer.reach)
            self._write(" save it and run? y / n ")
            answer = await self._next(keys)
            self._write("\n")
            if answer in (b"y", b"Y"):
                return offer.decision
        return None

    def _note(self, *texts: str) -> None:
        """Words to the person, below what stands there."""
        rows = tuple(row for text in texts for row in note(text, self._size()[0]))
        self._write("\n" + self._painted(rows))

    async def _type(self, label: str, text: str, keys: "asyncio.Queue[bytes]") -> str | None:
        """A line of text. None when it was given up with Esc."""
        self._write("\n")
        while True:
            self._typed(label, text)
            typed = (await self._next(keys)).decode("utf-8", "replace")
            if typed in (_ESCAPE, *_STOP):
                return None
            for character in typed:
                if character in _END:
                    self._typed(label, text)
                    return text
                if character in _BACKSPACE:
                    text = text[:-1]
                elif character == _ERASE_LINE:
                    text = ""
                elif character.isprintable():
                    text += character

    def _typed(self, label: str, text: str) -> None:
        room = max(self._size()[0] - len(label) - 6, 8)
        shown = visible(text)
        self._write(f"{self._erase()} {label}: {'…' + shown[-room + 1 :] if len(shown) > room else shown}")

    def _keys(self, request: ReviewRequest, chosen: int, width: int, several: bool) -> None:
        """Show what can be pressed, in the place where it stands already."""
        rows = keys_row(request, chosen, self._line.behind, width - 2, several=several)
        self._write(
            (self._wiped(self._drawn) if self._drawn > 1 else self._erase())
            + "\n".join(paint(row, self._colour) for row in rows)
            + " "
        )
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
        write_all(self._screen, text.encode("utf-8", "backslashreplace"))


class _Interrupted(Exception):
    """Control-c was pressed."""


class _Resized(Exception):
    """The window has another size than the question was laid out for."""


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
