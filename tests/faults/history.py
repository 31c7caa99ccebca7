"""What must hold in every history, whatever went wrong in it: the checker.

A history is a ledger file, what of it was on disk at which moment, and what was seen from outside: effects, outputs,
processes, planted secrets. `violations` names every invariant that does not hold.
"""

import io
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from signoff.ledger.paper import Disk
from signoff.ledger.records import Decision, Line, Outcome, Record, Request, Result
from signoff.ledger.verify import Flaw, verify


class Effect(NamedTuple):
    """A tool touched the world."""

    call_id: str
    outside: bool
    durable: int  # bytes of the ledger that were safe on disk at that moment


class Stream(NamedTuple):
    """What a command wrote, and what came through."""

    written: bytes
    received: bytes
    omitted: int


class History(NamedTuple):
    ledger: bytes
    durable: int  # bytes safe on disk at the end; after a power cut nothing else is left
    effects: tuple[Effect, ...] = ()
    streams: tuple[Stream, ...] = ()
    survivors: tuple[int, ...] = ()  # processes of the run that outlived it
    secrets: tuple[str, ...] = ()
    other_logs: bytes = b""
    finished: bool = True  # the run came to its end; otherwise it was cut off


class DiskThatCounts(Disk):
    """A real disk that knows what it has made safe."""

    def __init__(self) -> None:
        self.written = 0
        self.durable = 0

    def write(self, descriptor: int, data: bytes, at: int) -> int:
        count = super().write(descriptor, data, at)
        self.written = self.written if data.isspace() else at + count  # room made ahead says nothing
        return count

    def sync(self, descriptor: int) -> None:
        super().sync(descriptor)
        self.durable = self.written


def recorded(ledger: bytes) -> list[Record]:
    """The whole records; a torn last line is not one."""
    whole = ledger[: ledger.rfind(b"\n") + 1]
    return [msgspec.json.decode(line, type=Line).what for line in whole.splitlines()]


def violations(history: History) -> list[str]:
    records = recorded(history.ledger)
    return [
        *_i1_no_effect_without_a_durable_allow(history),
        *_i2_at_most_one_decision_for_an_attempt(records),
        *_i3_one_end_for_every_request(records, finished=history.finished),
        *_i4_nothing_is_allowed_by_another_run(history, records),
        *_i5_the_chain_holds_but_for_one_torn_line(history),
        *_i6_output_arrives_whole_or_says_what_is_missing(history.streams),
        *(f"I7: process {pid} outlived its run" for pid in history.survivors),
        *_i8_no_secret_in_any_log(history),
    ]


def _i1_no_effect_without_a_durable_allow(history: History) -> Iterator[str]:
    for effect in history.effects:
        allowed = _allowed(recorded(history.ledger[: effect.durable]))
        if (effect.call_id, effect.outside) not in allowed:
            where = "outside" if effect.outside else "inside"
            yield f"I1: {effect.call_id} ran {where} before its allow was on disk"


def _i2_at_most_one_decision_for_an_attempt(records: Iterable[Record]) -> Iterator[str]:
    """A call has one decision; if the sandbox stopped it, its one attempt outside has its own."""
    decisions = [record for record in records if isinstance(record, Decision)]
    seen = Counter((record.tool_call_id, record.sandboxed) for record in decisions)
    yield from (f"I2: {call_id} was decided {count} times" for (call_id, _), count in seen.items() if count > 1)


def _i3_one_end_for_every_request(records: Iterable[Record], *, finished: bool) -> Iterator[str]:
    requests, ends = Counter[str](), Counter[str]()
    for record in records:
        if isinstance(record, Request):
            requests[record.tool_call_id] += 1
        elif isinstance(record, Result):
            ends[record.tool_call_id] += 1
    for call_id, count in requests.items():
        if ends[call_id] > count or (finished and ends[call_id] != count):
            yield f"I3: {call_id} was asked for {count} times and ended {ends[call_id]} times"


def _i4_nothing_is_allowed_by_another_run(history: History, records: Iterable[Record]) -> Iterator[str]:
    requested = {record.tool_call_id for record in records if isinstance(record, Request)}
    for effect in history.effects:
        if effect.call_id not in requested:
            yield f"I4: {effect.call_id} took effect in a run that did not ask for it"


def _i5_the_chain_holds_but_for_one_torn_line(history: History) -> Iterator[str]:
    if not history.ledger and not history.finished:
        return  # cut off before the first record was safe
    finding = verify(io.BytesIO(history.ledger)).finding
    tolerated = () if history.finished else (Flaw.TORN, Flaw.UNFINISHED)
    if finding is not None and finding.flaw not in tolerated:
        yield f"I5: {finding.message}"


def _i6_output_arrives_whole_or_says_what_is_missing(streams: Iterable[Stream]) -> Iterator[str]:
    for stream in streams:
        if stream.written[stream.omitted :] != stream.received:
            yield f"I6: {len(stream.written)} bytes were written, and what arrived is something else"


def _i8_no_secret_in_any_log(history: History) -> Iterator[str]:
    everything = history.ledger + history.other_logs
    yield from (f"I8: {secret!r} is in a log" for secret in history.secrets if secret.encode() in everything)


def _allowed(records: Iterable[Record]) -> set[tuple[str, bool]]:
    return {
        (record.tool_call_id, not record.sandboxed)
        for record in records
        if isinstance(record, Decision) and record.decision is Outcome.ALLOW
    }
