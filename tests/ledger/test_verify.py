"""Whatever is done to a ledger is found, named, and given its own exit code."""

import io
import itertools
import json
import pathlib
import random
import re

import pytest

from signoff.ledger.chain import Chain
from signoff.ledger.records import Event
from signoff.ledger.verify import Flaw, Report, verify
from tests.ledger import sceptic
from tests.ledger.books import lines_of, open_ledger, ordinary_run

RECORDS = 200


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """A finished ledger of 200 records."""
    directory = tmp_path_factory.mktemp("runs")
    ledger = open_ledger(directory)
    for record in ordinary_run():
        ledger.submit(record)
    for number in range(RECORDS - 13):
        ledger.submit(Event(name="note", data={str(number): 'é \u2028 "quoted" \\ 😀'}))
    ledger.close()
    written = lines_of(directory)
    assert len(written) == RECORDS
    return written


def check(lines: list[bytes], heads: dict[int, str] | None = None) -> Report:
    return verify(io.BytesIO(b"".join(lines)), heads)


def outcome(lines: list[bytes]) -> tuple[int, int | None]:
    """The exit code and the record named; both verifiers must agree on the code."""
    finding = check(lines).finding
    code = finding.flaw.error.exit if finding else 0
    assert sceptic.judge(b"".join(lines)) == code
    return code, finding.record if finding else None


def test_an_untouched_ledger_is_in_order(lines: list[bytes]) -> None:
    assert outcome(lines) == (0, None)
    last = json.loads(lines[-1])
    assert check(lines) == Report(run_id=last["run_id"], records=RECORDS, head=last["hash"], closed=True)


@pytest.mark.parametrize("quarter", range(4))
def test_every_flipped_byte_is_found_in_its_record(lines: list[bytes], quarter: int) -> None:
    data = bytearray(b"".join(lines))
    ends = list(itertools.accumulate(len(line) for line in lines))
    dice = random.Random(quarter)
    record = 0
    for position in range(len(data)):
        record += position >= ends[record]
        if position % 4 != quarter:
            continue
        flip = 1 << dice.randrange(8)
        data[position] ^= flip
        finding = verify(io.BytesIO(data)).finding
        assert finding is not None
        assert (finding.flaw, finding.record, finding.line) == (Flaw.EDITED, record, record + 1), position
        if position % 997 == 0:
            assert sceptic.judge(bytes(data)) == sceptic.EDITED
        data[position] ^= flip


def test_every_deleted_record_is_missed(lines: list[bytes]) -> None:
    for gone in range(RECORDS - 1):
        assert outcome(lines[:gone] + lines[gone + 1 :]) == (61, gone)
    assert outcome(lines[:-1]) == (64, RECORDS - 1)  # without the closing record a run did not end


def test_every_duplicated_record_is_out_of_place(lines: list[bytes]) -> None:
    for twice in range(RECORDS):
        assert outcome([*lines[: twice + 1], *lines[twice:]]) == (62, twice)


def test_every_swap_is_out_of_order(lines: list[bytes]) -> None:
    dice = random.Random(1)
    for first in range(RECORDS):
        for second in {(first + 1) % RECORDS, dice.randrange(RECORDS)} - {first}:
            low, high = sorted((first, second))
            swapped = list(lines)
            swapped[low], swapped[high] = lines[high], lines[low]
            assert outcome(swapped) == (62, high)


def test_a_tail_cut_inside_a_record_is_torn_and_between_records_unfinished(lines: list[bytes]) -> None:
    whole, last = b"".join(lines), len(lines[-1]) + len(lines[-2])
    for cut in range(1, last + 1):
        finding = verify(io.BytesIO(whole[:-cut])).finding
        assert finding is not None
        between = cut in (len(lines[-1]), last)
        record = RECORDS - 1 if cut <= len(lines[-1]) else RECORDS - 2
        assert (finding.flaw, finding.record) == (Flaw.UNFINISHED if between else Flaw.TORN, record), cut
        if cut % 20 == 0 or between:
            assert sceptic.judge(whole[:-cut]) == finding.flaw.error.exit


