"""The click application: subcommands by name from the table, errors to one sentence and the right exit status."""

import importlib
import io
import os
import sys
from typing import Any

import click
from click.shell_completion import CompletionItem, shell_complete

from signoff.cli import help, installed
from signoff.cli.commands import COMMANDS, OPTIONS
from signoff.cli.output import Output, folded, room
from signoff.domain.errors import Exit, SignoffError, UsageError
from signoff.domain.visible import visible

NAME = "signoff"
COMPLETION_VARIABLE = "_SIGNOFF_COMPLETE"


class Group(click.Group):
    """A group that answers a misspelt command with the one that was meant."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            import difflib

            near = difflib.get_close_matches(name, self.list_commands(ctx), n=1)
            hint = f'Did you mean "{ctx.command_path} {near[0]}"?' if near else f'Run "{ctx.command_path} --help".'
            raise UsageError(f'"{ctx.command_path}" has no command {name!r}', hint=hint)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Every summary whole: click would cut them to one line of the terminal."""
        commands = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.get_short_help_str(limit=200)) for name, one in commands if one])


class Application(Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module, _, attribute = entry.target.partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def get_help(self, ctx: click.Context) -> str:
        return help.text().rstrip("\n")

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """From the table: completing a command name must not import every command."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return [CompletionItem(name, help=e.summary) for name, e in COMMANDS.items() if name.startswith(incomplete)]


def _version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(installed.text(), nl=False)
        ctx.exit()


_EVERYWHERE = frozenset(name for names, _, _ in OPTIONS for name in names)
_KINDS: dict[str, dict[str, Any]] = {
    "--config": {"multiple": True},
    "--version": {"is_flag": True, "is_eager": True, "expose_value": False, "callback": _version},
}


def _options() -> list[click.Parameter]:
    """The options of the table; --help is click's own."""
    return [
        click.Option(list(names), help=meaning, metavar=value or None, **_KINDS.get(names[-1], {"is_flag": True}))
        for names, value, meaning in OPTIONS
        if names[-1] != "--help"
    ]


@click.pass_context
def _remember(
    ctx: click.Context, config: tuple[str, ...], debug: bool, quiet: bool, verbose: bool, no_color: bool
) -> None:
    if not all("=" in assignment for assignment in config):
        raise UsageError("-c wants KEY=VALUE", hint="Example: signoff -c sandbox.mode=read-only config list")
    flags = {key.strip(): value for key, _, value in (assignment.partition("=") for assignment in config)}
    ctx.obj = Output(quiet=quiet, debug=debug, no_color=no_color, verbose=verbose, flags=flags)


application = Application(
    NAME,
    callback=_remember,
    params=_options(),
    context_settings={"help_option_names": ["-h", "--help"]},
    help=help.ABOUT,
)


def run(arguments: list[str]) -> int:
    """Run one command line and give its exit status. Nothing escapes as a traceback unless --debug is given."""
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that cannot show a character gets its number
    debug = False
    try:
        if COMPLETION_VARIABLE in os.environ:
            return shell_complete(application, {}, NAME, COMPLETION_VARIABLE, os.environ[COMPLETION_VARIABLE])
        with application.make_context(NAME, arguments) as context:
            debug = context.params["debug"]
            status = application.invoke(context)
        return status if isinstance(status, int) else Exit.OK
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except (click.Abort, KeyboardInterrupt):
        return complain("interrupted", None, Exit.INTERRUPTED)
    except BrokenPipeError:
        raise  # nobody reads on: the entry point ends quietly
    except Exception as error:  # the last place that can say in a sentence what went wrong
        if debug:
            import traceback

            traceback.print_exception(error)
        return explain(error)


def explain(error: Exception) -> int:
    """One sentence for any error, and the exit status it has."""
    match error:
        case SignoffError():
            return complain(error.message, error.hint, error.exit)
        case click.exceptions.NoArgsIsHelpError(ctx=click.Context(command=click.Group() as group) as context):
            names = ", ".join(group.list_commands(context))
            return complain(f'"{context.command_path}" needs a command: {names}', _usage(context), Exit.USAGE)
        case click.NoSuchOption(option_name=option, ctx=click.Context() as context) if option in _EVERYWHERE:
            hint = f'Write it before the command: "{NAME} {option} {context.command_path.removeprefix(NAME).strip()}".'
            return complain(error.format_message(), hint, Exit.USAGE)
        case click.UsageError():
            return complain(error.format_message(), _usage(error.ctx), Exit.USAGE)
        case click.ClickException():
            return complain(error.format_message(), None, Exit.USAGE)
        case OSError() if not _somewhere():
            return complain("the current directory is gone", "Go to a directory that exists.", Exit.USAGE)
        case OSError():
            where = f": {error.filename}" if error.filename else ""
            return complain(f"the system refused: {error.strerror}{where}", None, Exit.INTERNAL)
        case _:
            reason = f"internal error: {type(error).__name__}: {error}"
            return complain(reason, "Please report it with the output of the same call under --debug.", Exit.INTERNAL)


def _somewhere() -> bool:
    try:
        os.getcwd()
    except OSError:
        return False
    return True


def _usage(context: click.Context | None) -> str:
    return f'Run "{context.command_path if context else NAME} --help" to see how it is used.'


def complain(sentence: str, hint: str | None, status: Exit) -> int:
    if sys.stderr is not None:
        sentence = " ".join(sentence.split())  # click breaks some of its sentences into lists
        lines = [f"signoff: {visible(sentence)}", *([f"  {hint}"] if hint else [])]
        click.echo("\n".join(folded(line, room(sys.stderr), 2) for line in lines), err=True)
    return status
