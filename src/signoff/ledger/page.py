"""A run as one page for a browser: no script, nothing loaded from elsewhere, light or dark, wide or narrow."""

import html
import importlib.resources
import shlex
from collections.abc import Sequence

import msgspec

from signoff.domain.visible import visible
from signoff.ledger.reading import Damaged, Run
from signoff.ledger.records import Line
from signoff.ledger.timeline import Row, Stats, Tone, row, stats
from signoff.ledger.verify import Report

FILTERS = (("everything", "Everything"), ("decisions", "Decisions"), ("problems", "Problems"))
DECISIONS = {"allow", "deny", "review"}


def page(run: Run, report: Report, lines: Sequence[Line | Damaged]) -> str:
    style = importlib.resources.files("signoff.ledger").joinpath("page.css").read_text(encoding="utf-8")
    title = _text(shlex.join(run.command) or run.run_id)
    body = "\n".join(
        [_heading(run, title), _verdict(report), _sums(stats(lines)), _filters(), _rows([row(line) for line in lines])]
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>signoff · {title}</title>
<style>
{style}</style>
</head>
<body>
{body}
<footer>Written by signoff from the ledger of run <span class="hash">{_text(run.run_id)}</span>.
Times count from the start of the run.</footer>
</body>
</html>
"""


def _text(text: str) -> str:
    """Text of the run: nothing in it can act, hide or reorder what is read."""
    return html.escape(visible(text))


def _heading(run: Run, title: str) -> str:
    when = _text(" – ".join(moment[:19].replace("T", " ") for moment in (run.started, run.ended) if moment))
    ended = f"exit status {run.exit_code}" if run.exit_code is not None else run.state.value
    return f"""<header>
<h1>What happened in this run</h1>
<p class="command">{title}</p>
<p>{when} UTC · {_text(ended)}</p>
<p>{_text(run.workspace)} · project {_text(run.project_id)}</p>
</header>"""


def _verdict(report: Report) -> str:
    finding = report.finding
    if finding is None:
        said, tone, more = f"The record is complete: {report.records} records, every hash in place.", Tone.GOOD, ""
    else:
        said, tone = f"The record is not in order: {finding.flaw}.", Tone.BAD
        more = f"<small>{_text(finding.message)} (line {finding.line})</small>"
    head = f'<small class="hash">head {_text(report.head)}</small>'
    return f'<p class="verdict {tone}" role="status">{said}{more}{head}</p>'


def _sums(sums: Stats) -> str:
    cells = {
        "Tool calls": sum(tool.calls for tool in sums.tools.values()),
        "Allowed": sums.decisions.get("allow", 0),
        "Denied": sums.decisions.get("deny", 0),
        "Asked a person": sum(sums.reviews.values()),
        "Failed": sum(tool.failed for tool in sums.tools.values()),
        "No outcome": len(sums.unknown_outcomes),
        "Files changed": len(sums.files_changed),
    }
    return "<dl>" + "".join(f"<div><dt>{name}</dt><dd>{count}</dd></div>" for name, count in cells.items()) + "</dl>"


def _filters() -> str:
    choices = (
        f'<label><input type="radio" name="show" id="{name}"{" checked" if name == FILTERS[0][0] else ""}>{words}</label>'
        for name, words in FILTERS
    )
    return f'<fieldset aria-label="Show">{"".join(choices)}</fieldset>'


def _rows(rows: Sequence[Row]) -> str:
    return "<ol>\n" + "\n".join(map(_row, rows)) + "\n</ol>"


def _row(entry: Row) -> str:
    kinds = " ".join(
        name
        for name, holds in (("decision", entry.mark in DECISIONS), ("problem", entry.tone in (Tone.BAD, Tone.WARNING)))
        if holds
    )
    whole = ""
    if entry.what is not None:
        pretty = msgspec.json.format(msgspec.json.encode(entry.what), indent=2).decode()
        lines = "\n".join(_text(line) for line in pretty.split("\n"))
        whole = f"<details><summary>record {entry.seq}</summary><pre>{lines}</pre></details>"
    return (
        f'<li class="{kinds}"><time class="time" datetime="{_text(entry.ts)}">{entry.seconds:,.3f} s</time>'
        f'<span class="mark {entry.tone}">{entry.mark}</span>'
        f'<div class="what"><span class="title">{_text(entry.title)}</span> '
        f'<span class="detail">{_text(entry.detail)}</span>{whole}</div></li>'
    )
