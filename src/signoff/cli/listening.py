"""The ports of our servers, and who listens at one, as far as the kernel lets us see."""

import contextlib
import os
from pathlib import Path
from typing import NamedTuple

PORTS = {"acp serve": 8900, "memory serve": 8765}  # unless --listen says otherwise
_LISTENS = "0A"


class Holder(NamedTuple):
    pid: int | None  # None: a process of somebody else
    command: str = ""

    def __str__(self) -> str:
        return "a process that cannot be seen from here" if self.pid is None else f"process {self.pid} ({self.command})"

    @property
    def is_ours(self) -> bool:
        return any(os.path.basename(word) == "signoff" for word in self.command.split())


def holder(port: int, proc: Path = Path("/proc")) -> Holder | None:
    """Who listens there, at whatever address of this machine; None: nobody."""
    sockets = {f"socket:[{inode}]" for inode in _inodes(port, proc)}
    if not sockets:
        return None
    for process in proc.glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it is not ours, or it went away meanwhile
            if any(os.readlink(process / "fd" / name) in sockets for name in os.listdir(process / "fd")):
                words = (process / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
                return Holder(int(process.name), os.fsdecode(b" ".join(words))[:200])
    return Holder(None)


def _inodes(port: int, proc: Path) -> set[str]:
    """Of the sockets that listen. A line has: number, ADDRESS:PORT, remote, state, …, inode as the tenth."""
    found = set()
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            rows = [line.split() for line in (proc / "net" / table).read_text(encoding="ascii").splitlines()[1:]]
            found |= {row[9] for row in rows if row[3] == _LISTENS and int(row[1].rpartition(":")[2], 16) == port}
    return found


def why_not(host: str, port: int, error: OSError) -> tuple[str, str | None]:
    """What to say, and what to do, when a server cannot listen."""
    found = holder(port)
    hint = None if found is None else f"It is held by {found}: end that, or choose another --listen."
    return f"cannot listen at {host}:{port}: {os.strerror(error.errno) if error.errno else error}", hint