def test_zeros_after_a_power_cut_are_a_torn_tail(lines: list[bytes]) -> None:
    assert outcome([*lines[:-1], b"\0" * 4096]) == (63, RECORDS - 1)


def forged(lines: list[bytes]) -> list[bytes]:
    """The lines chained anew with right hashes and a right closing record: what somebody with the file can do."""
    chain = Chain(json.loads(lines[0])["run_id"])
    again = []
    for raw in lines:
        what = re.sub(rb'^.*?"what":(.*)}\n$', rb"\1", raw)
        if b'"type":"close"' in what:
            what = re.sub(rb'"count":\d+', b'"count":%d' % chain.seq, what)
            what = re.sub(rb'"head":"\w+"', b'"head":"%b"' % chain.head.encode(), what)
        again.append(chain.link(what, "2026-01-01T00:00:00.000000+00:00", 0))
    return again


def test_a_cut_tail_is_found_if_and_only_if_the_head_was_kept(lines: list[bytes]) -> None:
    heads = {RECORDS: json.loads(lines[-1])["hash"]}
    for kept in (1, 50, RECORDS - 2, RECORDS - 1):
        shorter = forged([*lines[: kept - 1], lines[-1]]) if kept > 1 else lines[:1]
        alone = check(shorter).finding
        assert alone is None if kept > 1 else alone is not None and alone.flaw is Flaw.UNFINISHED
        finding = check(shorter, heads).finding
        assert finding is not None
        assert (finding.flaw, finding.record) == (Flaw.MISSING, kept)
        assert sceptic.judge(b"".join(shorter), RECORDS, heads[RECORDS]) == 61
    assert check(lines, heads).finding is None


def test_a_ledger_written_anew_is_found_by_the_kept_head(lines: list[bytes]) -> None:
    rewritten = forged(lines)
    assert check(rewritten).finding is None
    finding = check(rewritten, {RECORDS: json.loads(lines[-1])["hash"]}).finding
    assert finding is not None
    assert (finding.flaw, finding.record) == (Flaw.EDITED, RECORDS - 1)


def test_records_after_the_closing_one_are_found_even_when_chained(lines: list[bytes]) -> None:
    longer = forged([*lines, lines[5], lines[-1]])
    assert outcome(longer) == (60, RECORDS)


def test_a_record_of_another_run_and_a_replaced_one_are_edits(lines: list[bytes], tmp_path: pathlib.Path) -> None:
    other = open_ledger(tmp_path)
    for record in ordinary_run():
        other.submit(record)
    other.close()
    assert outcome([*lines[:5], lines_of(tmp_path)[5], *lines[6:]]) == (60, 5)
    rehashed = forged(lines[:7])[6:]
    assert outcome([*lines[:6], *rehashed, *lines[7:]]) == (60, 6)


def test_numbers_and_keys_that_are_spelled_in_many_ways_hold_too(tmp_path: pathlib.Path) -> None:
    ledger = open_ledger(tmp_path)
    ledger.submit(Event(name="odd", data={"small": 1e-7, "big": 1e21, "exact": 2**60, "😀": 1, "\ue000": 2, "": -0.0}))
    ledger.close()
    assert outcome(lines_of(tmp_path)) == (0, None)


@pytest.mark.parametrize(
    ("data", "code"),
    [(b"", 61), (b"\n", 60), (b"{}\n", 60), (b"not a ledger", 63), (b"x" * 3_000_000, 60), (b"\xff\xfe\n", 60)],
    ids=["empty", "blank", "object", "text", "endless line", "bytes"],
)
def test_a_file_that_is_no_ledger_is_refused(data: bytes, code: int) -> None:
    finding = verify(io.BytesIO(data)).finding
    assert finding is not None
    assert finding.flaw.error.exit == code


def test_two_runs_at_once_are_two_chains(tmp_path: pathlib.Path) -> None:
    ledgers = [open_ledger(tmp_path) for _ in range(2)]
    for record in ordinary_run():
        for ledger in ledgers:
            ledger.submit(record)
    heads = {ledger.close() for ledger in ledgers}
    assert len(heads) == 2
    for path in tmp_path.iterdir():
        with path.open("rb") as file:
            report = verify(file)
        assert (report.finding, report.records) == (None, 13)
        assert report.run_id == path.stem
