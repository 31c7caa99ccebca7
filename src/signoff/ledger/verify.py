"""Does the file still say what was written? Reads it once and names the first record that is not as it should be.

An intact line is recognised by its bytes alone: it begins with the hash of the rest, and with the hash, run and number
that must come next. Only where that fails is a line taken apart, to say what happened to it.
"""

import enum
import functools
import hashlib
import itertools
from collections.abc import Iterator, Mapping
from typing import BinaryIO

import msgspec

from signoff.domain import errors
from signoff.domain.unreadable import UNREADABLE
from signoff.ledger.prepare import LARGEST_RECORD
from signoff.ledger.records import NO_HASH

LARGEST_LINE = LARGEST_RECORD + 1024
LINES = 64  # looked at together
BODY = 75  # where the hashed part goes on after {"hash":"…64…",
WHAT = 48  # from the comma before "ts" to what happened


class Flaw(enum.StrEnum):
    EDITED = "edited"
    MISSING = "missing"
    REORDERED = "reordered"
    TORN = "torn"
    UNFINISHED = "unfinished"

    @property
    def error(self) -> type[errors.LedgerError]:
        return _ERRORS[self]


_ERRORS: dict[Flaw, type[errors.LedgerError]] = {
    Flaw.EDITED: errors.LedgerEdited,
    Flaw.MISSING: errors.LedgerMissing,
    Flaw.REORDERED: errors.LedgerReordered,
    Flaw.TORN: errors.LedgerTorn,
    Flaw.UNFINISHED: errors.LedgerUnfinished,
}


class Finding(msgspec.Struct, frozen=True):
    """The first thing wrong: which record, by its number, and on which line of the file it shows."""

    flaw: Flaw
    record: int
    line: int
    message: str


class Report(msgspec.Struct, frozen=True):
    """What was found. `records` and `head` cover the part that holds."""

    run_id: str
    records: int
    head: str
    closed: bool
    finding: Finding | None = None


class _Link(msgspec.Struct):
    """The chain's part of a line."""

    hash: str
    run_id: str
    seq: int


class _Ending(msgspec.Struct):
    type: str
    count: int = -1


class _LastLine(msgspec.Struct):
    what: _Ending


_decode_link = msgspec.json.Decoder(_Link).decode
_decode_last = msgspec.json.Decoder(_LastLine).decode


def verify(source: BinaryIO, heads: Mapping[int, str] | None = None, run_id: str = "") -> Report:
    """Check a ledger, read from a buffered source. `heads`: hashes known from elsewhere, by the number of records they stand for; `run_id`: whose it is."""
    walk = _Walk(heads or {}, run_id)
    finding = walk.through(_pieces(source))
    if finding is None or finding.flaw is Flaw.TORN:
        finding = walk.shorter_than_known() or finding
    if finding is None and not walk.seq:
        finding = walk.found(Flaw.MISSING, "record 0 is missing: the file is empty")
    if finding is None and not walk.closed:
        finding = walk.found(Flaw.UNFINISHED, "there is no closing record: the run did not end in order")
    return Report(walk.run_id, walk.seq, walk.head, walk.closed, finding)


def _pieces(source: BinaryIO) -> Iterator[tuple[list[bytes], bytes]]:
    """Whole lines, some at a time; at last what has no end of line, or is too long to be a record."""
    readline = functools.partial(source.readline, LARGEST_LINE + 1)
    while lines := list(itertools.islice(iter(readline, b""), LINES)):
        rest = b"" if lines[-1].endswith(b"\n") else lines.pop()
        yield lines, rest
        if rest:
            return


