"""What the hash chain costs: appending the same records with it and without, no syncing in either."""

import os
import tempfile

from benchmarks.figure import Figure, at_most, medians
from benchmarks.ledger_commit import RECORD
from signoff.ledger.canonical import encode
from signoff.ledger.chain import Chain
from signoff.ledger.log import stamp
from signoff.ledger.place import new_run_id

RECORDS = 20_000
BATCH = 64  # lines handed to the system at once, in both arms
REFERENCE = "the same lines without prev and hash"


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "log")
        seconds = medians({"chained": lambda: chained(path), REFERENCE: lambda: unchained(path)}, rounds=7)
    return [at_most("hash chain", seconds["chained"] / seconds[REFERENCE], 2, reference=REFERENCE)]


def chained(path: str) -> None:
    chain = Chain(new_run_id())
    append(path, (chain.link(encode(RECORD), *stamp()) for _ in range(RECORDS)))


def unchained(path: str) -> None:
    run_id = new_run_id().encode()

    def line(seq: int) -> bytes:
        ts, since = stamp()
        return b'{"run_id":"%b","seq":%d,"since_ns":%d,"ts":"%b","what":%b}\n' % (
            run_id,
            seq,
            since,
            ts.encode(),
            encode(RECORD),
        )

    append(path, map(line, range(RECORDS)))


def append(path: str, lines: object) -> None:
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        batch: list[bytes] = []
        for line in lines:  # type: ignore[attr-defined]
            batch.append(line)
            if len(batch) == BATCH:
                os.write(file, b"".join(batch))
                batch.clear()
        os.write(file, b"".join(batch))
    finally:
        os.close(file)
