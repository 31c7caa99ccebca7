"""How fast a ledger is checked, against only reading and hashing the same bytes.

The ledger is that of an ordinary session: for each call a request, a decision and a result, with arguments of the sizes
that commands, reads and edits have.
"""

import hashlib
import pathlib
import tempfile

from benchmarks.figure import Figure, at_least, medians
from benchmarks.ledger_commit import RECORD
from signoff.domain.intent import Action
from signoff.ledger.canonical import encode
from signoff.ledger.chain import Chain
from signoff.ledger.log import stamp
from signoff.ledger.place import new_run_id
from signoff.ledger.records import Close, Effects, Record, Request, Result
from signoff.ledger.verify import verify

CALLS = 8_000
CHUNK = 1024 * 1024
REFERENCE = "reading and hashing the bare file"
ARGUMENTS = (
    {"command": ["bash", "-lc", "pytest -q tests/shop --maxfail=1"], "cwd": "/home/ann/shop", "timeout_ms": 300_000},
    {"path": "/home/ann/shop/src/shop/basket.py", "offset": 0, "limit": 2_000},
    {"path": "/home/ann/shop/src/shop/basket.py", "content": "def total(basket):\n    return sum(basket)\n" * 40},
)


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory, "run.jsonl")
        path.write_bytes(session())
        seconds = medians({"verify": lambda: check(path), REFERENCE: lambda: bare(path)}, rounds=7)
    return [at_least("audit verify", seconds[REFERENCE] / seconds["verify"], 0.2, reference=REFERENCE)]


def session() -> bytes:
    chain = Chain(new_run_id())
    lines = [chain.link(encode(record), *stamp()) for call in range(CALLS) for record in records(call)]
    lines.append(chain.link(encode(Close(exit_code=0, count=chain.seq, head=chain.head)), *stamp()))
    return b"".join(lines)


def records(call: int) -> tuple[Record, ...]:
    name, args, digest = f"call_{call:08x}", ARGUMENTS[call % len(ARGUMENTS)], hashlib.sha256(b"%d" % call).hexdigest()
    return (
        Request(
            name,
            "shell",
            Action.EXEC,
            args,
            trace_id=RECORD.trace_id,
            version="1.0.0",
            source="agent",
            args_hmac=digest,
        ),
        RECORD,
        Result(
            name, RECORD.trace_id, "shell", "1.0.0", args, True, 12, artifacts=Effects(("src/a.py",)), args_hmac=digest
        ),
    )


def check(path: pathlib.Path) -> None:
    with path.open("rb", buffering=1 << 16) as file:
        assert verify(file).finding is None


def bare(path: pathlib.Path) -> None:
    digest = hashlib.sha256()
    with path.open("rb", buffering=1 << 16) as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
