"""When the disk fails: fail operation 1, 2, 3 … until a run passes, and check that nothing was allowed on a broken promise.

The mechanisms are real where the machine lets us: a file size limit, a full device, a full file system, a killed process.
"""

import errno
import os
import pathlib
import signal
import subprocess
import sys
import threading
from collections.abc import Callable

import msgspec
import pytest

from signoff.domain.errors import LedgerUnwritable
from signoff.ledger.log import Ledger
from signoff.ledger.paper import Disk
from signoff.ledger.records import Decision, Line, Record
from signoff.ledger.verify import Flaw, verify
from tests.ledger.books import KEY, RUN, Plain, decision, genesis, open_ledger, request, result

CALLS = 6
ROOT = pathlib.Path(__file__).parents[2]


class Failing(Disk):
    """A disk whose N-th operation fails, once; what comes after would succeed, as with a real failed sync."""

    def __init__(self, fail_at: int, error: int, short: bool = False) -> None:
        self.operations = 0
        self.failed = False
        self.after_failure = 0
        self._fail_at = fail_at
        self._error = error
        self._short = short

    def write(self, descriptor: int, data: bytes, at: int) -> int:
        self._count()
        if self._short:  # as a nearly full disk does: a part goes through, the next write fails
            data = data[: max(1, len(data) // 2)]
        return super().write(descriptor, data, at)

    def sync(self, descriptor: int) -> None:
        self._count()
        super().sync(descriptor)

    def _count(self) -> None:
        self.operations += 1
        self.after_failure += self.failed
        if self.operations == self._fail_at:
            self.failed = True
            raise OSError(self._error, os.strerror(self._error))


def run_of_calls(ledger: Ledger, *, at_once: bool = False) -> list[str]:
    """Calls as the door makes them: nothing takes effect before its decision is durable. Gives the ids that ran."""
    hand_in = ledger.commit if at_once else ledger.submit
    ran = []
    for number in range(CALLS):
        ledger.submit(request(number))
        try:
            hand_in(decision(number)).wait(timeout=60)
        except LedgerUnwritable:
            continue  # denied; the next call is tried all the same
        ran.append(f"c{number}")
        ledger.submit(result(number))
    return ran


def allowed_on_disk(path: pathlib.Path) -> list[str]:
    whole = path.read_bytes().rpartition(b"\n")[0].splitlines()
    records: list[Record] = [msgspec.json.decode(raw, type=Line).what for raw in whole]
    return [record.tool_call_id for record in records if isinstance(record, Decision)]


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO], ids=["disk full", "sync fails"])
@pytest.mark.parametrize("short", [False, True], ids=["whole writes", "short writes"])
@pytest.mark.parametrize("at_once", [False, True], ids=["by the committer", "by the caller"])
def test_after_the_nth_operation_fails_nothing_is_allowed_any_more(
    tmp_path: pathlib.Path, error: int, short: bool, at_once: bool
) -> None:
    for fail_at in range(1, 200):
        disk = Failing(fail_at, error, short)
        ledger = open_ledger(tmp_path / str(fail_at), RUN, disk=disk)
        ran = run_of_calls(ledger, at_once=at_once)
        try:
            ledger.close()
        except LedgerUnwritable:
            assert disk.failed
        path = tmp_path / str(fail_at) / f"{RUN}.jsonl"
        with path.open("rb") as file:
            finding = verify(file).finding
        assert set(ran) <= set(allowed_on_disk(path))  # nothing ran without an allow that was on disk first
        assert ran == [f"c{number}" for number in range(len(ran))]  # nothing was allowed after the failure
        assert disk.after_failure == 0  # a failed write or sync is never tried again and called good
        if not disk.failed:
            break
        assert isinstance(ledger.failure, LedgerUnwritable)
        assert finding is None or finding.flaw in (Flaw.TORN, Flaw.UNFINISHED, Flaw.MISSING)
    assert (len(ran), finding) == (CALLS, None)
    assert fail_at > 2 * CALLS


