"""What a check of `signoff doctor` may look at, and what it gives back."""

import enum
import os
from collections.abc import Mapping
from pathlib import Path

import msgspec


class Status(enum.StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Finding(msgspec.Struct, frozen=True):
    """`code` is stable and names what is wrong; None where nothing is."""

    status: Status
    summary: str
    detail: str | None = None
    fix: str | None = None
    code: str | None = None


class Surroundings(msgspec.Struct, frozen=True):
    """What the checks may look at; a test gives another root, another environment, another system."""

    environ: Mapping[str, str]
    directory: Path
    flags: Mapping[str, str] = {}
    root: Path = Path("/")
    system: str = os.uname().sysname
    release: str = os.uname().release
    machine: str = os.uname().machine

    def read(self, path: str) -> str | None:
        try:
            return (self.root / path).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            return None


def ok(summary: str, detail: str | None = None) -> Finding:
    return Finding(Status.OK, summary, detail)


def warn(code: str, summary: str, detail: str | None = None, fix: str | None = None) -> Finding:
    """Something is weaker than it could be, or lies about; signoff works."""
    return Finding(Status.WARN, summary, detail, fix, code)


def fail(code: str, summary: str, detail: str | None = None, fix: str | None = None) -> Finding:
    """Something that signoff promises does not hold here, or it refuses to work."""
    return Finding(Status.FAIL, summary, detail, fix, code)
