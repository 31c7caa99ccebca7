"""Where ledgers live and how they are opened: private directory, private file, no links followed."""

import fcntl
import os
import stat
import time

from signoff.domain.errors import LedgerUnwritable, UsageError
from signoff.domain.late import late_pattern

RUN_ID = late_pattern(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
SUFFIX = ".jsonl"
KEY_BYTES = 32
_ANEW = "Move ledger.key away; a new one is made at the next run."

StrPath = str | os.PathLike[str]


def new_run_id() -> str:
    """A UUIDv7: unique, and in the order of time when sorted by name."""
    milliseconds = time.time_ns() // 1_000_000
    number = milliseconds << 80 | 0x7 << 76 | _random_bits(12) << 64 | 0b10 << 62 | _random_bits(62)
    digits = f"{number:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _random_bits(count: int) -> int:
    return int.from_bytes(os.urandom(8)) >> (64 - count)


def open_new(directory: StrPath, run_id: str) -> tuple[int, int]:
    """Descriptors of a fresh ledger file and of its directory. The file is locked, so that readers see it is in use."""
    if not RUN_ID.fullmatch(run_id):
        raise UsageError(f"{run_id!r} is not a run id")
    try:
        folder = _private_directory(directory)
    except OSError as error:
        raise LedgerUnwritable(f"cannot keep ledgers in {directory}: {error.strerror}") from error
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(run_id + SUFFIX, flags, 0o600, dir_fd=folder)
    except OSError as error:
        os.close(folder)
        raise LedgerUnwritable(f"cannot create the ledger {run_id} in {directory}: {error.strerror}") from error
    fcntl.flock(file, fcntl.LOCK_EX)  # a reader who looks whether it is locked may hold it for a moment
    return file, folder


def _private_directory(path: StrPath) -> int:
    os.makedirs(path, mode=0o700, exist_ok=True)
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    found = os.fstat(folder)
    if found.st_uid != os.geteuid():
        os.close(folder)
        raise LedgerUnwritable(f"{path} belongs to somebody else")
    if stat.S_IMODE(found.st_mode) != 0o700:
        os.fchmod(folder, 0o700)
    return folder


def load_key(directory: StrPath) -> bytes:
    """The key of this user's argument digests, made on first use. It never enters a ledger."""
    try:
        folder = _private_directory(directory)
    except OSError as error:
        raise LedgerUnwritable(f"cannot keep the ledger key in {directory}: {error.strerror}") from error
    try:
        return _read_key(folder)
    except FileNotFoundError:
        _make_key(folder)
        return _read_key(folder)
    except OSError as error:
        raise LedgerUnwritable(f"cannot read {directory}/ledger.key: {error.strerror}") from error
    finally:
        os.close(folder)


def _read_key(folder: int) -> bytes:
    file = os.open("ledger.key", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=folder)
    try:
        found = os.fstat(file)
        if found.st_uid != os.geteuid():
            raise LedgerUnwritable("the ledger key belongs to somebody else", hint=_ANEW)
        if stat.S_IMODE(found.st_mode) & 0o077:
            os.fchmod(file, 0o600)
        key = os.read(file, KEY_BYTES + 1) if stat.S_ISREG(found.st_mode) else b""
    finally:
        os.close(file)
    if len(key) != KEY_BYTES:
        raise LedgerUnwritable("the ledger key is damaged", hint=_ANEW)
    return key


def _make_key(folder: int) -> None:
    name = f"ledger.key.{os.urandom(8).hex()}"
    file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
    try:
        os.write(file, os.urandom(KEY_BYTES))
        os.fsync(file)
        os.link(name, "ledger.key", src_dir_fd=folder, dst_dir_fd=folder)  # whole or not at all, and the first one wins
    except FileExistsError:
        pass
    except OSError as error:
        raise LedgerUnwritable(f"cannot make the ledger key: {error.strerror}") from error
    finally:
        os.close(file)
        os.unlink(name, dir_fd=folder)
