"""Checks about the files we are told to use and the places we keep ours in: settings, keys, rules, directories, locks."""

import contextlib
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from signoff.cli.finding import Finding, Surroundings, fail, ok, warn
from signoff.config import locations
from signoff.config.known_tools import KnownTools
from signoff.config.layers import Layer, load
from signoff.config.project import find_project, project_id
from signoff.config.rules import Places, find
from signoff.config.tool_servers import configured
from signoff.config.trust import trusted
from signoff.domain.errors import ConfigError, ConfigUnreadable, SignoffError
from signoff.domain.settings import SECRETS
from signoff.files.lock import try_acquire
from signoff.providers.endpoint import private_text

LEAST_BYTES, FEW_BYTES = 1 << 20, 256 << 20
PROBE_BYTES = 4_096
PATIENCE_S = 0.5  # a lock that is merely in use is free by then
TRUST = 'Look at its .signoff folder, then run "signoff config trust".'


def configuration(here: Surroundings) -> Finding:
    try:
        loaded = load(here.environ, here.directory, here.flags)
    except SignoffError as error:
        summary, fix = "the configuration cannot be used", error.hint or _mending(error, "docs/config.md says how.")
        return fail("config.invalid", summary, error.message, fix)
    if loaded.warnings:
        return warn("config.project", "not all of the configuration is in force", "\n".join(loaded.warnings), TRUST)
    layers = sorted({setting.layer for setting in loaded.origins.values()})
    return ok("the configuration is valid", f"values from: {', '.join(layers)}")


def keys(here: Surroundings) -> Finding:
    """Files with secrets in them: there, readable by us, and by nobody else."""
    try:
        loaded = load(here.environ, here.directory, here.flags)
    except SignoffError:
        return ok("the configuration that would name key files cannot be used")
    named = [file for file in (loaded.settings.model.key_file, loaded.settings.memory.token_file) if file]
    for file in named:
        try:
            private_text(file)
        except ConfigUnreadable as error:
            return fail("keys.unreadable", "a key file cannot be used", error.message, f"ls -l {file}")
        except ConfigError as error:
            return fail("keys.exposed", "others can read a key file", error.message, error.hint)
    user = locations.user_config(here.environ) / "config.toml"
    holds_secrets = any(loaded.origins[key].layer is Layer.USER for key in SECRETS if key in loaded.origins)
    if holds_secrets and user.exists() and stat.S_IMODE(user.stat().st_mode) & 0o077:
        return warn("keys.exposed", "others can read the key in your configuration", str(user), f"chmod 600 {user}")
    return ok(f"key files: {len(named)}", "\n".join(named) or None)


def rules(here: Surroundings) -> Finding:
    try:
        project = find_project(here.environ, here.directory)
        found, warnings = find(Places(dict(here.environ), project, project_id(project)))
        for file in found:
            file.rules()
    except SignoffError as error:
        fix = error.hint or _mending(error, '"signoff policy test" says more; docs/policy.md has the language.')
        return fail("rules.invalid", "the rules cannot be used", error.message, fix)
    if warnings:
        return warn("rules.project", "not all rules are in force", "\n".join(warnings), TRUST)
    return ok(f"rule files: {len(found)}", "\n".join(str(file.path) for file in found) or None)


def tool_servers(here: Surroundings) -> Finding:
    try:
        found = configured(here.environ, find_project(here.environ, here.directory))
        forgotten = KnownTools(locations.known_tools(here.environ), "").damaged
    except SignoffError as error:
        fix = error.hint or _mending(error, "docs/tools.md says how.")
        return fail("tool-servers.invalid", "the tool servers cannot be used", error.message, fix)
    if found.warnings:
        fix = 'Mend mcp.json; of a project, look at .mcp.json and run "signoff config trust".'
        return warn("tool-servers.skipped", "not all tool servers are in force", "\n".join(found.warnings), fix)
    if forgotten:
        summary, path = "how tools of servers looked is forgotten", locations.known_tools(here.environ)
        fix = f"Each is asked about again; rm {path} ends this warning."
        return warn("tool-servers.forgotten", summary, f"{path} is damaged", fix)
    return ok(f"tool servers: {len(found.servers)}", "\n".join(server.name for server in found.servers) or None)


def trust(here: Surroundings) -> Finding:
    try:
        count = len(trusted(here.environ))
    except SignoffError as error:
        summary = "which projects you trust cannot be read"
        return fail("trust.damaged", summary, error.message, error.hint or "Make the file readable.")
    return ok(f"trusted projects: {count}")


