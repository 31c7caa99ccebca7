"""Find event lines in a stream of bytes without holding up anything else.

The caller owns one buffer, reads into it and lets the scanner look. What comes back are slices of that buffer to pass on
unchanged, and events. Only a tail that may still become an event line is kept for the next look, so a prompt without a
newline goes out at once. For any way of cutting the stream into chunks the events and the text are the same.
"""

import enum

import msgspec

from signoff.wire.tool_events import (
    PREFIX,
    Failure,
    ToolEvent,
    ToolProgress,
    read_bare,
    read_block,
    read_few,
    read_prefixed,
)

MAX_LINE = 8 * 1024 * 1024

_BRACE, _AT, _NEWLINE = b"{", b"@", b"\n"
_BLANK_OR_QUOTE = b' \t\r"}'
PATIENCE = 256  # so many marks inside lines, and the search goes for line beginnings only
FEW = 400  # bytes of whole event lines that are tried at once: what an agent says between two answers
DENSE = 8  # so many reports of progress in a row, and the rest of the buffer is tried as a block


class Text(msgspec.Struct, frozen=True):
    """A slice of the caller's buffer that goes out as it is."""

    start: int
    stop: int


class Found(msgspec.Struct, frozen=True):
    """Events, in order, and where their lines stood (for those who show them)."""

    events: list[ToolEvent]
    start: int
    stop: int


class Modes(msgspec.Struct, frozen=True):
    prefix: bool = True
    bare: bool = True


class Demand(enum.StrEnum):
    """Which events count: any until one is authenticated, or only authenticated ones from the start."""

    ANY = "any"
    AUTHENTICATED = "authenticated"


class Trust(msgspec.Struct):
    """Shared by all streams of one child. Once one event carried the nonce, an event without it is text."""

    nonce: str | None = None
    demand: Demand = Demand.ANY
    established: bool = False
    forged: int = 0

    def admits_all(self, block: list[ToolEvent]) -> bool:
        """True if every one of many counts; False says nothing yet about any of them."""
        signed = [event.nonce for event in block].count(self.nonce) if self.nonce is not None else 0
        if signed == len(block):
            self.established = True
            return True
        return signed == 0 and not self.established and self.demand is Demand.ANY

    def admits(self, event: ToolEvent) -> bool:
        if self.nonce is not None and event.nonce == self.nonce:
            self.established = True
            return True
        if self.established or self.demand is Demand.AUTHENTICATED:
            self.forged += 1
            return False
        return True


class Scan(msgspec.Struct, frozen=True):
    pieces: list[Text | Found]
    failures: list[Failure]
    keep: int  # from here on the buffer must be kept; what is read next goes behind it


class Scanner:
    """The state between two looks: whether the buffer begins a line, and counters."""

    def __init__(self, modes: Modes, trust: Trust) -> None:
        self._modes = modes
        self._trust = trust
        self._line_start = True
        self._row = 0  # reports of progress seen in an unbroken row
        self.lines_held = 0
        self.events = 0
        self.failed = 0

    def scan(self, buffer: bytearray, end: int, *, final: bool = False) -> Scan:
        """Look at buffer[:end]. `final`: nothing follows, so nothing is kept."""
        if 0 < end <= FEW and (few := self._few(buffer, end)):
            return Scan([Found(few, 0, end)], [], end)
        pieces: list[Text | Found] = []
        failures: list[Failure] = []
        text = at = 0
        keep = end
        while (start := self._candidate(buffer, at, end)) >= 0:
            stop = buffer.find(_NEWLINE, start, end)
            if stop < 0:
                if end - start > MAX_LINE:
                    failures.append(Failure("parse.line_too_long", f"an event line has at most {MAX_LINE} bytes", ""))
                elif not final and self._may_become_event(buffer, start, end):
                    keep = start
                elif final:
                    self._read(buffer[start:end], failures)  # an event cut short is no event, but it is noticed
                break
            found, stop = self._lines(buffer, start, stop, end, failures)
            if found:
                if start > text:
                    pieces.append(Text(text, start))
                elif pieces and isinstance(before := pieces[-1], Found):  # events without text between come together
                    pieces.pop()
                    start, found = before.start, before.events + found
                pieces.append(Found(found, start, stop + 1))
                text = stop + 1
            at = stop + 1
            self._line_start = True
        if keep > text:
            pieces.append(Text(text, keep))
        self._line_start = keep < end or (buffer[end - 1] == 10 if end else self._line_start)
        self.failed += len(failures)
        return Scan(pieces, failures, keep)

    def _few(self, buffer: bytearray, end: int) -> list[ToolEvent] | None:
        """The events, where nothing else was read and each of them counts."""
        if not (buffer[0] == _BRACE[0] and buffer[end - 1] == _NEWLINE[0] and self._line_start and self._modes.bare):
            return None
        few = read_few(bytes(buffer[:end]))
        if few is None or not self._trust.admits_all(few):
            return None
        self.events += len(few)
        self._row = 0
        return few

    def _lines(
        self, buffer: bytearray, start: int, stop: int, end: int, failures: list[Failure]
    ) -> tuple[list[ToolEvent], int]:
        """The event lines from `start`: many at once in a dense stream, else the one that ends at `stop`."""
        if self._row >= DENSE:
            last = buffer.rfind(_NEWLINE, stop, end)
            block = read_block(bytes(buffer[start : last + 1]), self._modes.prefix, self._modes.bare)
            if block is not None and self._trust.admits_all(block):
                self.events += len(block)
                return block, last
        event = self._read(buffer[start:stop], failures)
        if event is None or not self._trust.admits(event):
            self._row = 0
            return [], stop
        self._row = self._row + 1 if type(event) is ToolProgress else 0
        self.events += 1
        return [event], stop

    def _read(self, line: bytearray, failures: list[Failure]) -> ToolEvent | None:
        result = read_prefixed(bytes(line[len(PREFIX) :])) if line.startswith(PREFIX) else self._bare(line)
        if isinstance(result, Failure):
            failures.append(result)
            return None
        return result

    def _bare(self, line: bytearray) -> ToolEvent | Failure | None:
        return read_bare(bytes(line)) if self._modes.bare and line.startswith(_BRACE) else None

    def _candidate(self, buffer: bytearray, at: int, end: int) -> int:
        """The next line that begins like an event, or -1."""
        brace = self._line_beginning(buffer, _BRACE, at, end) if self._modes.bare else -1
        prefix = self._line_beginning(buffer, _AT, at, end if brace < 0 else brace) if self._modes.prefix else -1
        return brace if prefix < 0 else prefix

    def _line_beginning(self, buffer: bytearray, mark: bytes, at: int, end: int) -> int:
        # One-byte searches run at memory speed; the test of the byte before is rare on ordinary text.
        place = buffer.find(mark, at, end)
        tries = PATIENCE
        while place > 0 and buffer[place - 1] != 10:
            tries -= 1
            if not tries:  # a long line full of marks, looked at anew with every read
                place = buffer.find(_NEWLINE + mark, place, end)
                return place + 1 if place >= 0 else -1
            place = buffer.find(mark, place + 1, end)
        return place if place != 0 or self._line_start else self._line_beginning(buffer, mark, 1, end)

    def _may_become_event(self, buffer: bytearray, start: int, end: int) -> bool:
        head = bytes(buffer[start : start + len(PREFIX)][: end - start])
        if head[:1] == _AT:
            return PREFIX.startswith(head)
        return len(head) == 1 or head[1] in _BLANK_OR_QUOTE
