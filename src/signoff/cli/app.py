"""The click application: subcommands by name from the table, errors to one sentence and the right exit status."""

import importlib
import os
import sys

import click

from signoff.cli.commands import COMMANDS
from signoff.domain.errors import Exit, SignoffError


class LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module, _, attribute = entry.target.partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, help="Show stack traces.")
def application(debug: bool) -> None:
    """One door in front of everything a coding agent does."""


def run(arguments: list[str]) -> int:
    """Run one command line and give its exit status. Nothing escapes as a traceback unless --debug is given."""
    try:
        status = application.main(arguments, prog_name="signoff", standalone_mode=False)
        return status if isinstance(status, int) else Exit.OK
    except SignoffError as error:
        if "--debug" in arguments:
            raise
        print(f"signoff: {error.message}", file=sys.stderr)  # noqa: T201
        if error.hint:
            print(f"  {error.hint}", file=sys.stderr)  # noqa: T201
        return error.exit
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.UsageError as error:
        error.show()
        return Exit.USAGE
    except (click.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # so that the interpreter's last flush has somewhere to go
        return Exit.INTERRUPTED
