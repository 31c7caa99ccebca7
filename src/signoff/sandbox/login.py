"""The environment of a login shell, taken once: running the person's profile for every command costs a hundred times more.

The shell is the person's own and so is the profile it reads; nothing of a project is run. What it prints is noise, what
it exports is filtered like everything else, and if it fails, hangs or floods, the environment we have serves and a note
says so.
"""

import os
import pwd
import select
import time
from collections.abc import Callable, Mapping

import msgspec

from signoff.domain.errors import ChildFailed
from signoff.sandbox import child
from signoff.sandbox.environment import DEFAULT_PATH, inheritable

SECONDS = 5.0
_LIMIT = 1 << 20
_MARK = b"\0signoff environment\0"
_SCRIPT = "printf '\\0signoff environment\\0'; exec env -0"
_KNOWN = frozenset(("sh", "bash", "dash", "zsh", "ksh", "fish"))  # `-l -c` and `exec` mean the same in these
_NONE = frozenset(("nologin", "false"))  # of accounts that nobody logs in with: there is nothing to read


class Snapshot(msgspec.Struct, frozen=True):
    environ: dict[str, str]
    note: str | None = None  # why it is not what a login shell would give


def snapshot(environ: Mapping[str, str], *, seconds: float = SECONDS) -> Snapshot:
    """What we have ourselves, as far as a command may inherit it, and what a login shell exports beside it."""
    own = {name: value for name, value in environ.items() if inheritable(name)}
    shell = environ.get("SHELL") or _shell_of_user()
    if os.path.basename(shell) in _NONE:
        return Snapshot(own)
    if os.path.basename(shell) not in _KNOWN:
        return Snapshot(own, f"the login environment is not read: {shell or 'no shell'} is not a shell we know")
    home = environ.get("HOME", "/")
    start = {name: environ[name] for name in ("HOME", "USER", "LOGNAME", "LANG", "TZ") if name in environ}
    start |= {"PATH": DEFAULT_PATH, "SHELL": shell, "TERM": "dumb"}
    try:
        with child.start(
            [shell, "-l", "-c", _SCRIPT],
            environ=start,
            cwd=home if os.path.isdir(home) else "/",
            stdin=child.Stream.NULL,
            stderr=child.Stream.NULL,
        ) as program:
            said = _read(program, time.monotonic() + seconds)
    except ChildFailed as error:
        return Snapshot(own, f"the login environment could not be read: {error.message}")
    _, found, exported = said.rpartition(_MARK)
    if not found:
        return Snapshot(own, f"the login environment could not be read: {shell} gave no answer within {seconds:g} s")
    return Snapshot(joined(own, parse(exported)))


def for_session(environ: Mapping[str, str], say: Callable[[str], object]) -> Mapping[str, str]:
    """The environment for the commands of a session that no shell started: ours, and what a login shell adds."""
    taken = snapshot(environ)
    if taken.note is not None:
        say(taken.note)
    return {**environ, **taken.environ}


def joined(own: Mapping[str, str], login: Mapping[str, str]) -> dict[str, str]:
    """Whoever started us said what they wanted, so ours wins; programs are found as in the person's own shell, behind what
    we were given in addition."""
    found = login.get("PATH", "").split(":")
    added = [place for place in own.get("PATH", "").split(":") if place not in found]
    return {**login, **own, "PATH": ":".join(place for place in [*added, *found] if place)}


def parse(exported: bytes) -> dict[str, str]:
    """What `env -0` prints, filtered; a last entry without its end was cut off and is dropped."""
    entries = [os.fsdecode(entry).partition("=") for entry in exported.split(b"\0")[:-1]]
    return {name: value for name, equals, value in entries if equals and inheritable(name)}


def _read(program: child.Child, deadline: float) -> bytes:
    """All it says, up to a limit in bytes and time."""
    assert program.stdout is not None
    watch = select.poll()
    watch.register(program.stdout, select.POLLIN)
    said = b""
    while len(said) < _LIMIT:
        remaining = deadline - time.monotonic()
        if remaining <= 0 or not watch.poll(remaining * 1000):
            return b""
        piece = os.read(program.stdout, 65_536)
        if not piece:
            return said
        said += piece
    return b""


def _shell_of_user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_shell
    except KeyError:
        return ""
