"""signoff audit: what happened in a run, and whether the record of it still holds."""

import contextlib
import os
import shlex
import time
import uuid
from pathlib import Path
from types import ModuleType
from typing import BinaryIO

import click
import msgspec

from signoff.cli import completing
from signoff.cli.app import Group
from signoff.cli.output import Output, Style, counted, json_option
from signoff.config import locations
from signoff.domain.errors import Exit, UsageError
from signoff.domain.settings import Redact
from signoff.domain.visible import spelled, visible
from signoff.ledger import reading
from signoff.ledger.anchor import Head, head_of, keep, kept
from signoff.ledger.place import SUFFIX
from signoff.ledger.records import Line
from signoff.ledger.timeline import Row, Stats, Tone, row, stats
from signoff.ledger.verify import Flaw, Report, verify

STYLES = {Tone.GOOD: Style.GOOD, Tone.BAD: Style.BAD, Tone.WARNING: Style.WARNING, Tone.FAINT: Style.FAINT}
HANG = 22  # where the text stands beside its time and mark
SHORT = 18  # characters of a run id that tell it from the others: the time to the millisecond, and some chance
MOST_SESSIONS = 1_000  # the last ones, whose titles are looked up
PAUSE = 0.1  # seconds between two looks at a growing file


def _runs() -> Path:
    return locations.runs(os.environ)


def _find(name: str) -> Path:
    return reading.find(_runs(), name)


run_argument = click.argument("name", metavar="[RUN]", default=reading.LAST, shell_complete=completing.runs)
output_option = click.option(
    "-o", "--output", "target", type=click.File("wb"), default="-", help="Write to this file, not to stdout."
)
key_option = click.option("--key", type=click.Path(dir_okay=False), help="An Ed25519 key (PEM or OpenSSH).")


@click.group(cls=Group)
def audit() -> None:
    """Read the ledger of a run, and check that nobody changed it.

    RUN is a run id, the beginning of one, the path of a ledger, or "last" (which it is when left out).

    \b
    Examples:
      signoff audit list
      signoff audit show last
      signoff audit show 0193 --html -o run.html
      signoff audit verify last --anchor /mnt/elsewhere/heads.jsonl
    """


@audit.command("list")
@click.option("-n", "--limit", default=20, show_default=True, help="How many, the newest first; 0 for all.")
@json_option
@click.pass_obj
def list_runs(output: Output, limit: int, as_json: bool) -> None:
    """List the runs that have a ledger, the newest first.

    \b
    Examples:
      signoff audit list
      signoff audit list -n 0 --json
    """
    names = reading.names(_runs())[::-1]
    runs = [reading.glance(_runs() / (name + SUFFIX)) for name in (names[:limit] if limit > 0 else names)]
    if as_json:
        output.json({"runs": runs})
        return
    if not runs:
        output.say(f"No run has been recorded in {_runs()} yet.")
    titles = _titles({run.session_id for run in runs} - {""})
    for run in runs:
        _tell(output, run, titles.get(run.session_id, ""))


def _titles(sessions: set[str]) -> dict[str, str]:
    """What sessions are about: many a run of an editor or a chat has the same command."""
    if not sessions:
        return {}
    from signoff.agent.sessions import Sessions
    from signoff.ledger.redact import Redactor

    clean = Redactor(Redact.BASIC).text
    with contextlib.closing(Sessions(str(locations.sessions(os.environ)))) as store:
        found = store.list(limit=MOST_SESSIONS).sessions
    return {one.id: clean(one.title) for one in found if one.id in sessions}


def _tell(output: Output, run: reading.Run, title: str) -> None:
    """A line for a script; on a terminal less of it, so that it fits: the beginning of an id names a run as well."""
    ended = "" if run.exit_code is None else f"exit {run.exit_code}"
    style = {reading.State.FINISHED: Style.GOOD, reading.State.RUNNING: Style.TITLE}.get(run.state, Style.BAD)
    command, started = visible(shlex.join(run.command)), run.started.replace("T", " ")
    if title and visible(title) not in command:
        command += output.paint(f" · {visible(title)}", Style.FAINT)
    if output.room() is None:
        state = output.paint(f"{run.state:10}", style)
        output.text(f"{run.run_id}  {started[:19]}Z  {state}  {run.records:6}  {ended:8}  {command}".rstrip())
    else:
        state = output.paint(f"{ended or run.state:10}", style)
        output.text(f"{run.run_id[:SHORT]}  {started[:16]}Z  {state}  {command}", SHORT + 33)


