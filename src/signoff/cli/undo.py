"""signoff undo: take back what calls changed."""

import datetime
import difflib
import os
import uuid
from pathlib import Path

import click
import msgspec

from signoff.cli import completing, wiring
from signoff.cli.output import Output, counted, json_option
from signoff.config import locations
from signoff.domain.errors import UsageError
from signoff.domain.visible import visible
from signoff.undo.objects import Objects
from signoff.undo.prune import Bounds, prune
from signoff.undo.records import Snapshot, history, standing
from signoff.undo.restore import Step, chosen, restore, steps
from signoff.undo.states import Kind, State


class Listed(msgspec.Struct, frozen=True):
    """One row of --list."""

    run_id: str
    call_id: str
    tool: str
    at: str
    files: tuple[str, ...]
    complete: bool
    undone: bool


@click.command()
@click.option("--list", "listing", is_flag=True, help="Show the calls that changed something, the latest first.")
@click.option("--diff", "differing", is_flag=True, help="Show what would change, and change nothing.")
@click.option("--force", is_flag=True, help="Put back even what was changed since by somebody else.")
@click.option(
    "--prune", "pruning", is_flag=True, help="Remove what the settings undo.max_bytes and undo.keep_days do not keep."
)
@json_option
@click.argument("name", metavar="[RUN|CALL]", required=False, shell_complete=completing.calls)
@click.pass_obj
def undo(
    output: Output, name: str | None, listing: bool, differing: bool, force: bool, pruning: bool, as_json: bool
) -> None:
    """Put back what a call or a run changed.

    It is about the current directory; without a name, about the last call that is not undone yet, so that each further undo
    goes further back. What somebody else changed since is never overwritten unless --force says so, and then nothing at all
    is touched. An undo can be undone, by its name.

    \b
    Examples:
      signoff undo --list
      signoff undo --diff
      signoff undo call-3f9a41c2
      signoff undo 0198f3c2 --force
    """
    if listing + differing + pruning > 1:
        raise UsageError("--list, --diff and --prune do not go together")
    if pruning:
        _prune(output, as_json)
        return
    directory, workspace = str(locations.undo(os.environ)), str(Path.cwd().resolve())
    snapshots = history(directory, workspace)
    if listing:
        _list(output, snapshots, as_json)
        return
    found = chosen(snapshots, name)
    if differing:
        _differences(output, steps(found), Objects(os.path.join(directory, "objects")))
        return
    by = f"undo-{uuid.uuid4().hex[:8]}"
    restored = restore(directory, workspace, found, force=force, by=by)
    if as_json:
        output.json({"call_id": by, "restored": restored})
        return
    for path in restored:
        output.text(visible(path))
    what = ", ".join(dict.fromkeys(f"{one.call_id} ({one.tool})" for one in found[:3])) + (
        ", …" if len(found) > 3 else ""
    )
    output.say(
        f"{counted(len(restored), 'file')} put back: {visible(what)} is undone\n  To have it again: signoff undo {by}"
    )


def _prune(output: Output, as_json: bool) -> None:
    settings = wiring.configuration(output).settings.undo
    done = prune(str(locations.undo(os.environ)), Bounds(settings.max_bytes, settings.keep_days))
    if as_json:
        output.json(done)
        return
    output.say(
        f"{counted(done.calls, 'call')} can no longer be undone; {done.bytes_freed} bytes freed, {done.bytes_left} kept"
    )


def _list(output: Output, snapshots: list[Snapshot], as_json: bool) -> None:
    left = {one.key for one in standing(snapshots)}
    rows = [_row(snapshot, undone=not snapshot.undoes and snapshot.key not in left) for snapshot in reversed(snapshots)]
    if as_json:
        output.json({"calls": rows})
        return
    if not rows:
        output.say("There is nothing to undo here.")
    for row in rows:
        more = f" and {len(row.files) - 3} more" if len(row.files) > 3 else ""
        notes = (" (not everything was saved)" * (not row.complete)) + " (undone)" * row.undone
        names = visible(", ".join(row.files[:3])) + more + notes
        output.text(f"{row.at}  {row.call_id:20}  {row.tool:16}  {names}", 22)


def _row(snapshot: Snapshot, *, undone: bool) -> Listed:
    at = datetime.datetime.fromtimestamp(snapshot.at_ms / 1_000, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    files = tuple(entry.path for entry in snapshot.entries if entry.before.kind is not Kind.DIRECTORY)
    return Listed(snapshot.run_id, snapshot.call_id, snapshot.tool, at, files, snapshot.complete, undone)


def _differences(output: Output, planned: list[Step], objects: Objects) -> None:
    for step in planned:
        now, then = _lines(step.expected, objects), _lines(step.restored, objects)
        for line in difflib.unified_diff(now, then, f"a/{step.path}", f"b/{step.path}", lineterm=""):
            output.text(visible(line))


def _lines(state: State | None, objects: Objects) -> list[str]:
    if state is None or state.kind is not Kind.FILE:
        return [f"-> {state.content}"] if state is not None and state.kind is Kind.LINK else []
    return objects.content(state.content).decode("utf-8", "backslashreplace").splitlines()
