"""What is asked of the sandbox and what came of it."""

import enum
from collections.abc import Callable

import msgspec

OnOutput = Callable[[int, bytes], object]  # 1 or 2 for the stream, what was written


class Backend(enum.StrEnum):
    """How a command was confined, strongest first."""

    NAMESPACES = "namespaces"
    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"
    NONE = "none"


class Strength(enum.IntEnum):
    """What the backend is worth: `full` stops every known probe, `partial` leaves named gaps, `none` stops nothing."""

    NONE = 0
    PARTIAL = 1
    FULL = 2


STRENGTH = {
    Backend.NAMESPACES: Strength.FULL,
    Backend.BUBBLEWRAP: Strength.FULL,
    Backend.LANDLOCK: Strength.PARTIAL,
    Backend.NONE: Strength.NONE,
}


class Request(msgspec.Struct, frozen=True):
    """One command. `stdin` is bytes to feed, a descriptor to relay from, or nothing (/dev/null)."""

    argv: tuple[str, ...]
    cwd: str | None = None  # None: the workspace
    stdin: bytes | int | None = None
    timeout_ms: int | None = None  # None: the profile's
    max_output_bytes: int | None = None


class Cause(enum.StrEnum):
    READ = "read"
    WRITE = "write"
    PROTECTED = "protected"
    NETWORK = "network"
    SYSCALL = "syscall"
    MEMORY = "memory"
    PROCESSES = "processes"
    FILE_SIZE = "file-size"


class Denial(msgspec.Struct, frozen=True):
    """The sandbox stopped the command: at what, and the smallest permission that would have let it pass."""

    cause: Cause
    target: str | None  # the path, host or call, where it is known
    permission: str | None  # e.g. "writable root /srv/data", "network example.org:443"
    certain: bool  # False: concluded from what the program printed


class Output(msgspec.Struct, frozen=True):
    """One stream: the last bytes, and how many were dropped before them."""

    data: bytes = b""
    omitted: int = 0

    @property
    def truncated(self) -> bool:
        return self.omitted > 0

    def text(self) -> str:
        note = f"[{self.omitted} bytes omitted]\n" if self.omitted else ""
        return note + self.data.decode("utf-8", "replace")


class Outcome(msgspec.Struct, frozen=True):
    exit_code: int | None  # None: ended by a signal
    signal: int | None
    timed_out: bool
    stdout: Output
    stderr: Output
    backend: Backend
    duration_ms: float
    leftovers: int = 0  # processes still alive when the command ended, all killed
    denial: Denial | None = None
    exhausted: str | None = None  # the limit that ended the command: "memory"

    @property
    def strength(self) -> Strength:
        return STRENGTH[self.backend]

    @property
    def status(self) -> int:
        """As a shell would say it: 124 for the time limit, 128+N for signal N."""
        if self.timed_out:
            return 124
        return 128 + self.signal if self.signal is not None else self.exit_code or 0


class Allowance(msgspec.Struct, frozen=True):
    """What one attempt may touch beyond the profile of the run."""

    outside: bool = False
    git_write: bool = False
    writable: tuple[str, ...] = ()
    unmasked: tuple[str, ...] = ()
