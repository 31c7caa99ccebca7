"""Starting a process, as every tool that does so sees it: the key of its approval, and what came of it."""

import codecs
import os
from typing import Any

import msgspec

from signoff.domain.call import Artifacts, Failure
from signoff.domain.errors import ResourceExhausted, SandboxDenied, ToolTimeout
from signoff.domain.intent import Escalation
from signoff.sandbox.outcome import Cause, Denial, OnOutput, Outcome
from signoff.tools.plain_output import plain
from signoff.tools.tool import Attempt, Done, Place


class CommandKey(msgspec.Struct, frozen=True):
    """What a yes for the session covers: this command, here, with these permissions."""

    command: tuple[str, ...]
    cwd: str
    sandbox_permissions: Escalation


class TerminalKey(msgspec.Struct, frozen=True):
    """The same for a command on a terminal."""

    command: tuple[str, ...]
    cwd: str
    tty: bool
    sandbox_permissions: Escalation


class CommandResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """`exit_code` is None, and `job_id` and `pid` are there, for a command that goes on in the background."""

    exit_code: int | None
    stdout: str
    stderr: str
    truncated: bool
    backend: str | None
    job_id: str | None = None
    pid: int | None = None


def directory(cwd: str | None, place: Place) -> str:
    """Where a command starts: relative to the workspace."""
    return os.path.normpath(os.path.join(place.workspace, cwd or ""))


def relay(attempt: Attempt) -> OnOutput:
    """Pass output on as text while the command runs; a character cut in two waits for its other half."""
    decoders = {stream: codecs.getincrementaldecoder("utf-8")("replace") for stream in (1, 2)}
    names = {1: "stdout", 2: "stderr"}

    def pass_on(stream: int, data: bytes) -> None:
        text = decoders[stream].decode(data)
        if text:
            attempt.progress(names[stream], text)

    return pass_on


def done(command: str, outcome: Outcome) -> Done:
    return Done(
        payload=_payload(outcome),
        failure=_failure(outcome),
        artifacts=Artifacts(commands_run=(command,), exit_status=outcome.status),
        display=outcome.stdout.text() + outcome.stderr.text(),
    )


def _payload(outcome: Outcome) -> dict[str, Any]:
    """For the model: what a terminal would have left on the screen."""
    result = CommandResult(
        exit_code=outcome.status,
        stdout=plain(outcome.stdout.text()),
        stderr=plain(outcome.stderr.text()),
        truncated=outcome.stdout.truncated or outcome.stderr.truncated,
        backend=str(outcome.backend),
    )
    payload: dict[str, Any] = msgspec.to_builtins(result)
    return payload


def _failure(outcome: Outcome) -> Failure | None:
    """A command that ends with a status of its own has run: that is a result, not a failure."""
    if outcome.timed_out:
        return Failure(ToolTimeout.code, f"stopped after {outcome.duration_ms / 1_000:.1f} s")
    if outcome.exhausted is not None:
        return Failure(ResourceExhausted.code, f"the limit of {outcome.exhausted} was reached")
    if outcome.denial is not None:
        return Failure(
            SandboxDenied.code, _denial_text(outcome.denial), {"denial": msgspec.to_builtins(outcome.denial)}
        )
    return None


_DOING = {  # what it was kept from, and the same where it is known of what
    Cause.READ: ("reading a file", "reading {}"),
    Cause.WRITE: ("writing a file", "writing {}"),
    Cause.PROTECTED: ("changing what is protected", "changing {}, which is protected"),
    Cause.NETWORK: ("connecting", "connecting to {}"),
    Cause.SYSCALL: ("a system call", "the system call {}"),
    Cause.MEMORY: ("more memory", "{}"),
    Cause.PROCESSES: ("more processes", "{}"),
    Cause.FILE_SIZE: ("a larger file", "{}"),
}


def _denial_text(denial: Denial) -> str:
    bare, known = _DOING[denial.cause]
    what = f"the sandbox kept it from {known.format(denial.target) if denial.target else bare}"
    return f"{what}; it would need: {denial.permission}" if denial.permission else what