def test_every_waiter_hears_of_the_failure(tmp_path: pathlib.Path) -> None:
    ledger = open_ledger(tmp_path, disk=Failing(3, errno.EIO))
    heard: list[str] = []
    told: list[bool] = []

    def wait(number: int) -> None:
        ticket = ledger.submit(decision(number))
        ticket.add_done_callback(lambda done: told.append(done.durable))
        try:
            ticket.wait(timeout=60)
        except LedgerUnwritable as error:
            heard.append(error.message)

    ledger.submit(result(0))
    threads = [threading.Thread(target=wait, args=(number,)) for number in range(1, 17)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    riding = ledger.submit(result(99))
    assert set(heard) == {"the ledger cannot be written: Input/output error"}
    assert len(told) == 16
    assert len(heard) == told.count(False)
    with pytest.raises(LedgerUnwritable):
        riding.wait(timeout=60)


class WhoSyncs(Disk):
    """A disk that knows who came to it, and takes as long as it is told to."""

    def __init__(self) -> None:
        self.threads: list[str] = []
        self.seconds = 0.0
        self._never = threading.Event()

    def sync(self, descriptor: int) -> None:
        self.threads.append(threading.current_thread().name)
        self._never.wait(self.seconds)


def test_a_caller_goes_to_the_disk_itself_only_while_the_disk_is_quick(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signoff.ledger.paper.QUICK", 2.0)
    disk = WhoSyncs()
    ledger = open_ledger(tmp_path, disk=disk)
    here = threading.current_thread().name
    ledger.commit(decision(0)).wait(timeout=60)
    assert set(disk.threads) == {"ledger"}  # nothing is known of the disk yet
    disk.threads.clear()
    assert ledger.commit(decision(1), request(1)).durable
    disk.seconds = 2.1
    assert ledger.commit(decision(2)).durable
    assert disk.threads == [here, here]
    ticket = ledger.commit(decision(3))
    assert not ticket.settled
    ticket.wait(timeout=60)
    assert disk.threads == [here, here, "ledger"]
    disk.seconds = 0.0
    ledger.close()
    with (tmp_path / f"{ledger.run_id}.jsonl").open("rb") as file:
        assert verify(file).finding is None


@pytest.mark.parametrize("quick", [True, False], ids=["by the caller", "by the committer"])
def test_what_a_caller_does_meanwhile_is_done_once_and_is_no_failure_of_the_disk(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, quick: bool
) -> None:
    monkeypatch.setattr("signoff.ledger.paper.QUICK", 30.0 if quick else 0.0)
    disk = WhoSyncs()
    ledger = open_ledger(tmp_path, disk=disk)
    ledger.write(decision(0), timeout=60)
    disk.threads.clear()
    done: list[list[str]] = []

    def meanwhile() -> None:
        done.append(list(disk.threads))
        raise ValueError("not the disk's fault")

    ledger.commit(decision(1), meanwhile=meanwhile).wait(timeout=60)
    assert len(done) == 1
    if quick:
        assert done == [[]]  # while the disk was at work, before anybody waited for it
    ledger.close()
    assert ledger.failure is None


def test_a_disk_that_hangs_blocks_the_waiter_only_so_long_and_the_backlog_is_bounded(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = threading.Event()

    class Hanging(Disk):
        def sync(self, descriptor: int) -> None:
            assert go.wait(30)

    monkeypatch.setattr("signoff.ledger.log.LARGEST_BACKLOG", 50_000)
    ledger = open_ledger(tmp_path, disk=Hanging())
    first = ledger.submit(decision(0))
    with pytest.raises(LedgerUnwritable, match="not on disk after"):
        first.wait(timeout=0.01)
    tickets = [ledger.submit(result(number)) for number in range(500)]  # never blocks
    assert isinstance(tickets[-1].error, LedgerUnwritable)
    go.set()
    with pytest.raises(LedgerUnwritable):
        ledger.close()
    assert not tickets[0].durable


def write_until_it_fails(directory: str) -> None:
    """Run in a process of its own: print the ids whose decision was durable, then the error."""
    ledger = Ledger.create(directory, RUN, genesis(), redactor=Plain(), key=KEY)
    number = 0
    try:
        while number < 100_000:
            ledger.write(decision(number), timeout=60)
            print(f"c{number}", flush=True)
            number += 1
    except LedgerUnwritable as error:
        print(error.message, flush=True)
    try:
        ledger.write(decision(number), timeout=60)
        print("allowed after the failure", flush=True)
    except LedgerUnwritable:
        pass


def child(directory: pathlib.Path, before: str = "") -> subprocess.Popen[str]:
    code = f"{before}\nfrom tests.ledger.test_faults import write_until_it_fails\n{write_until_it_fails.__name__}({str(directory)!r})"
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT)


def check_full(directory: pathlib.Path, process: subprocess.Popen[str], message: str) -> None:
    output, _ = process.communicate(timeout=60)
    *ran, error = output.split("\n")[:-1]
    assert error == f"the ledger cannot be written: {message}"
    assert ran
    on_disk = allowed_on_disk(directory / f"{RUN}.jsonl")
    assert ran == on_disk[: len(ran)]
    with (directory / f"{RUN}.jsonl").open("rb") as file:
        finding = verify(file).finding
    assert finding is not None
    assert finding.flaw in (Flaw.TORN, Flaw.UNFINISHED)


def test_a_file_size_limit_ends_the_run_closed(tmp_path: pathlib.Path) -> None:
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))"
    check_full(tmp_path, child(tmp_path, limit), os.strerror(errno.EFBIG))