@audit.command()
@run_argument
@click.option("--html", "as_html", is_flag=True, help="Write one self-contained page for a browser.")
@output_option
@json_option
@click.pass_obj
def show(output: Output, name: str, as_html: bool, target: BinaryIO, as_json: bool) -> None:
    """Show a run as a timeline.

    \b
    Examples:
      signoff audit show
      signoff audit show last --html -o run.html
      signoff audit show 0193 --json
    """
    run = _find(name)
    lines, glance = _lines(run), reading.glance(run)
    if as_html:
        from signoff.ledger.page import page

        target.write(page(glance, _report(run), lines).encode())
    elif as_json:
        output.json({"run": glance, "entries": lines})
    else:
        for line in lines:
            output.text(_told(output, row(line)), HANG)
        for call in stats(lines).unknown_outcomes:
            output.say(f"{visible(call)} was allowed and its outcome is unknown; it is not run again.")
        if glance.state in (reading.State.UNFINISHED, reading.State.DAMAGED):
            output.say(f"This record is not whole. What is wrong with it: signoff audit verify {visible(name)}")


@audit.command()
@run_argument
@click.option("-f", "--follow", is_flag=True, help="Show what comes, until the run ends.")
@click.option("-n", "--limit", default=10, show_default=True, help="How many of the last records to begin with.")
@click.option("--json", "as_json", is_flag=True, help="Print each record as a line of JSON.")
@click.pass_obj
def tail(output: Output, name: str, follow: bool, limit: int, as_json: bool) -> None:
    """Show the last records of a run, and those to come.

    \b
    Examples:
      signoff audit tail -f
      signoff audit tail last -n 50 --json
    """
    run = _find(name)
    with run.open("rb") as file:
        seen = list(reading.read(file))
        new = seen[-limit:] if limit > 0 else []
        count = len(seen)
        while True:
            for line in new:
                output.text(
                    spelled(msgspec.json.encode(line).decode()) if as_json else _told(output, row(line)),
                    None if as_json else HANG,
                )
            if not follow:
                return
            follow = reading.glance(run).state is reading.State.RUNNING  # looked at before the last read, not after
            if follow:
                time.sleep(PAUSE)
            new = list(reading.read(file, count))
            count += len(new)


@audit.command("stats")
@run_argument
@json_option
@click.pass_obj
def show_stats(output: Output, name: str, as_json: bool) -> None:
    """Sum up a run: decisions, rules, tools, errors, files.

    \b
    Examples:
      signoff audit stats
      signoff audit stats last --json
    """
    sums = stats(_lines(_find(name)))
    if as_json:
        output.json(sums)
    else:
        _say_stats(output, sums)


def _say_stats(output: Output, sums: Stats) -> None:
    output.text(
        f"{counted(sums.records, 'record')} in {sums.seconds:.1f} s"
        + (f", {sums.damaged} damaged" if sums.damaged else "")
    )
    for title in ("decisions", "decided_by", "reviews", "rules", "errors"):
        counts: dict[str, int] = getattr(sums, title)
        if counts:
            told = ", ".join(f"{visible(name)} {count}" for name, count in counts.items())
            output.text(f"{title.replace('_', ' '):12} {told}")
    for name, tool in sums.tools.items():
        times = f"median {tool.median_ms:g} ms, longest {tool.longest_ms} ms"
        output.text(f"{'tool':12} {visible(name)}: {counted(tool.calls, 'call')}, {tool.failed} failed, {times}")
    for title, names in (("changed", sums.files_changed), ("unknown", sums.unknown_outcomes)):
        for name in names:
            output.text(f"{title:12} {visible(name)}")


@audit.command("verify")
@run_argument
@click.option("--anchor", type=click.Path(dir_okay=False), help="Heads kept elsewhere: finds a lost tail.")
@key_option
@json_option
@click.pass_obj
def check(output: Output, name: str, anchor: str | None, key: str | None, as_json: bool) -> int:
    """Check that a ledger is as it was written; name the first record that is not.

    Exit status: 0 in order, 60 edited, 61 missing, 62 reordered, 63 torn tail, 64 unfinished. With --key, the head must be
    signed with it: in the --anchor file, else in RUN.jsonl.sig.

    \b
    Examples:
      signoff audit verify
      signoff audit verify last --anchor /mnt/elsewhere/heads.jsonl
      signoff audit verify run.jsonl --key auditor.pub
    """
    run = _find(name)
    report = _report(run, _known_heads(run, anchor, key))
    finding = report.finding
    if as_json:
        output.json(
            {"ok": finding is None, "exit": finding.flaw.error.exit if finding else 0, **msgspec.structs.asdict(report)}
        )
        return finding.flaw.error.exit if finding else Exit.OK
    if finding is not None:
        running = finding.flaw is Flaw.UNFINISHED and reading.glance(run).state is reading.State.RUNNING
        raise finding.flaw.error(
            f"{run}:{finding.line}: {finding.message}", hint="The run is still going on." if running else None
        )
    against = f", as kept in {anchor}" if anchor else ""
    output.text(f"{output.paint('in order', Style.GOOD)}: {report.records} records{against}, head {report.head}")
    return Exit.OK


