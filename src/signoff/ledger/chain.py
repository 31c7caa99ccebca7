"""Tie records together: each line carries the hash of the one before, so that none can change without the rest.

The chain finds an edit, an insertion, a deletion in the middle and a change of order. It does not find the loss of the
tail, nor a file rewritten as a whole: for that the head is kept elsewhere (`anchor.py`).
"""

import hashlib

from signoff.ledger.records import NO_HASH


class Chain:
    """Where the next record goes. `seq` is its number, `head` the hash of the last line."""

    __slots__ = ("_run_id", "head", "seq")

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self.head = NO_HASH
        self.seq = 0

    def link(self, record: bytes, ts: str, since_ns: int) -> bytes:
        """The line for a record given in canonical JSON. Members are in canonical order, so the line is canonical too."""
        start = (
            f'"prev":"{self.head}","run_id":"{self._run_id}","seq":{self.seq},"since_ns":{since_ns},"ts":"{ts}","what":'
        )
        rest = start.encode() + record + b"}"
        self.head = hashlib.sha256(b"{" + rest).hexdigest()
        self.seq += 1
        return f'{{"hash":"{self.head}",'.encode() + rest + b"\n"
