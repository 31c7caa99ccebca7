"""Heads kept where the writer of the ledger cannot rewrite them, and who vouches for them.

A hash chain does not show that its tail was cut off or that the whole file was written anew. A head does: the number of
records and the hash of the last one, kept in another file, on another machine, or signed. Heads are JSON lines.
"""

import datetime
import os
from collections.abc import Iterator

import msgspec

from signoff.domain.errors import ConfigError, ConfigUnreadable, LedgerMissing
from signoff.domain.unreadable import UNREADABLE
from signoff.files import regular
from signoff.ledger.canonical import canonical

LARGEST_BYTES = 256 << 20
CONTEXT = b"signoff ledger head\n"  # so that a signature made for something else is worth nothing here


class Head(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """`count` records of a run, the last with the hash `head`. The signature is Ed25519 over the other members."""

    count: int
    head: str
    run_id: str
    ts: str
    public_key: str = ""
    signature: str = ""

    @property
    def statement(self) -> bytes:
        said = {"count": self.count, "head": self.head, "run_id": self.run_id, "ts": self.ts}
        return CONTEXT + canonical(said)


def head_of(run_id: str, count: int, head: str) -> Head:
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return Head(count=count, head=head, run_id=run_id, ts=now)


def keep(path: str, head: Head) -> None:
    """Append a head to a file of heads."""
    try:
        file = regular.opener(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            os.write(file, canonical(msgspec.to_builtins(head)) + b"\n")
            os.fsync(file)
        finally:
            os.close(file)
    except OSError as error:
        raise ConfigUnreadable(f"cannot keep the head in {path}: {error.strerror}") from error


def kept(path: str, run_id: str) -> list[Head]:
    """The heads of one run in a file of heads; LedgerMissing if there is none, since then nothing is proved."""
    try:
        heads = [head for head in _decoded(path, regular.content(path, LARGEST_BYTES)) if head.run_id == run_id]
    except FileNotFoundError as error:
        raise LedgerMissing(f"there is no {path}, so nothing vouches for the end of this ledger") from error
    except OSError as error:
        raise ConfigUnreadable(f"cannot read {path}: {error.strerror}") from error
    if not heads:
        raise LedgerMissing(f"{path} holds no head of run {run_id}, so nothing vouches for its end")
    return heads


def _decoded(path: str, data: bytes) -> Iterator[Head]:
    for number, line in enumerate(data.splitlines(), 1):
        try:
            yield msgspec.json.decode(line, type=Head)
        except UNREADABLE as error:
            raise ConfigError(f"{path}:{number} is not a kept head: {error}") from error
