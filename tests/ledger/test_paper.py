"""Room made ahead in the file of a busy run: it is there while it helps, it never counts, and it is never in the way."""

import errno
import os
import pathlib
import signal
import threading

import pytest

from signoff.domain.errors import LedgerUnwritable
from signoff.ledger import reading
from signoff.ledger.log import Ledger
from signoff.ledger.paper import BUSY, ROOM, Disk
from signoff.ledger.records import Event, Line
from signoff.ledger.verify import Flaw, verify
from tests.ledger import sceptic
from tests.ledger.books import RUN, decision, open_ledger, request, result
from tests.ledger.test_faults import allowed_on_disk, child


class Watched(Disk):
    """A real disk that tells when room is made, and may have no place for it, or break under it."""

    def __init__(self, no_place: bool = False, breaks: bool = False) -> None:
        self.asked = threading.Event()
        self.made = threading.Event()
        self.no_place = no_place
        self.breaks = breaks

    def write(self, descriptor: int, data: bytes, at: int) -> int:
        if data is not ROOM:
            return super().write(descriptor, data, at)
        self.asked.set()
        if self.no_place:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(descriptor, data, at)

    def sync(self, descriptor: int) -> None:
        if self.asked.is_set() and not self.no_place:
            if self.breaks:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            self.made.set()
        super().sync(descriptor)


def busy_ledger(directory: pathlib.Path, disk: Watched) -> Ledger:
    """A run that has just become busy: the genesis record and BUSY decisions, each with a sync of its own."""
    ledger = open_ledger(directory, RUN, disk=disk)
    for number in range(BUSY):
        ledger.commit(decision(number)).wait(timeout=60)
    return ledger


def found(path: pathlib.Path) -> tuple[Flaw | None, int]:
    """What is wrong and how many records hold; both verifiers agree."""
    with path.open("rb") as file:
        report = verify(file)
    flaw = report.finding.flaw if report.finding else None
    assert sceptic.judge(path.read_bytes()) == (flaw.error.exit if flaw else 0)
    return flaw, report.records


def test_a_busy_run_writes_over_room_made_ahead_and_closing_takes_it_away(tmp_path: pathlib.Path) -> None:
    disk, path = Watched(), tmp_path / f"{RUN}.jsonl"
    ledger = busy_ledger(tmp_path, disk)
    assert disk.made.wait(60)
    size = path.stat().st_size
    assert path.read_bytes().endswith(b"}\n" + ROOM)
    assert found(path) == (Flaw.UNFINISHED, 1 + BUSY)
    ledger.commit(decision(BUSY), request(BUSY)).wait(timeout=60)
    assert path.stat().st_size == size  # so there was nothing for the file system's journal
    assert found(path) == (Flaw.UNFINISHED, 3 + BUSY)
    glance = reading.glance(path)
    assert (glance.state, glance.records) == (reading.State.RUNNING, 3 + BUSY)
    ledger.close()
    assert path.read_bytes().endswith(b"}\n")
    assert found(path) == (None, 4 + BUSY)


def test_a_short_run_has_no_room(tmp_path: pathlib.Path) -> None:
    disk = Watched()
    ledger = open_ledger(tmp_path, RUN, disk=disk)
    for number in range(BUSY - 2):  # the closing record asks for one more
        ledger.commit(decision(number)).wait(timeout=60)
    ledger.close()
    assert not disk.asked.is_set()


def test_more_than_there_is_room_for_goes_behind_it(tmp_path: pathlib.Path) -> None:
    disk, path = Watched(), tmp_path / f"{RUN}.jsonl"
    ledger = busy_ledger(tmp_path, disk)
    assert disk.made.wait(60)
    for number in range(5):
        ledger.submit(Event(name="big", data={"text": "x" * (len(ROOM) // 3)}))
        ledger.commit(decision(100 + number)).wait(timeout=60)
    assert found(path) == (Flaw.UNFINISHED, 11 + BUSY)
    ledger.close()
    assert found(path) == (None, 12 + BUSY)


def test_a_disk_without_a_place_for_room_still_takes_records(tmp_path: pathlib.Path) -> None:
    disk = Watched(no_place=True)
    ledger = busy_ledger(tmp_path, disk)
    assert disk.asked.wait(60)
    ledger.write(decision(BUSY), timeout=60)
    ledger.close()
    assert found(tmp_path / f"{RUN}.jsonl") == (None, 3 + BUSY)


def test_a_failed_sync_of_room_is_as_final_as_any(tmp_path: pathlib.Path) -> None:
    disk = Watched(breaks=True)
    ledger = busy_ledger(tmp_path, disk)
    assert disk.asked.wait(60)
    with pytest.raises(LedgerUnwritable, match="Input/output error"):
        ledger.close()
    assert not ledger.commit(decision(BUSY)).durable
    assert found(tmp_path / f"{RUN}.jsonl")[0] is Flaw.UNFINISHED


def test_whoever_follows_a_run_sees_records_written_over_room(tmp_path: pathlib.Path) -> None:
    disk, path = Watched(), tmp_path / f"{RUN}.jsonl"
    ledger = busy_ledger(tmp_path, disk)
    assert disk.made.wait(60)
    with path.open("rb") as file:
        assert len(list(reading.read(file))) == 1 + BUSY
        for number in range(3):
            ledger.write(result(number), timeout=60)
            (new,) = reading.read(file)
            assert isinstance(new, Line)
            assert new.seq == 1 + BUSY + number
        ledger.close()
        assert len(list(reading.read(file))) == 1


def test_a_killed_busy_run_is_unfinished_and_no_more(tmp_path: pathlib.Path) -> None:
    process = child(tmp_path)
    assert process.stdout is not None
    announced = [process.stdout.readline().strip() for _ in range(5 * BUSY)]
    process.send_signal(signal.SIGKILL)
    announced += process.stdout.read().split()
    assert process.wait(30) == -signal.SIGKILL
    process.stdout.close()
    path = tmp_path / f"{RUN}.jsonl"
    assert path.read_bytes().endswith(b"  ")
    assert announced == allowed_on_disk(path)[: len(announced)]
    assert found(path)[0] in (Flaw.TORN, Flaw.UNFINISHED)
    assert reading.glance(path).state is reading.State.UNFINISHED


@pytest.mark.parametrize(
    ("change", "flaw"),
    [
        (lambda data: data + ROOM, Flaw.UNFINISHED),
        (lambda data: data + b'{"hash":"0123' + ROOM, Flaw.TORN),
        (lambda data: data[:-1] + ROOM, Flaw.TORN),
        (lambda data: data + ROOM + b"\n", Flaw.EDITED),
        (lambda data: data + ROOM[:7] + data, Flaw.EDITED),
        (lambda data: data + b"\n", Flaw.EDITED),
        (lambda data: data + b"\0" * 4096, Flaw.TORN),
        (lambda data: ROOM, Flaw.MISSING),
    ],
    ids=["room", "torn in it", "torn at its edge", "a blank line", "room between", "empty line", "zeros", "room only"],
)
def test_room_counts_only_at_the_end_and_only_as_spaces(tmp_path: pathlib.Path, change: object, flaw: Flaw) -> None:
    ledger = open_ledger(tmp_path, RUN)
    ledger.write(decision(1), timeout=60)
    path = tmp_path / f"{RUN}.jsonl"
    changed = tmp_path / "changed"
    changed.write_bytes(change(path.read_bytes()))  # type: ignore[operator]
    assert found(changed)[0] is flaw
    ledger.close()
    changed.write_bytes(path.read_bytes() + ROOM)
    assert found(changed)[0] is Flaw.TORN  # never after the closing record
