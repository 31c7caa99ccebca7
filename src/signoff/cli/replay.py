"""signoff replay: a recorded run under other rules."""

import os

import click
import msgspec

from signoff.cli import completing
from signoff.cli.judging import approval_option, judge_of, rules_option, sandbox_option
from signoff.cli.output import Output, Style, counted, json_option
from signoff.config import locations
from signoff.domain.errors import LedgerMissing
from signoff.domain.visible import visible
from signoff.ledger import reading
from signoff.ledger.records import UNGUARDED, Genesis, Line
from signoff.supervisor.replay import Replayed, replay

STYLES = {"allow": Style.GOOD, "ask": Style.WARNING, "deny": Style.BAD}
LONGEST_ARGS = 100


class Report(msgspec.Struct, frozen=True):
    """What --json prints."""

    run_id: str
    calls: list[Replayed]
    changed: int


@click.command("replay")
@click.argument("name", metavar="[RUN]", default=reading.LAST, shell_complete=completing.runs)
@rules_option
@approval_option
@sandbox_option
@click.option("--all", "everything", is_flag=True, help="Show the calls that stay as they were, too.")
@json_option
@click.pass_obj
def replay_(
    output: Output,
    name: str,
    files: tuple[str, ...],
    approval: str | None,
    sandbox: str | None,
    everything: bool,
    as_json: bool,
) -> None:
    """Judge a recorded run again, under other rules.

    Every call is judged by the rules of now or by the files given, and what would change is shown. Nothing is run.
    Arguments are those of the record, with secrets masked.

    \b
    Examples:
      signoff replay
      signoff replay 0193 --policy stricter.rules
      signoff replay last --approval untrusted --all
    """
    judge = judge_of(output, files, approval, sandbox)
    path = reading.find(locations.runs(os.environ), name)
    with path.open("rb") as file:
        records = [line.what for line in reading.read(file) if isinstance(line, Line)]
    genesis = next((record for record in records if isinstance(record, Genesis)), None)
    if genesis is None:
        raise LedgerMissing(f"{path} does not begin like a ledger", hint="Try: signoff audit verify")
    guarded = genesis.sandbox != UNGUARDED or sandbox is not None
    context = msgspec.structs.replace(judge.context, workspace=genesis.workspace, sandbox_available=guarded)
    judge = msgspec.structs.replace(judge, context=context)
    home = judge.context.home or "/"
    calls = list(replay(records, judge.judge, cwd=genesis.workspace, home=home))
    changed = [call for call in calls if call.changed]
    if as_json:
        output.json(Report(path.stem, calls, len(changed)))
        return
    for call in calls if everything else changed:
        _tell(output, call)
    output.text(f"{counted(len(calls), 'call')} judged again, {len(changed)} would be different")


def _tell(output: Output, call: Replayed) -> None:
    before, after = (output.paint(f"{word:5}", STYLES[word]) for word in (call.before, call.after))
    args = visible(msgspec.json.encode(call.args).decode())
    output.text(f"{before} → {after}  {visible(call.tool)} {args[:LONGEST_ARGS]}", 15)
    rules = " → ".join(rule or "no rule" for rule in (call.before_rule, call.after_rule))
    output.text(f"               {visible(rules)}")
