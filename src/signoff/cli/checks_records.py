"""Checks about what we keep: ledgers, memory, and what a killed run may have left behind."""

import contextlib
import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from signoff.agent import session_log
from signoff.cli.finding import Finding, Surroundings, fail, ok, warn
from signoff.config import locations
from signoff.domain.errors import ConfigError, LedgerEdited, LedgerError, SignoffError
from signoff.ledger import anchor, reading
from signoff.ledger.place import KEY_BYTES, RUN_ID, SUFFIX
from signoff.ledger.verify import Flaw, verify
from signoff.sandbox import ground
from signoff.sandbox.placeholders import left
from signoff.undo import records as undo_records
from signoff.undo.objects import Objects
from signoff.undo.states import Kind

RUNS, RUN_BYTES = 20, 64 << 20  # how many of the newest runs are verified, and how much of them
SESSIONS = 50
CALLS, UNDO_S = 20, 2.0
MEMORY_S = 3.0
AHEAD_MS = 60_000  # clocks of machines that share a home may differ a little
SETTLED_MS = 10_000  # the key is made with the first run


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
    try:
        runs = [name for name in _run_names(here) if RUN_ID.fullmatch(name)]
    except OSError:
        return ok("the runs that would tell whether the clock went back cannot be read")
    newest = max(map(_began_ms, runs), default=0)
    if newest > now + AHEAD_MS:
        last = time.strftime("%Y-%m-%d %H:%M", time.gmtime(newest / 1_000))
        fix = "Set the clock: ends of grants, times in ledgers and certificates depend on it."
        return warn("clock.behind", "the clock stands before the last run", f"The last run began {last} UTC.", fix)
    return ok(time.strftime("the clock says %Y-%m-%d %H:%M:%S %z"))


def ledger(here: Surroundings) -> Finding:
    """The newest runs, verified; with a head beside one, its tail too."""
    try:
        if (key := _key_trouble(here)) is not None:
            return key
        runs = locations.runs(here.environ)
        names = _run_names(here)[-RUNS:]
        heads = {name: _heads(runs / (name + SUFFIX)) for name in names}
        found = [(name, flaw) for name in names for flaw in _flaws(runs / (name + SUFFIX), heads[name])]
    except LedgerError as error:
        fix = "Ask whoever keeps heads elsewhere; then move it away and sign the run anew."
        return fail("ledger.head", "a kept head cannot be used", error.message, fix)
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
    signers = {head.public_key: name for name in names for head in heads[name] if head.public_key}
    if len(signers) > 1:
        fix = 'Ask who signed: "signoff audit verify RUN --key FILE" says whether it was you.'
        lines = "\n".join(f"{name}: {key}" for key, name in signers.items())
        return warn("ledger.signers", "runs were signed with different keys", lines, fix)
    return ok(f"ledgers verified: {len(names)}", str(runs) if names else None)


def undo(here: Surroundings) -> Finding:
    """Could the newest calls still be put back?"""
    try:
        directory = str(locations.undo(here.environ))
        calls = undo_records.files(directory)[-CALLS:]
    except (SignoffError, OSError) as error:
        return warn("undo.unreadable", "what calls changed cannot be read", str(error), "Make the directory yours.")
    objects, deadline = Objects(os.path.join(directory, "objects")), time.monotonic() + UNDO_S
    lost: list[str] = []
    for path in reversed(calls):
        if time.monotonic() < deadline:
            lost += _lost(path, objects)
    if lost:
        fix = '"signoff undo" refuses these calls, and puts back the others.'
        return warn("undo.damaged", "not every call can be put back", "\n".join(lost[:CALLS]), fix)
    return ok(f"calls looked at that can be put back: {len(calls)}")


def _lost(path: str, objects: Objects) -> Iterator[str]:
    """What is missing to put one call back."""
    call = undo_records.read(path)
    if call is None:
        if os.path.exists(path):  # else it was cleared away meanwhile
            yield f"{path} cannot be read"
        return
    for entry in call.entries:
        try:
            if entry.before.kind is Kind.FILE:
                objects.content(entry.before.content)
        except (SignoffError, OSError) as error:
            yield f"{call.run_id} {entry.path}: {error}"


def sessions(here: Surroundings) -> Finding:
    """The list of them, and the beginnings of the newest."""
    try:
        folder = locations.sessions(here.environ)
        names = sorted(name for name in os.listdir(folder) if name.endswith(SUFFIX)) if folder.exists() else []
        bad = [name for name in names[-SESSIONS:] if not _begins(folder / name)]
    except SignoffError:
        return ok("there is no place that sessions could be in")
    except OSError as error:
        return fail("sessions.unreadable", "the sessions cannot be read", str(error), f"ls -ld {folder}")
    if bad:
        fix = f'They cannot be taken up: "signoff sessions delete {bad[0].removesuffix(SUFFIX)}". Their calls are in the ledgers.'
        return warn("sessions.damaged", "the beginning of a session is lost", "\n".join(bad), fix)
    trouble = _index_trouble(folder / "index.db")
    if trouble is not None:
        fix = 'Nothing is lost: the next "signoff sessions list" makes it anew from the sessions.'
        return warn("sessions.index", "the list of sessions is damaged", f"{folder}/index.db: {trouble}", fix)
    return ok(f"sessions: {len(names)}", str(folder) if names else None)


def _begins(path: Path) -> bool:
    try:
        first = next(session_log.read(str(path)), None)
    except OSError:  # a pipe, a link
        return False
    return first is not None and isinstance(first.what, session_log.Opened)


def _index_trouble(path: Path) -> str | None:
    if not path.exists():
        return None
    try:
        with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=1)) as database:
            (answer,) = database.execute("PRAGMA quick_check(1)").fetchone()
            return None if answer == "ok" else str(answer)
    except sqlite3.DatabaseError as error:
        return str(error)


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


def _heads(path: Path) -> list[anchor.Head]:
    """Those kept beside a ledger, with signatures that hold. Whose they are is for whoever knows the key to say."""
    sealed = Path(f"{path}.sig")
    if not sealed.exists():
        return []
    try:
        found = anchor.kept(str(sealed), path.stem)
        from signoff.ledger.sign import holds  # an extra
    except ConfigError as error:
        raise LedgerEdited(error.message) from error
    except ModuleNotFoundError:
        return found
    if not all(holds(head) for head in found if head.signature):
        raise LedgerEdited(f"{sealed}: the signature of a head does not fit it")
    return found


def _flaws(path: Path, heads: list[anchor.Head]) -> list[tuple[Flaw, str]]:
    """What is wrong with one ledger, if anything. A run that goes on has no end yet."""
    run = reading.glance(path)
    if run.state is reading.State.RUNNING or path.stat().st_size > RUN_BYTES:
        return []
    with path.open("rb") as file:
        finding = verify(file, {one.count: one.head for one in heads}, path.stem).finding
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
    if (oldest := _first_run_ms(here)) is not None and found.st_mtime_ns // 1_000_000 > oldest + SETTLED_MS:
        detail = f"{path} is younger than the oldest run: digests of arguments from before it fit none made since."
        fix = f"Put the old key back; if there is none, touch -d @{oldest // 1_000} {path} ends this warning."
        return warn("ledger.key_replaced", "the key of the ledger was replaced", detail, fix)
    return None


def _first_run_ms(here: Surroundings) -> int | None:
    return min((_began_ms(name) for name in _run_names(here) if RUN_ID.fullmatch(name)), default=None)


def _began_ms(run_id: str) -> int:
    return int(run_id.replace("-", "")[:12], 16)
