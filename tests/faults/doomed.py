"""A run that is going to be killed: three calls through a real gate, each leaving a mark when it takes effect.

python -m tests.faults.doomed DIRECTORY each: dies by SIGKILL at operation 1, 2, 3 … on the ledger's disk or on the world,
each time in a process of its own, until one comes through.
python -m tests.faults.doomed DIRECTORY pending: says "pending" when a question waits for an answer that never comes.
"""

import asyncio
import itertools
import os
import pathlib
import signal
import sys

from signoff.approvals.request import ReviewRequest
from signoff.domain.review import Approved, ReviewDecision
from signoff.domain.settings import ApprovalPolicy
from signoff.ledger.paper import Disk
from tests.gate.scene import Scene

COMMANDS = ("ls", "make one", "make two")


class Fate:
    """Counts operations and strikes at the chosen one."""

    def __init__(self, operation: int) -> None:
        self.left = operation

    def tick(self) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


class FatedDisk(Disk):
    """Notes in a file of its own how much is safe, as a power cut would show."""

    def __init__(self, fate: Fate, note: int) -> None:
        self.fate = fate
        self.note = note
        self.written = 0
        self.torn = False

    def write(self, descriptor: int, data: bytes, at: int) -> int:
        self.torn = not self.torn
        count = super().write(descriptor, data[: len(data) // 2 or 1] if self.torn else data, at)
        self.written = self.written if data.isspace() else at + count  # room made ahead says nothing
        self.fate.tick()
        return count

    def sync(self, descriptor: int) -> None:
        self.fate.tick()
        super().sync(descriptor)
        os.pwrite(self.note, b"%12d" % self.written, 0)
        self.fate.tick()


class Person:
    name, is_person = "person", True

    async def review(self, request: ReviewRequest) -> ReviewDecision:
        if sys.argv[2] == "pending":
            print("pending", flush=True)
            await asyncio.Event().wait()
        return Approved()


def run(directory: pathlib.Path, operation: int) -> None:
    fate = Fate(operation)
    directory.mkdir(exist_ok=True)
    note = os.open(directory / "durable", os.O_CREAT | os.O_RDWR)
    effects = os.open(directory / "effects", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    scene = Scene(directory / "runs", approval=ApprovalPolicy.UNTRUSTED, reviewer=Person(), disk=FatedDisk(fate, note))

    def mark() -> None:
        durable = int(os.pread(note, 12, 0) or 0)
        fate.tick()
        os.write(effects, b"%s %d\n" % (scene.current.encode(), durable))
        fate.tick()

    scene.sandboxes.before = mark
    for command in COMMANDS:
        scene.run(command)
    scene.ledger.close()


def each(directory: pathlib.Path) -> None:
    for operation in itertools.count(1):
        child = os.fork()
        if child == 0:
            run(directory / str(operation), operation)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if os.waitstatus_to_exitcode(status) != -signal.SIGKILL:
            print(operation, os.waitstatus_to_exitcode(status), flush=True)
            return


if __name__ == "__main__":
    if sys.argv[2] == "each":
        each(pathlib.Path(sys.argv[1]))
    else:
        run(pathlib.Path(sys.argv[1]), 0)
