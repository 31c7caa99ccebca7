"""`version` and `--help` answer at once, and say what the application would say."""

import json
import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Callable

import click
import pytest

from signoff import __version__
from signoff.cli import help, installed, main
from signoff.cli.app import application
from signoff.cli.commands import COMMANDS, EXAMPLES, OPTIONS
from signoff.domain.errors import Exit
from tests.clauses import requirement
from tests.cli.program import PROGRAM, signoff

BARE = [sys.executable, "-c", "import sys; print(*sorted(sys.modules))"]
SPY = "import sys; sys.argv[0] = 'signoff'\nfrom signoff.cli.main import main\ntry: main()\nfinally: print(*sorted(sys.modules))"


def modules_beyond_python(*words: str) -> set[str]:
    bare = subprocess.run(BARE, capture_output=True, text=True, check=True, timeout=60).stdout.split()
    spied = subprocess.run([sys.executable, "-c", SPY, *words], capture_output=True, text=True, check=True, timeout=60)
    return set(spied.stdout.splitlines()[-1].split()) - set(bare)


INSTANT = {"signoff", "signoff.cli", "signoff.cli.main"}


@pytest.mark.parametrize(
    ("words", "modules"),
    [
        (["version"], INSTANT | {"signoff.cli.installed"}),
        (["version", "--json"], INSTANT | {"signoff.cli.installed"}),
        (["--version"], INSTANT | {"signoff.cli.installed"}),
        (["--help"], INSTANT | {"signoff.cli.help", "signoff.cli.commands"}),
        ([], INSTANT | {"signoff.cli.help", "signoff.cli.commands"}),
    ],
    ids=["version", "version as json", "version option", "help", "nothing"],
)
def test_the_instant_answers_import_nothing_else(words: list[str], modules: set[str]) -> None:
    assert modules_beyond_python(*words) == modules


@requirement("ACP-011")
def test_version_names_what_is_installed(home: pathlib.Path) -> None:
    text, described = signoff("version"), signoff("version", "--json")
    assert (text.status, described.status, text.err + described.err) == (0, 0, "")
    facts = json.loads(described.out)
    assert list(facts) == ["name", "version", "commit", "python", "platform"]
    assert (facts["name"], facts["version"]) == ("signoff", __version__)
    assert facts["python"] == ".".join(map(str, sys.version_info[:3]))
    assert facts["commit"] is None or re.fullmatch(r"[0-9a-f]{40}", facts["commit"])
    assert text.out.startswith(f"signoff {__version__}")


def test_golden_version_json_has_one_shape(golden: Callable[[str, str], None]) -> None:
    shape = {name: type(value or "").__name__ for name, value in json.loads(installed.json()).items()}
    golden("cli/version.shape.json", json.dumps(shape, indent=2) + "\n")


@pytest.mark.parametrize("words", [["-q", "version"], ["--no-color", "version", "--json"], ["-q", "--help"]])
def test_the_application_says_the_same_as_the_instant_answer(words: list[str], home: pathlib.Path) -> None:
    assert signoff(*words) == signoff(*words[1:])


def test_help_lists_every_command_and_every_option_of_the_application() -> None:
    text = help.text()
    for name, entry in COMMANDS.items():
        assert re.search(rf"^  {re.escape(name)} +{re.escape(entry.summary)}$", text, re.MULTILINE), name
    context = application.make_context("signoff", ["version"])
    known = {tuple(parameter.opts) for parameter in application.get_params(context)}
    assert {tuple(names) for names, _, _ in OPTIONS} == known


def test_every_example_of_the_help_text_is_a_command_that_exists() -> None:
    context = click.Context(application)
    for example in EXAMPLES:
        program, name, *_ = example.split()
        assert (program, application.get_command(context, name) is not None) == ("signoff", True), example


def test_the_entry_point_knows_the_exit_codes_by_heart() -> None:
    assert (main.INTERNAL, main.INTERRUPTED, main.PIPE_CLOSED) == (Exit.INTERNAL, Exit.INTERRUPTED, Exit.PIPE_CLOSED)


@pytest.mark.parametrize("words", [["version"], ["--help"], ["-q", "version"], ["-q", "--help"]], ids=" ".join)
@pytest.mark.parametrize(
    ("sink", "status", "sentence"),
    [("a pipe nobody reads", 141, ""), ("/dev/full", 5, "signoff: the system refused: No space left on device\n")],
)
def test_output_that_cannot_be_written_ends_without_a_traceback(
    words: list[str], sink: str, status: int, sentence: str, home: pathlib.Path
) -> None:
    if sink == "/dev/full":
        target = os.open(sink, os.O_WRONLY)
    else:
        reader, target = os.pipe()
        os.close(reader)
    ended = subprocess.run([PROGRAM, *words], stdout=target, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    os.close(target)
    assert (ended.returncode, ended.stderr) == (status, sentence)