def test_a_full_file_system_ends_the_run_closed(tmp_path: pathlib.Path) -> None:
    mount = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o size=64k none "$0" && exec "$@"']
    if subprocess.run([*mount, tmp_path, "true"], capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system is not allowed here")
    code = f"from tests.ledger.test_faults import *\nwrite_until_it_fails({str(tmp_path)!r})\n"
    code += f"data = (pathlib.Path({str(tmp_path)!r}) / (RUN + '.jsonl')).read_bytes(); sys.stderr.buffer.write(data)"
    full = subprocess.run(
        [*mount, tmp_path, sys.executable, "-c", code], capture_output=True, cwd=ROOT, timeout=60, check=True
    )
    *ran, error = full.stdout.decode().split("\n")[:-1]
    assert error == "the ledger cannot be written: No space left on device"
    (tmp_path / f"{RUN}.jsonl").write_bytes(full.stderr)
    assert ran == allowed_on_disk(tmp_path / f"{RUN}.jsonl")[: len(ran)]


def test_a_full_device_lets_nothing_through(tmp_path: pathlib.Path) -> None:
    class Full(Disk):
        def write(self, descriptor: int, data: bytes, at: int) -> int:
            with open("/dev/full", "wb", buffering=0) as device:
                return os.write(device.fileno(), data)

    ledger = open_ledger(tmp_path, disk=Full())
    with pytest.raises(LedgerUnwritable, match="No space left on device"):
        ledger.write(decision(1), timeout=60)
    assert run_of_calls(ledger) == []


def test_a_killed_writer_leaves_every_decision_it_announced(tmp_path: pathlib.Path) -> None:
    """Killed between the record of an allow and its effect: the allow is there without a result, and nothing else is lost."""
    for rounds in range(5):
        directory = tmp_path / str(rounds)
        process = child(directory)
        assert process.stdout is not None
        announced = [process.stdout.readline().strip() for _ in range(1 + rounds * 7)]
        process.send_signal(signal.SIGKILL)
        announced += process.stdout.read().split()
        assert process.wait(30) == -signal.SIGKILL
        process.stdout.close()
        path = directory / f"{RUN}.jsonl"
        assert announced == allowed_on_disk(path)[: len(announced)]
        with path.open("rb") as file:
            report = verify(file)
        assert report.finding is not None
        assert report.finding.flaw in (Flaw.TORN, Flaw.UNFINISHED)


def swapped(path: pathlib.Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    other.rename(path)


@pytest.mark.parametrize(
    ("meddle", "said"),
    [
        (pathlib.Path.unlink, "somebody removed, moved or replaced it"),
        (lambda path: path.rename(path.with_name("moved")), "somebody removed, moved or replaced it"),
        (swapped, "somebody removed, moved or replaced it"),
        (lambda path: os.truncate(path, 10), "somebody cut it short"),
    ],
    ids=["removed", "moved", "replaced", "cut short"],
)
@pytest.mark.parametrize("calls", [1, 40], ids=["a quiet run", "a busy one, with room made ahead"])
def test_nothing_is_allowed_once_somebody_meddled_with_the_file(
    tmp_path: pathlib.Path, meddle: Callable[[pathlib.Path], object], said: str, calls: int
) -> None:
    ledger = open_ledger(tmp_path, RUN)
    for number in range(calls):
        ledger.commit(decision(number)).wait(timeout=60)
    meddle(tmp_path / f"{RUN}.jsonl")
    with pytest.raises(LedgerUnwritable, match=said):
        ledger.commit(decision(calls)).wait(timeout=60)
    with pytest.raises(LedgerUnwritable, match=said):
        ledger.close()
