"""signoff version: what is installed."""

import click

from signoff import __version__


@click.command()
def version() -> None:
    """Show what is installed: version, commit, Python, platform."""
    click.echo(f"signoff {__version__}")