@audit.command()
@run_argument
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "otlp"]),
    default="jsonl",
    show_default=True,
    help="jsonl: the lines as they are; otlp: a trace in OTLP/JSON.",
)
@output_option
def export(name: str, form: str, target: BinaryIO) -> None:
    """Give a ledger to another program: its lines as they are, or a trace in OTLP/JSON.

    \b
    Examples:
      signoff audit export last > run.jsonl
      signoff audit export last --format otlp -o trace.json
    """
    run = _find(name)
    if form == "otlp":
        from signoff.ledger.otlp import trace

        target.write(msgspec.json.encode(trace(_lines(run))) + b"\n")
        return
    with run.open("rb") as file:
        for piece in reading.whole(file, finished=reading.glance(run).state is reading.State.FINISHED):
            target.write(piece)


@audit.command()
@run_argument
@key_option
@click.option("--anchor", type=click.Path(dir_okay=False), help="Append the head to this file.")
@json_option
@click.pass_obj
def sign(output: Output, name: str, key: str | None, anchor: str | None, as_json: bool) -> None:
    """Vouch for the head of a ledger: sign it, keep it elsewhere, or both.

    A signature without --anchor is kept beside the ledger, in RUN.jsonl.sig. Keep anchors where the agent cannot write.

    \b
    Examples:
      signoff audit sign last --anchor /mnt/elsewhere/heads.jsonl
      signoff audit sign last --key ~/.ssh/id_ed25519
    """
    if key is None and anchor is None:
        raise UsageError("give a --key to sign with, an --anchor to keep the head in, or both")
    run = _find(name)
    report = _report(run)
    if report.finding is not None and report.finding.flaw is not Flaw.UNFINISHED:
        raise report.finding.flaw.error(f"{run}:{report.finding.line}: {report.finding.message}")
    head = head_of(report.run_id, report.records, report.head)
    if key is not None:
        head = _signing().sign(head, key)
    place = anchor or f"{run}.sig"
    keep(place, head)
    if as_json:
        output.json(head)
    else:
        output.text(f"head {head.head} of {head.count} records, kept in {place}")


def _known_heads(run: Path, anchor: str | None, key: str | None) -> list[Head]:
    if anchor is None and key is None:
        return []
    heads = kept(anchor or f"{run}.sig", reading.glance(run).run_id)
    return heads if key is None else list(_signing().signed_with(heads, key))


def _signing() -> ModuleType:
    try:
        from signoff.ledger import sign
    except ModuleNotFoundError as error:
        raise UsageError(
            f"signatures need the package {(error.name or '').partition('.')[0]}",
            hint='Install it: pip install "signoff[sign]"',
        ) from error
    return sign


def _report(run: Path, heads: list[Head] | None = None) -> Report:
    with run.open("rb", buffering=1 << 16) as file:
        return verify(file, {head.count: head.head for head in heads or []}, _named_after(run))


def _named_after(run: Path) -> str:
    """The run that the file says it is of: another run's ledger put in its place is no record of it."""
    name = run.name.removesuffix(SUFFIX)
    try:
        return name if str(uuid.UUID(name)) == name else ""
    except ValueError:
        return ""  # a copy may be called anything


def _lines(run: Path) -> list[Line | reading.Damaged]:
    with run.open("rb") as file:
        return list(reading.read(file))


def _told(output: Output, entry: Row) -> str:
    mark = output.paint(f"{entry.mark:8}", STYLES[entry.tone]) if entry.tone in STYLES else f"{entry.mark:8}"
    detail = output.paint(visible(entry.detail), Style.FAINT)
    return f"{entry.seconds:10.3f}  {mark}  {visible(entry.title)}  {detail}".rstrip()
