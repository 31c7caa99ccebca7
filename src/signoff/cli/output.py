"""What a person or a script sees: data on stdout, talk on stderr, colour only where it is wanted and never alone."""

import enum
import os
import sys
from collections.abc import Mapping

import click
import msgspec

from signoff.domain.visible import visible


class Style(enum.Enum):
    """What a colour means, so that a command never names one."""

    GOOD = "green"
    WARNING = "yellow"
    BAD = "red"
    TITLE = "bright_white"
    FAINT = "bright_black"


class Output(msgspec.Struct, frozen=True):
    """How this call talks. Commands get it with `@click.pass_obj`."""

    quiet: bool = False
    debug: bool = False
    no_color: bool = False
    flags: Mapping[str, str] = {}  # settings given with -c, by key

    def text(self, line: str) -> None:
        """A line of what was asked for."""
        click.echo(line, color=True)

    def json(self, value: object) -> None:
        """What was asked for, as the one JSON document on stdout."""
        click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2))

    def say(self, line: str) -> None:
        """A word on the way, for a person; --quiet silences it."""
        if not self.quiet:
            click.echo(line, err=True, color=True)

    def warn(self, line: str) -> None:
        click.echo(f"signoff: warning: {visible(line)}", err=True)

    def paint(self, text: str, style: Style, *, err: bool = False) -> str:
        return click.style(text, fg=style.value) if self.colourful(err=err) else text

    def colourful(self, *, err: bool = False) -> bool:
        stream = sys.stderr if err else sys.stdout
        return wants_colour(os.environ, no_color=self.no_color, terminal=stream is not None and stream.isatty())


def wants_colour(environ: Mapping[str, str], *, no_color: bool, terminal: bool) -> bool:
    """--no-color and NO_COLOR always win; then FORCE_COLOR and CLICOLOR_FORCE; else a terminal that is not dumb."""
    if no_color or environ.get("NO_COLOR"):
        return False
    if any(environ.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return terminal and environ.get("TERM") != "dumb"


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
