"""Write the reference part of docs/cli.md from the commands themselves; what stands above its first line is kept.

make docs                                writes the page
python scripts/generate_cli.py --check   ends with 1 where the page and the commands differ
"""

import inspect
import pathlib
import re
import sys
from collections.abc import Iterator

import click

from signoff.cli.app import application

PAGE = pathlib.Path(__file__).parents[1] / "docs" / "cli.md"
BEGIN = "<!-- From here on written by `make docs`, from the commands themselves. -->"
EXAMPLES = "\b\nExamples:"


def page(old: str) -> str:
    preamble, _, _ = old.partition(BEGIN)
    return preamble + BEGIN + "\n\n" + reference() + "\n"


def root() -> click.Context:
    return click.Context(application, info_name="signoff", **application.context_settings)


def reference() -> str:
    commands = list(walk(application, root()))
    homes: dict[int, str] = {}  # a command that has two names is described under the shorter one
    for command, context in sorted(commands, key=lambda pair: len(pair[1].command_path)):
        homes.setdefault(id(command), context.command_path)
    chapters = (line for command, context in commands for line in chapter(command, context, homes[id(command)]))
    return "\n".join(["## Commands", *listing(application, root()), *chapters])


def listing(group: click.Group, context: click.Context) -> Iterator[str]:
    yield from ("", "| command | what it does |", "|---|---|")
    for command, inner in members(group, context):
        yield f"| [`{inner.command_path}`](#{anchor(inner.command_path)}) | {summary(command)} |"


def members(group: click.Group, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    for name in sorted(group.list_commands(context)):
        command = group.get_command(context, name)
        assert command is not None
        yield command, click.Context(command, info_name=name, parent=context)


def walk(group: click.Group, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    """Every command below, groups before what they hold."""
    for command, inner in members(group, context):
        yield command, inner
        if isinstance(command, click.Group):
            yield from walk(command, inner)


def chapter(command: click.Command, context: click.Context, home: str) -> Iterator[str]:
    prose, _, examples = inspect.cleandoc(command.help or "").partition(EXAMPLES)
    yield from ("", f"{'#' * (2 + context.command_path.count(' '))} {context.command_path}", "")
    if home != context.command_path:
        yield f"The same as [`{home}`](#{anchor(home)})."
        return
    yield from flowing(prose)
    if isinstance(command, click.Group):
        yield from listing(command, context)
    else:
        yield from ("", "```", " ".join([context.command_path, *command.collect_usage_pieces(context)]), "```")
    options = [one for one in command.params if isinstance(one, click.Option)]
    if options:
        yield from ("", "| option | meaning |", "|---|---|", *(row(option, context) for option in options))
    yield from ("", "Examples:", "", "```", *(line.strip() for line in examples.strip().splitlines()), "```")


def flowing(prose: str) -> Iterator[str]:
    """Paragraphs, each on one line; those whose lines are kept apart in the help are kept apart here."""
    for number, paragraph in enumerate(prose.strip().split("\n\n")):
        if number:
            yield ""
        lines = paragraph.removeprefix("\b\n").splitlines()
        yield escaped(("\\\n" if paragraph.startswith("\b") else " ").join(lines))


def row(option: click.Option, context: click.Context) -> str:
    names = ", ".join([*option.opts, *option.secondary_opts])
    choices = list(option.type.choices) if isinstance(option.type, click.Choice) else []
    takes = "" if option.is_flag or choices else f" {option.make_metavar(context)}"
    notes = [f"One of {', '.join(f'`{one}`' for one in choices)}."] if choices else []
    if default(option) is not None:
        notes.append(f"Default: `{default(option)}`.")
    if isinstance(option.type, click.IntRange | click.FloatRange) and (limits := bounds(option.type)):
        notes.append(f"{limits}.")
    if option.envvar:
        notes.append(f"Variable: `{option.envvar}`.")
    if option.required:
        notes.append("Required.")
    meaning = " ".join([escaped(option.help or ""), *notes])
    return f"| `{names}{takes.replace(' RANGE', '').replace('|', chr(92) + '|')}` | {meaning} |"


def default(option: click.Option) -> object:
    """What holds when nothing is said; None where the help says it in words, or where it is simply off."""
    return option.default if option.show_default and not option.is_flag else None


def bounds(numbers: click.IntRange | click.FloatRange) -> str:
    """Limits that are not obvious."""
    low = None if numbers.min in (None, 0, 1) else f"at least {numbers.min:g}"
    high = None if numbers.max is None else f"at most {numbers.max:g}"
    return ", ".join(part for part in (low, high) if part).capitalize()


def summary(command: click.Command) -> str:
    return escaped(inspect.cleandoc(command.help or "").split("\n\n")[0].replace("\n", " "))


def escaped(text: str) -> str:
    """Options as code; and what Markdown would take for a tag, the end of a cell or emphasis stays what it is."""
    safe = text.replace("<", "&lt;").replace("|", "\\|").replace("*", "\\*")
    return re.sub(r"(?<![\w`-])(--[a-z][\w-]*(=\S+\w)?)", r"`\1`", safe)


def anchor(path: str) -> str:
    return path.replace(" ", "-")


def main() -> int:
    old = PAGE.read_text(encoding="utf-8")
    new = page(old)
    if "--check" in sys.argv[1:]:
        if new != old:
            print("docs/cli.md does not say what the commands say: run `make docs`", file=sys.stderr)
        return int(new != old)
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
