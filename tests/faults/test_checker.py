"""The checker itself: a good history passes, and each invariant has a history that breaks it alone."""

import pathlib

import pytest

from signoff.ledger.log import Ledger
from signoff.ledger.records import Outcome, Record
from tests.faults.history import Effect, History, Stream, violations
from tests.ledger.books import decision, open_ledger, request, result

GOOD: list[Record] = [request(1), decision(1), result(1)]


def ledger_of(directory: pathlib.Path, records: list[Record]) -> bytes:
    ledger: Ledger = open_ledger(directory)
    for record in records:
        ledger.submit(record)
    ledger.close()
    return (directory / f"{ledger.run_id}.jsonl").read_bytes()


def effect(ledger: bytes) -> Effect:
    return Effect("c1", outside=False, durable=len(ledger))


def test_a_good_history_has_no_violations(tmp_path: pathlib.Path) -> None:
    ledger = ledger_of(tmp_path, GOOD)
    streams = (Stream(b"abc", b"abc", 0), Stream(b"abcdef", b"def", 3))
    assert violations(History(ledger, len(ledger), (effect(ledger),), streams, secrets=("hunter2",))) == []


BROKEN: dict[str, list[Record]] = {
    "I1: c1 ran inside before its allow was on disk": [request(1), decision(1, decision=Outcome.DENY), result(1)],
    "I2: c1 was decided 2 times": [request(1), decision(1), decision(1), result(1)],
    "I3: c1 was asked for 1 times and ended 2 times": [*GOOD, result(1)],
    "I3: c1 was asked for 1 times and ended 0 times": [request(1), decision(1)],
    "I4: c1 took effect in a run that did not ask for it": [decision(1)],
}


@pytest.mark.parametrize("violation", BROKEN)
def test_each_broken_record_is_found(violation: str, tmp_path: pathlib.Path) -> None:
    ledger = ledger_of(tmp_path, BROKEN[violation])
    assert violations(History(ledger, len(ledger), (effect(ledger),))) == [violation]


def test_an_allow_that_was_not_yet_on_disk_does_not_count(tmp_path: pathlib.Path) -> None:
    ledger = ledger_of(tmp_path, GOOD)
    early = Effect("c1", outside=False, durable=ledger.index(b'"type":"decision"'))
    elsewhere = Effect("c1", outside=True, durable=len(ledger))
    assert [found[:2] for found in violations(History(ledger, len(ledger), (early, elsewhere)))] == ["I1", "I1"]


def test_what_is_seen_from_outside_is_checked_too(tmp_path: pathlib.Path) -> None:
    ledger = ledger_of(tmp_path, [*GOOD, request(2, args={"password": "hunter2"}), result(2)])
    edited = ledger.replace(b'"duration_ms":3', b'"duration_ms":4', 1)
    found = violations(
        History(
            edited,
            len(edited),
            streams=(Stream(b"abc", b"acb", 0),),
            survivors=(4711,),
            secrets=("hunter2", "swordfish"),
            other_logs=b"... swordfish ...",
        )
    )
    assert [violation[:2] for violation in found] == ["I5", "I6", "I7", "I8", "I8"]
