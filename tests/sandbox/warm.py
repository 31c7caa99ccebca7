"""Runs commands in one session, for tests that must be another user: a task on stdin, one JSON line per command."""

import json
import os
import sys

import msgspec

from signoff.domain.errors import SignoffError
from signoff.domain.settings import Network, Reads, SandboxMode
from signoff.sandbox.outcome import Backend, Request
from signoff.sandbox.plan import ALL_LAYERS, Layer
from signoff.sandbox.profile import Limits, Profile
from signoff.sandbox.session import Session


class Wishes(msgspec.Struct, forbid_unknown_fields=True):
    mode: SandboxMode = SandboxMode.WORKSPACE_WRITE
    network: Network = Network.OFF
    reads: Reads = Reads.LIMITED
    git_write: bool = False
    timeout_ms: int = 20_000
    without: list[Layer] = []
    only: Backend | None = None


class Task(msgspec.Struct, forbid_unknown_fields=True):
    workspace: str
    commands: list[list[str]]
    profile: Wishes


def main() -> None:
    task = msgspec.json.decode(sys.stdin.buffer.read(), type=Task)
    wishes = task.profile
    profile = Profile(
        workspace=task.workspace,
        mode=wishes.mode,
        network=wishes.network,
        reads=wishes.reads,
        git_write=wishes.git_write,
        limits=Limits(timeout_ms=wishes.timeout_ms, grace_ms=300),
    )
    layers = ALL_LAYERS - set(wishes.without)
    with Session(profile, os.environ, only=wishes.only, layers=layers) as session:
        for command in task.commands:
            try:
                outcome = session.run(Request(tuple(command)))
                answer = {
                    "status": outcome.status,
                    "stdout": outcome.stdout.text(),
                    "stderr": outcome.stderr.text(),
                    "timed_out": outcome.timed_out,
                    "leftovers": outcome.leftovers,
                    "exhausted": outcome.exhausted,
                    "backend": outcome.backend,
                }
            except SignoffError as error:
                answer = {"status": int(error.exit), "stdout": "", "stderr": error.message, "error": error.code}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
