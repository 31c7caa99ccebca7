"""list_jobs, read_job_output, stop_job: commands that go on in the background of this run."""

import shlex
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from signoff.domain.intent import Action, Intent
from signoff.domain.late import late
from signoff.sandbox.jobs import Job, Jobs
from signoff.tools.plain_output import plain
from signoff.tools.tool import Attempt, Done, Place, Tool

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = late("asyncio")

LONGEST_WAIT_MS = 60_000


class NoArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class JobArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    job_id: str


class OutputArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    job_id: str
    offset: Annotated[int, msgspec.Meta(ge=0)] = 0  # bytes
    wait_ms: Annotated[int, msgspec.Meta(ge=0, le=LONGEST_WAIT_MS)] = 0  # for there to be something, or for the end


class JobState(msgspec.Struct, frozen=True):
    """`exit_code` is None as long as it runs."""

    job_id: str
    pid: int
    command: str
    cwd: str | None
    started_at: float
    state: str
    exit_code: int | None
    written: int


class JobList(msgspec.Struct, frozen=True):
    jobs: tuple[JobState, ...]


class JobOutput(msgspec.Struct, frozen=True):
    """`missed`: bytes after `offset` that are no longer kept."""

    output: str
    next_offset: int
    missed: int
    job: JobState


def state_of(job: Job) -> JobState:
    command = job.argv[-1] if job.argv[-3:-1] == ("bash", "-c") else shlex.join(job.argv)
    return JobState(job.id, job.pid, command, job.cwd, job.started_at, job.state.value, job.status, job.written)


class ListJobs(Tool[NoArguments]):
    name = "list_jobs"
    version = "1.0.0"
    description = "List the background commands of this run: id, pid, command, state and exit code."
    arguments = NoArguments
    returns = JobList

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    def intent(self, arguments: NoArguments, place: Place) -> Intent:
        return Intent(self.name, Action.READ)

    async def run(self, arguments: NoArguments, attempt: Attempt) -> Done:
        found = tuple(map(state_of, self._jobs.list()))
        shown = "\n".join(f"{job.job_id}  {job.state}  {job.command}" for job in found)
        return Done(payload=msgspec.to_builtins(JobList(found)), display=shown)


class ReadJobOutput(Tool[OutputArguments]):
    name = "read_job_output"
    version = "1.0.0"
    description = "Read what a background command wrote from byte `offset` on, waiting up to wait_ms for something new."
    arguments = OutputArguments
    returns = JobOutput

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    def intent(self, arguments: OutputArguments, place: Place) -> Intent:
        return Intent(self.name, Action.READ)

    async def run(self, arguments: OutputArguments, attempt: Attempt) -> Done:
        wait = arguments.wait_ms / 1_000
        piece = await asyncio.to_thread(self._jobs.read, arguments.job_id, offset=arguments.offset, wait=wait)
        text = piece.data.decode("utf-8", "replace")
        job = next(job for job in self._jobs.list() if job.id == arguments.job_id)
        missed = max(0, piece.start - arguments.offset)
        output = JobOutput(plain(text), piece.next, missed, state_of(job))
        return Done(payload=msgspec.to_builtins(output), display=text)


class StopJob(Tool[JobArguments]):
    name = "stop_job"
    version = "1.0.0"
    description = "Stop a background command of this run and everything it started."
    side_effects = ("ends processes of this run",)
    arguments = JobArguments
    returns = JobState

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    def intent(self, arguments: JobArguments, place: Place) -> Intent:
        return Intent(self.name, Action.EXEC)

    async def run(self, arguments: JobArguments, attempt: Attempt) -> Done:
        job = await asyncio.to_thread(self._jobs.stop, arguments.job_id)
        return Done(payload=msgspec.to_builtins(state_of(job)), display=f"{job.id} is {job.state}")


def job_tools(jobs: Jobs) -> tuple[Tool[Any], ...]:
    return (ListJobs(jobs), ReadJobOutput(jobs), StopJob(jobs))
