"""Checks about what we keep: ledgers, memory, and what a killed run may have left behind."""

import contextlib
import os
import sqlite3
import stat
import time
from pathlib import Path

from signoff.cli.finding import Finding, Surroundings, fail, ok, warn
from signoff.config import locations
from signoff.domain.errors import SignoffError
from signoff.ledger import anchor, reading
from signoff.ledger.place import KEY_BYTES, RUN_ID, SUFFIX
from signoff.ledger.verify import Flaw, verify
from signoff.sandbox import ground
from signoff.sandbox.placeholders import left

RUNS, RUN_BYTES = 20, 64 << 20  # how many of the newest runs are verified, and how much of them
MEMORY_S = 3.0
AHEAD_MS = 60_000  # clocks of machines that share a home may differ a little


def placeholders(here: Surroundings) -> Finding:
    try:
        found = left(ground.journals(here.environ))
    except SignoffError as error:
        return warn("placeholders.unreadable", "placeholders cannot be written down", error.message, error.hint)
    if not found:
        return ok("no sandbox left anything behind")
    fix = 'They are empty. The next sandboxed command takes them away: "signoff sandbox -- true".'
    return warn("placeholders.left", "a sandbox that was killed left empty directories", "\n".join(found), fix)


def clock(here: Surroundings) -> Finding:
    """Runs are named by the time they began; none can lie in the future."""
    now = time.time_ns() // 1_000_000
    runs = [name for name in _run_names(here) if RUN_ID.fullmatch(name)]
    newest = max((int(name.replace("-", "")[:12], 16) for name in runs), default=0)
    if newest > now + AHEAD_MS:
        last = time.strftime("%Y-%m-%d %H:%M", time.gmtime(newest / 1_000))
        fix = "Set the clock: ends of grants, times in ledgers and certificates depend on it."
        return warn("clock.behind", "the clock stands before the last run", f"The last run began {last} UTC.", fix)
    return ok(time.strftime("the clock says %Y-%m-%d %H:%M:%S %z"))


def ledger(here: Surroundings) -> Finding:
    """The newest runs, verified; with a head beside one, its tail too."""
    key = _key_trouble(here)
    if key is not None:
        return key
    try:
        runs = locations.runs(here.environ)
        names = _run_names(here)[-RUNS:]
        found = [(name, flaw) for name in names for flaw in _flaws(runs / (name + SUFFIX))]
    except (OSError, SignoffError) as error:
        fix = "Make the directory yours and readable: nothing is allowed where no ledger can be kept."
        return fail("ledger.unreadable", "the ledgers cannot be read", str(error), fix)
    lines = "\n".join(f"{name}: {message}" for name, (_, message) in found)
    bad = [flaw for _, (flaw, _) in found if flaw not in (Flaw.TORN, Flaw.UNFINISHED)]
    show = found[0][0] if found else ""
    if bad:
        fix = f'Trust no record after that one; "signoff audit verify {show}" says more.'
        return fail(f"ledger.{bad[0]}", "a ledger is not as it was written", lines, fix)
    if found:
        fix = f'The run was killed, or its end is lost: "signoff audit show {show}" tells what it did last.'
        return warn(f"ledger.{found[0][1][0]}", "a run has no end", lines, fix)
    return ok(f"ledgers verified: {len(names)}", str(runs) if names else None)


def memory(here: Surroundings) -> Finding:
    try:
        path = locations.memory_database(here.environ)
    except SignoffError:
        return ok("there is no place that a memory could be in")
    if not path.exists():
        return ok("nothing is remembered yet")
    deadline = time.monotonic() + MEMORY_S
    try:
        with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=1)) as database:
            database.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)
            (answer,) = database.execute("PRAGMA quick_check(1)").fetchone()
            (count,) = database.execute("SELECT count(*) FROM item").fetchone()
    except sqlite3.OperationalError as error:
        if "interrupted" in str(error):
            return ok("the memory is large: its beginning is sound", str(path))
        return fail("memory.unreadable", "the memory cannot be opened", f"{path}: {error}", f"ls -l {path}")
    except sqlite3.DatabaseError as error:
        answer, count = str(error), 0
    if answer != "ok":
        fix = '"signoff memory stats" moves it aside and saves what can be read into a new one.'
        return fail("memory.damaged", "the memory is damaged", f"{path}: {answer}", fix)
    return ok(f"remembered answers: {count}", str(path))


def _run_names(here: Surroundings) -> list[str]:
    try:
        return reading.names(locations.runs(here.environ))
    except SignoffError:
        return []


def _flaws(path: Path) -> list[tuple[Flaw, str]]:
    """What is wrong with one ledger, if anything. A run that goes on has no end yet."""
    run = reading.glance(path)
    if run.state is reading.State.RUNNING or path.stat().st_size > RUN_BYTES:
        return []
    sealed = Path(f"{path}.sig")
    heads = {one.count: one.head for one in anchor.kept(str(sealed), run.run_id)} if sealed.exists() else {}
    with path.open("rb") as file:
        finding = verify(file, heads, path.stem).finding
    return [] if finding is None else [(finding.flaw, finding.message)]


def _key_trouble(here: Surroundings) -> Finding | None:
    """The key of our digests: without it nothing can be recorded, so nothing is allowed."""
    try:
        path = locations.state(here.environ) / "ledger.key"
        found = os.lstat(path)
    except (SignoffError, FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(found.st_mode) or found.st_size != KEY_BYTES or not os.access(path, os.R_OK):
        fix = f"Move {path} away; a new one is made at the next run."
        return fail("ledger.key", "the key of the ledger cannot be used", str(path), fix)
    if stat.S_IMODE(found.st_mode) & 0o077:
        return warn("ledger.key_exposed", "others can read the key of the ledger", str(path), f"chmod 600 {path}")
    return None
