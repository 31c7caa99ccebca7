"""Durable records a second: 32 calls at once that each wait for their record, as in the gate, against writing and syncing the same lines one by
one, which is what a log without a committer does."""

import asyncio
import os
import pathlib
import tempfile

from benchmarks.figure import Figure, at_least, medians
from signoff.domain.intent import Action
from signoff.domain.settings import Redact
from signoff.ledger.durable import durable
from signoff.ledger.log import Ledger
from signoff.ledger.place import new_run_id
from signoff.ledger.records import DecidedBy, Decision, Genesis, Outcome

WAITERS = 32
RECORDS = 6_400  # in all
REFERENCE = "write + fdatasync, one line at a time"
RECORD = Decision(
    tool_call_id="call_7Vn0pXk2",
    name="shell",
    action=Action.EXEC,
    decision=Outcome.ALLOW,
    decided_by=DecidedBy.POLICY,
    rule_id="allow.tests",
    trace_id="0af7651916cd43dd8448eb211c80319c",
    verdict="allow",
    matches=({"rule_id": "allow.tests", "decision": "allow", "source": "default.rules:7"},),
)


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:  # a real disk, not a tmpfs
        lines = written(directory)
        arms = {"together": lambda: together(directory), REFERENCE: lambda: one_by_one(directory, lines)}
        seconds = medians(arms, rounds=5)
    return [at_least("group commit, 32 waiters", seconds[REFERENCE] / seconds["together"], 5, reference=REFERENCE)]


def fresh(directory: str) -> Ledger:
    genesis = Genesis(command=("bench",), workspace="/w", project_id="p", signoff="0", redact=Redact.BASIC)
    return Ledger.create(directory, new_run_id(), genesis, key=bytes(32))


def together(directory: str) -> Ledger:
    ledger = fresh(directory)

    async def caller() -> None:
        for _ in range(RECORDS // WAITERS):
            await durable(ledger.submit(RECORD))

    async def callers() -> None:
        await asyncio.gather(*(caller() for _ in range(WAITERS)))

    asyncio.run(callers())
    ledger.close()
    return ledger


def written(directory: str) -> list[bytes]:
    ledger = together(directory)
    return (pathlib.Path(directory) / f"{ledger.run_id}.jsonl").read_bytes().splitlines(keepends=True)


def one_by_one(directory: str, lines: list[bytes]) -> None:
    file = os.open(os.path.join(directory, "plain"), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        for line in lines:
            os.write(file, line)
            os.fdatasync(file)
    finally:
        os.close(file)