def directories(here: Surroundings) -> Finding:
    try:
        places = _places(here)
    except SignoffError as error:
        fix = error.hint or "Set HOME."
        return fail("directories.none", "there is no place for our files", error.message, fix)
    closed = [f"{place}: {why}" for place in places if (why := _closed(place)) is not None]
    if closed:
        names = "\n".join(closed)
        fix = "Make them yours, or set XDG_STATE_HOME and its siblings to a place that is."
        return fail("directories.closed", "not every directory can be written", names, fix)
    exposed = [place for place in places if place.exists() and stat.S_IMODE(place.stat().st_mode) & 0o022]
    if exposed:
        names = " ".join(map(str, exposed))
        return warn("directories.exposed", "others can write into our directories", names, f"chmod go-w {names}")
    return ok("our directories can be written", "\n".join(map(str, places)))


def disk(here: Surroundings) -> Finding:
    try:
        places = [locations.state(here.environ), locations.data(here.environ)]
    except SignoffError:
        return ok("there is no place whose disk could be full")
    return space({place: os.statvfs(_nearest(place)) for place in places})


def space(found: dict[Path, os.statvfs_result]) -> Finding:
    free = {place: one.f_bavail * one.f_frsize for place, one in found.items()}
    full = [
        f"{place}: {free[place] >> 20} MiB and {one.f_favail} files are free"
        for place, one in found.items()
        if free[place] < LEAST_BYTES or (one.f_files and not one.f_favail)
    ]
    if full:
        fix = 'Make room: nothing is allowed while the ledger cannot be written. "signoff undo --prune" frees some.'
        return fail("disk.full", "the disk is full", "\n".join(full), fix)
    low = [f"{place}: {number >> 20} MiB are free" for place, number in free.items() if number < FEW_BYTES]
    if low:
        return warn("disk.low", "the disk is nearly full", "\n".join(low), 'Make room, or run "signoff undo --prune".')
    return ok("there is room on the disk", "\n".join(f"{place}: {n >> 20} MiB are free" for place, n in free.items()))


def locks(here: Surroundings) -> Finding:
    """A lock goes with its process; one that stays held has a living owner that hangs or was stopped."""
    try:
        found = list(_lock_files(here))
    except SignoffError:
        return ok("there is no place that locks could be in")
    deadline = time.monotonic() + PATIENCE_S
    held = found
    while held := [file for file in held if _is_held(file)]:
        if time.monotonic() > deadline:
            lines = [f"{file}: held by {_holder(file)}" for file in held]
            fix = "Look at these processes (ps -fp PID): let them end, continue them (kill -CONT), or end them."
            return warn("locks.held", "a lock does not become free", "\n".join(lines), fix)
        time.sleep(0.02)
    return ok(f"lock files: {len(found)}, none held")


def _mending(error: SignoffError, otherwise: str) -> str:
    return "Make it a file that is yours to read." if isinstance(error, ConfigUnreadable) else f"Mend it: {otherwise}"


def _places(here: Surroundings) -> list[Path]:
    kinds = (locations.user_config, locations.state, locations.data, locations.cache)
    return [find_place(here.environ) for find_place in kinds]


def _closed(place: Path) -> str | None:
    """Why it takes no files. Where the directory is there, one is written: rights on paper are not all that counts, and a
    quota shows nowhere else."""
    if not place.is_dir():
        near = _nearest(place)
        return None if near.is_dir() and os.access(near, os.W_OK | os.X_OK) else f"cannot be made in {near}"
    probe = place / f".doctor-{os.getpid()}"
    try:
        with open(probe, "xb") as file:
            file.write(bytes(PROBE_BYTES))
    except OSError as error:
        return error.strerror
    finally:
        with contextlib.suppress(OSError):
            probe.unlink()
    return None


def _nearest(place: Path) -> Path:
    """The directory itself, or the one it would be made in."""
    return next(path for path in (place, *place.parents) if path.exists())


def _lock_files(here: Surroundings) -> Iterator[Path]:
    state = locations.state(here.environ)
    yield from (state / name for name in ("trust.json.lock", "known-tools.json.lock", "undo/lock", "sandbox/guard"))
    yield Path(f"{locations.memory_database(here.environ)}.lock")
    for folder in (locations.user_config(here.environ), locations.user_rules(here.environ)):
        yield from sorted(folder.glob(".*.lock"))


def _is_held(file: Path) -> bool:
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        return not try_acquire(descriptor, shared=True)
    finally:
        os.close(descriptor)


def _holder(file: Path) -> str:
    """From the kernel's list: a line ends in PID DEVICE:INODE START END."""
    try:
        inode = file.stat().st_ino
        rows = [row.split() for row in Path("/proc/locks").read_text(encoding="ascii").splitlines() if "->" not in row]
        pids = [row[4] for row in rows if row[5].rpartition(":")[2] == str(inode)]
    except (OSError, IndexError):
        pids = []
    return f"process {', '.join(pids)}" if pids else "a process that cannot be seen from here"
