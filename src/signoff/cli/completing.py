"""What a shell offers for a word that names something we keep: runs, tools, calls that can be put back."""

import os
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from signoff.config import locations


def runs(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from signoff.ledger import reading

    names = reversed(reading.names(locations.runs(os.environ)))
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def tools(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from signoff.tools.registry import Registry

    return [CompletionItem(name) for name in Registry().names() if name.startswith(incomplete)]


def calls(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Of this directory, the latest first."""
    from signoff.undo.records import history

    found = reversed(history(str(locations.undo(os.environ)), str(Path.cwd().resolve())))
    return [CompletionItem(one.call_id, help=one.tool) for one in found if one.call_id.startswith(incomplete)]
