"""The command reference: written from the commands, and every command says what it is for."""

import inspect
import re
import runpy
from pathlib import Path

import click
import pytest

from signoff.cli import help
from signoff.cli.app import application
from signoff.cli.commands import COMMANDS

ROOT = Path(__file__).parents[2]
GENERATOR = runpy.run_path(str(ROOT / "scripts/generate_cli.py"))
EVERY = {context.command_path: command for command, context in GENERATOR["walk"](application, GENERATOR["root"]())}


def test_docs_cli_md_says_what_the_commands_say() -> None:
    page = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    assert GENERATOR["page"](page) == page, "run `make docs`"


@pytest.mark.parametrize("path", EVERY)
def test_a_command_has_a_summary_of_one_line_examples_and_options_that_say_what_they_do(path: str) -> None:
    command = EVERY[path]
    prose, _, examples = inspect.cleandoc(command.help or "").partition("\b\nExamples:\n")
    summary = prose.split("\n\n")[0].strip()
    assert re.fullmatch(r"[A-Z][^\n]{10,84}\.", summary), summary
    assert path in examples
    mute = [one.name for one in command.params if isinstance(one, click.Option) and len(one.help or "") < 15]
    assert mute == []


@pytest.mark.parametrize("path", EVERY)
def test_help_fits_on_a_terminal_of_80_columns(path: str) -> None:
    context = click.Context(EVERY[path], info_name=path, terminal_width=80)
    assert [line for line in EVERY[path].get_help(context).splitlines() if len(line) > 80] == []


def test_the_list_of_commands_fits_on_a_terminal_of_80_columns() -> None:
    assert max(map(len, help.text().splitlines())) <= 80


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_of_commands_gives_each_the_summary_it_gives_itself(name: str) -> None:
    assert inspect.cleandoc(EVERY[f"signoff {name}"].help or "").split("\n\n")[0] == COMMANDS[name].summary


def test_every_link_of_the_page_leads_to_a_heading() -> None:
    page = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    headings = {line.lstrip("# ").replace(" ", "-").lower() for line in page.splitlines() if line.startswith("#")}
    assert set(re.findall(r"\(#([\w-]+)\)", page)) <= headings
