"""What a person or a script sees: data on stdout, talk on stderr, colour only where it is wanted and never alone."""

import enum
import os
import re
import sys
import time
from collections.abc import Mapping
from typing import TextIO

import click
import msgspec

from signoff.domain.visible import spelled, steerless, visible
from signoff.domain.visible import width as columns


class Style(enum.Enum):
    """What a look means, so that a command never names one. No white and no black: one of them is the background."""

    GOOD = "32"
    WARNING = "33"
    BAD = "31"
    TITLE = "1"
    FAINT = "2"


class Output(msgspec.Struct, frozen=True):
    """How this call talks. Commands get it with `@click.pass_obj`."""

    quiet: bool = False
    debug: bool = False
    no_color: bool = False
    verbose: bool = False
    flags: Mapping[str, str] = {}  # settings given with -c, by key

    def text(self, line: str, hang: int | None = None) -> None:
        """A line of what was asked for. With `hang` a terminal shows a long one in several, indented by so much."""
        room = self.room()
        line = line if room is None else steerless(line)  # a file gets what it asked for, to the byte
        click.echo(line if hang is None else folded(line, room, hang), color=True)

    def room(self) -> int | None:
        return room(sys.stdout)

    def json(self, value: object) -> None:
        """What was asked for, as the one JSON document on stdout."""
        click.echo(spelled(msgspec.json.format(msgspec.json.encode(value), indent=2).decode()))

    def say(self, line: str) -> None:
        """A word on the way, for a person; --quiet silences it."""
        if not self.quiet:
            rows = (folded(row, room(sys.stderr), 2) for row in steerless(line).split("\n"))
            click.echo("\n".join(rows), err=True, color=True)

    def note(self, line: str) -> None:
        """A step of something that runs for long, with the time; for whoever asked with -v."""
        if self.verbose and not self.quiet:
            click.echo(f"{time.strftime('%H:%M:%S')} {visible(line)}", err=True)

    def warn(self, line: str) -> None:
        click.echo(folded(f"signoff: warning: {visible(line)}", room(sys.stderr), 2), err=True)

    def paint(self, text: str, style: Style, *, err: bool = False) -> str:
        return f"\x1b[{style.value}m{text}\x1b[0m" if text and self.colourful(err=err) else text

    def colourful(self, *, err: bool = False) -> bool:
        stream = sys.stderr if err else sys.stdout
        return wants_colour(os.environ, no_color=self.no_color, terminal=stream is not None and stream.isatty())


def room(stream: TextIO | None) -> int | None:
    """The columns of the terminal that the stream is; None where it is none, and lines have any length."""
    try:
        return None if stream is None else max(os.get_terminal_size(stream.fileno()).columns, 40)
    except (OSError, ValueError):
        return None


def folded(line: str, room: int | None, hang: int) -> str:
    """A line broken between words so that it fits, all but its first part indented. A word that is too long stays whole."""
    if room is None:
        return line
    rows, row = [], ""
    for word in re.findall(r" *[^ ]+", line):
        if row.strip() and columns(click.unstyle(row + word)) > room:
            rows.append(row)
            row = " " * hang + word.lstrip()
        else:
            row += word
    return "\n".join([*rows, row])


def counted(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def wants_colour(environ: Mapping[str, str], *, no_color: bool, terminal: bool) -> bool:
    """--no-color and NO_COLOR always win; then FORCE_COLOR and CLICOLOR_FORCE; else a terminal that is not dumb."""
    if no_color or environ.get("NO_COLOR"):
        return False
    if any(environ.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return terminal and environ.get("TERM") != "dumb"


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