class _Walk:
    """Along the chain: what must come next, and what is wrong where it does not."""

    def __init__(self, heads: Mapping[int, str], run_id: str) -> None:
        self.run_id = run_id
        self.seq = 0
        self.head = NO_HASH
        self.closed = False
        self._heads = heads

    def through(self, pieces: Iterator[tuple[list[bytes], bytes]]) -> Finding | None:
        for lines, rest in pieces:
            if lines and not self.run_id:
                first = _intact(lines[0])
                self.run_id = first.run_id if first else ""
            good = self._advance(lines)
            if good < len(lines):
                later = itertools.chain(lines[good:], itertools.chain.from_iterable(more for more, _ in pieces))
                return self._diagnosis(lines[good], later)
            if rest and (self.closed or rest.strip(b" ")):  # spaces alone are room for what a killed run never wrote
                return self._cut_off(rest)
        return None

    def _advance(self, lines: list[bytes]) -> int:
        """Go on as far as everything is as it should be; give the number of lines passed. The one loop that must be fast."""
        seq, head, run_id, heads, sha256 = self.seq, self.head, self.run_id, self._heads, hashlib.sha256
        for line in lines:
            digest = sha256(b"{" + line[BODY:-1]).hexdigest()
            start = f'{{"hash":"{digest}","prev":"{head}","run_id":"{run_id}","seq":{seq},"since_ns":'.encode()
            if not line.startswith(start) or self.closed or (heads and heads.get(seq + 1, digest) != digest):
                break
            head = digest
            seq += 1
            after = line.find(b",", len(start)) + WHAT
            if line.startswith(b'{"count":', after):  # so begins a closing record, and nothing else
                self.closed = _decode_last(line).what == _Ending("close", seq - 1)
        passed = seq - self.seq
        self.seq, self.head = seq, head
        return passed

    def found(self, flaw: Flaw, message: str, record: int | None = None) -> Finding:
        return Finding(flaw, self.seq if record is None else record, self.seq + 1, message)

    def shorter_than_known(self) -> Finding | None:
        known = max(self._heads, default=0)
        if known <= self.seq:
            return None
        return self.found(
            Flaw.MISSING, f"record {self.seq} is missing: there must be at least {known}, here are {self.seq}"
        )

    def _cut_off(self, rest: bytes) -> Finding:
        if len(rest) > LARGEST_LINE or _intact(rest[:-1]):
            return self.found(Flaw.EDITED, f"record {self.seq} was changed: its line does not end as it was written")
        return self.found(Flaw.TORN, f"record {self.seq} is cut off: the writer was stopped in the middle of it")

    def _diagnosis(self, line: bytes, later: Iterator[bytes]) -> Finding:
        seq, link = self.seq, _intact(line)
        if link is None:
            return self.found(Flaw.EDITED, f"record {seq} was changed: its hash does not fit what it says")
        if link.run_id != self.run_id:
            return self.found(Flaw.EDITED, f"record {seq} was replaced by one of another run")
        if link.seq < seq:
            return self.found(Flaw.REORDERED, f"record {link.seq} stands again where {seq} belongs", link.seq)
        if link.seq > seq:
            if any(other.seq == seq for other in map(_intact, later) if other):
                return self.found(Flaw.REORDERED, f"record {link.seq} stands where {seq} belongs", link.seq)
            return self.found(Flaw.MISSING, f"record {seq} is missing: {link.seq} stands in its place")
        if self.closed:
            return self.found(Flaw.EDITED, f"record {seq} was added after the closing record")
        if self._heads.get(seq + 1, link.hash) != link.hash:
            return self.found(Flaw.EDITED, f"record {seq} is not the one whose hash was kept elsewhere")
        return self.found(Flaw.EDITED, f"record {seq} does not follow from the one before: one of the two was replaced")


def _intact(line: bytes) -> _Link | None:
    """The chain's part of a line whose hash fits what it says, wherever it stands."""
    line = line.removesuffix(b"\n")
    digest = hashlib.sha256(b"{" + line[BODY:]).hexdigest()
    if not line.startswith(f'{{"hash":"{digest}",'.encode()):
        return None
    try:
        return _decode_link(line)
    except UNREADABLE:
        return None
