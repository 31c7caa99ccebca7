"""Checks about who can reach what is ours, and what this process may do: permissions of files, limits, ports."""

import contextlib
import os
import resource
import stat
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from signoff.cli.finding import Finding, Surroundings, fail, ok, warn
from signoff.cli.listening import PORTS, holder
from signoff.config import locations
from signoff.domain.errors import SignoffError

LOOK_S = 2.0  # at what may be many thousand files
MOST_NAMED = 10
WRITABLE, BY_EVERYBODY, BY_ANYBODY_ELSE = 0o022, 0o002, 0o077
SECRETS = (".token", ".key", ".pem")
FEW_DESCRIPTORS = 256
SMALL_FILE, SMALLEST_FILE = 256 << 20, 1 << 20


def permissions(here: Surroundings) -> Finding:
    """Who can write what we are told can allow anything; who can read what we keep learns what was done."""
    try:
        told = {locations.user_config(here.environ), locations.rules_home(here.environ)}
        kept = {locations.state(here.environ), locations.data(here.environ)}
        decide = {locations.trust_store(here.environ), locations.known_tools(here.environ)}
    except SignoffError:
        return ok("there is no place that our files could be in")
    deadline = time.monotonic() + LOOK_S
    files = [(path, found, True) for place in told for path, found in _beneath(place, deadline)]
    files += [(path, found, path in decide) for place in kept for path, found in _beneath(place, deadline)]
    bad = [path for path, found, decides in files if decides and _is_open(found, BY_EVERYBODY)]
    if bad:
        summary = "others can change what is allowed"
        return fail("permissions.writable", summary, _names(bad), f"Read them, then: {_mend('go-w', bad)}")
    loose = [path for path, found, decides in files if _is_open(found, _too_much(path, found, decides))]
    if loose:
        summary = "files are less private than we make them"
        return warn("permissions.loose", summary, _names(loose), _mend("go-rwx", loose))
    return ok(f"files that are ours alone: {len(files)}")


def limits(_: Surroundings) -> Finding:
    size, _hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    if 0 <= size < SMALL_FILE:
        summary, detail = "files may not grow", f"The limit is {size} bytes; a ledger that reaches it allows nothing."
        judge = fail if size < SMALLEST_FILE else warn
        return judge("limits.file_size", summary, detail, "ulimit -f unlimited")
    descriptors, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= descriptors < FEW_DESCRIPTORS:
        summary = "few files may be open at once"
        detail = f"The limit is {descriptors}; commands and sessions need a few each."
        return warn("limits.descriptors", summary, detail, f"ulimit -n {hard if hard > 0 else 1024}")
    return ok("the limits of this process are wide enough")


def ports(_: Surroundings) -> Finding:
    return listened(PORTS)


def listened(ports: Mapping[str, int]) -> Finding:
    """Does somebody else listen where these servers would?"""
    held = {f"{port} ({name})": found for name, port in ports.items() if (found := holder(port)) is not None}
    lines = "\n".join(f"{port}: {found}" for port, found in held.items())
    if any(not found.is_ours for found in held.values()):
        fix = "End that program, or serve elsewhere with --listen."
        return warn("ports.taken", "another program has the port of a server of ours", lines, fix)
    return ok(f"servers of ours that run: {len(held)}", lines or None)


def _beneath(place: Path, deadline: float) -> Iterator[tuple[Path, os.stat_result]]:
    """The files and folders in it; of a link what it leads to. The place itself is for the check of directories."""
    for folder, folders, files in os.walk(place):
        if time.monotonic() > deadline:
            return
        for name in (*folders, *files):
            path = Path(folder, name)
            with contextlib.suppress(OSError):  # a link to nowhere, or gone meanwhile
                yield path, path.stat()


def _too_much(path: Path, found: os.stat_result, decides: bool) -> int:
    """What we are told may be read, unless its name says that it is a secret; a folder lies in one that is closed."""
    public = decides and path.suffix not in SECRETS
    return WRITABLE if public or stat.S_ISDIR(found.st_mode) else BY_ANYBODY_ELSE


def _is_open(found: os.stat_result, to: int) -> bool:
    return bool(stat.S_IMODE(found.st_mode) & to) or found.st_uid not in (os.geteuid(), 0)


def _names(paths: list[Path]) -> str:
    shown = [str(path) for path in paths[:MOST_NAMED]]
    return "\n".join([*shown, f"and {len(paths) - MOST_NAMED} more"] if len(paths) > MOST_NAMED else shown)


def _mend(change: str, paths: list[Path]) -> str:
    names = " ".join(str(path) for path in paths[:MOST_NAMED])
    foreign = any(path.stat().st_uid not in (os.geteuid(), 0) for path in paths)
    return f"{f'chown {os.geteuid()} {names} && ' if foreign else ''}chmod {change} {names}"
