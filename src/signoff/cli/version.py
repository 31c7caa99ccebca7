"""signoff version: what is installed. The usual spellings are answered by the entry point; this is for the others."""

import click

from signoff.cli import installed
from signoff.cli.output import json_option


@click.command()
@json_option
def version(as_json: bool) -> None:
    """Show what is installed: version, commit, Python, platform.

    \b
    Examples:
      signoff version
      signoff version --json
    """
    click.echo(installed.json() if as_json else installed.text(), nl=False)
