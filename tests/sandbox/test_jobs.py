"""Background jobs with real processes."""

import os
import pathlib
import threading
from collections.abc import Callable, Iterator

import pytest

from signoff.domain.errors import ChildFailed, InvalidArguments, NotEnforceable, ResourceExhausted
from signoff.domain.settings import SandboxMode
from signoff.sandbox import child, jobs
from signoff.sandbox.background import in_sandbox
from signoff.sandbox.jobs import Job, Jobs, Piece, State
from signoff.sandbox.outcome import OnOutput, Request, Strength
from signoff.sandbox.profile import Profile
from signoff.sandbox.session import Session
from tests.clauses import requirement

ENVIRON = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
LIMIT = 120.0


class Plain:
    """A job without a sandbox: a child and a thread that reads it."""

    grace = LIMIT

    def __init__(self, program: child.Child, on_output: OnOutput, on_end: jobs.OnEnd) -> None:
        self.pid = program.pid
        self._program, self._on_output, self._on_end = program, on_output, on_end
        self._stopped = threading.Lock()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self._program.stdout is not None
        while data := os.read(self._program.stdout, 65_536):
            self._on_output(1, data)
        status = self._program.wait(LIMIT)
        self._on_end(-1 if status is None else status if status >= 0 else 128 - status)

    def stop(self) -> None:
        with self._stopped:
            if self._program.ended >= 0:
                self._program.stop(self.grace)
                self._reader.join(LIMIT)
                self._program.close()


@pytest.fixture
def start(tmp_path: pathlib.Path) -> Callable[[Request, OnOutput, jobs.OnEnd], Plain]:
    def plain(request: Request, on_output: OnOutput, on_end: jobs.OnEnd) -> Plain:
        cwd = os.path.join(tmp_path, request.cwd or "")
        program = child.start(request.argv, environ=ENVIRON, cwd=cwd, stdin=child.Stream.NULL, stderr=child.Stream.NULL)
        return Plain(program, on_output, on_end)

    return plain


@pytest.fixture
def running(start: jobs.Starter) -> Iterator[Jobs]:
    with Jobs(start, clock=lambda: 1_700_000_000.0) as opened:
        yield opened


def sh(script: str) -> Request:
    return Request(("sh", "-c", script))


def ended(some: Jobs, name: str) -> Job:
    offset = 0
    while True:
        (job,) = [job for job in some.list() if job.id == name]
        if job.state is not State.RUNNING:
            return job
        offset = some.read(name, offset=offset, wait=LIMIT).next


@requirement("CLU-029")
def test_a_job_is_recorded_with_its_pid_and_how_it_was_started(running: Jobs, tmp_path: pathlib.Path) -> None:
    (tmp_path / "sub").mkdir()
    job = running.start(Request(("sleep", "1000"), cwd="sub"))
    assert job == Job("job-1", job.pid, ("sleep", "1000"), "sub", 1_700_000_000.0, State.RUNNING)
    assert os.path.exists(f"/proc/{job.pid}")
    assert os.readlink(f"/proc/{job.pid}/cwd") == str(tmp_path / "sub")


@requirement("CLU-030")
def test_jobs_are_listed_read_and_stopped(running: Jobs) -> None:
    first = running.start(sh("echo one; exec sleep 1000"))
    second = running.start(sh("echo two; exit 3"))
    assert running.read(first.id, wait=LIMIT) == Piece(b"one\n", 0)
    assert ended(running, second.id).status == 3
    assert [(job.id, job.state) for job in running.list()] == [("job-1", State.RUNNING), ("job-2", State.ENDED)]
    stopped = running.stop(first.id)
    assert (stopped.state, stopped.status, stopped.written) == (State.STOPPED, 128 + 15, 4)
    assert not os.path.exists(f"/proc/{first.pid}")
    assert running.stop(second.id).state is State.ENDED
    assert running.read(second.id) == Piece(b"two\n", 0)


def test_reading_goes_on_where_it_left_off_and_notices_what_it_missed(start: jobs.Starter) -> None:
    with Jobs(start, output_bytes=10) as some:
        job = some.start(sh("printf 0123456789abcdef"))
        ended(some, job.id)
        assert some.read(job.id) == Piece(b"6789abcdef", 6)
        assert some.read(job.id, offset=12) == Piece(b"cdef", 12)
        assert some.read(job.id, offset=16) == Piece(b"", 16)
        assert some.read(job.id, offset=99) == Piece(b"", 16)


def test_reading_waits_only_so_long(running: Jobs) -> None:
    job = running.start(sh("exec sleep 1000"))
    assert running.read(job.id, wait=0.02) == Piece(b"", 0)


def test_leaving_stops_every_job_and_all_it_started(start: jobs.Starter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Plain, "grace", 0.05)
    with Jobs(start) as some:
        job = some.start(sh("trap '' TERM; (setsid sh -c 'echo $$; exec sleep 1000' &); sleep 1000; sleep 1000"))
        grandchild = int(some.read(job.id, wait=LIMIT).data)
        assert os.path.exists(f"/proc/{grandchild}")
    assert not os.path.exists(f"/proc/{job.pid}")
    assert not _alive(grandchild)
    assert some.list()[0].state is State.STOPPED


def test_a_job_that_cannot_start_is_not_recorded(running: Jobs) -> None:
    with pytest.raises(ChildFailed):
        running.start(Request(("no-such-program",)))
    assert running.list() == []
    with pytest.raises(InvalidArguments, match="no job job-1"):
        running.stop("job-1")


def test_the_number_of_jobs_is_bounded(running: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "MOST_JOBS", 2)
    names = [running.start(sh("exec sleep 1000")).id for _ in range(2)]
    with pytest.raises(ResourceExhausted, match="2 jobs run already"):
        running.start(sh("exec sleep 1000"))
    running.stop(names[0])
    running.start(sh("exec sleep 1000"))


def _alive(pid: int) -> bool:
    """A killed orphan may wait a moment for the machine's first process to collect it."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.fixture
def sandboxed(tmp_path: pathlib.Path) -> Iterator[Jobs]:
    workspace = tmp_path / "ws"
    workspace.mkdir()
    environ = {**ENVIRON, "HOME": str(tmp_path / "home")}
    with Jobs(in_sandbox(lambda: Session(Profile(os.path.realpath(workspace)), environ))) as opened:
        yield opened


@requirement("CLU-029", "CLU-030")
def test_a_sandboxed_job_is_read_while_it_runs_and_stopped_with_everything(
    sandboxed: Jobs, tmp_path: pathlib.Path
) -> None:
    script = (
        "pwd; (setsid sh -c 'while :; do date +%N > beat; sleep 0.02; done' &); trap '' TERM; sleep 1000; sleep 1000"
    )
    job = sandboxed.start(sh(script))
    assert os.path.exists(f"/proc/{job.pid}")
    assert sandboxed.read(job.id, wait=LIMIT).data == f"{tmp_path}/ws\n".encode()
    beat = tmp_path / "ws" / "beat"
    while not beat.exists():
        assert sandboxed.read(job.id, offset=10_000, wait=0.01) is not None
    stopped = sandboxed.stop(job.id)
    assert stopped.state is State.STOPPED
    assert not os.path.exists(f"/proc/{job.pid}")
    last = beat.read_bytes()
    sandboxed.start(sh("sleep 0.1"))
    assert ended(sandboxed, "job-2").status == 0
    assert beat.read_bytes() == last


def test_a_sandboxed_job_that_cannot_be_started_says_so_in_its_output(sandboxed: Jobs) -> None:
    job = sandboxed.start(Request(("no-such-program",)))
    assert ended(sandboxed, job.id).status == 20
    assert b"cannot be started" in sandboxed.read(job.id).data


def test_a_sandbox_that_is_not_possible_is_an_error_and_no_job(tmp_path: pathlib.Path) -> None:
    def impossible() -> Session:
        return Session(Profile(str(tmp_path), mode=SandboxMode.DANGER_FULL_ACCESS), ENVIRON, require=Strength.FULL)

    with Jobs(in_sandbox(impossible)) as some:
        with pytest.raises(NotEnforceable):
            some.start(sh("true"))
        assert some.list() == []


def test_who_waits_for_a_jobs_end_is_told_once_whenever_they_ask(running: Jobs) -> None:
    job = running.start(Request(("sh", "-c", "read line || exit 3")))
    told: list[int | None] = []
    over = threading.Event()
    running.when_over(job.id, lambda ended: (told.append(ended.status), over.set()))
    assert over.wait(60)
    running.when_over(job.id, lambda ended: told.append(ended.status))
    assert told == [3, 3]
