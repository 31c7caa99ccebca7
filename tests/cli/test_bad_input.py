"""Bad input on every command: the right exit status, one clear sentence, never a traceback.

The cases are made from the command table, so that a new command is covered the moment it has a row.
"""

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from signoff.cli.app import application, run
from signoff.domain.errors import SignoffError
from tests.clauses import requirement
from tests.cli.program import PROGRAM, Ended, signoff

NEEDS_NO_SETTINGS = {
    "sessions list",
    "audit list",
    "demo",
    "policy init",
    "redact",
    "tools list",
    "tools schema",
    "version",
    "completion",
    "config path",
    "config schema",
    "config trust",
}
"""Commands that work whatever the configuration says."""


def leaves(group: click.Group, *words: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None, name
        if isinstance(command, click.Group):
            yield (*words, name), command
            yield from leaves(command, *words, name)
        else:
            yield (*words, name), command


ALL = dict(leaves(application))
LEAVES = {words: command for words, command in ALL.items() if not isinstance(command, click.Group)}
every_command = pytest.mark.parametrize("words", ALL, ids=" ".join)
every_leaf = pytest.mark.parametrize("words", LEAVES, ids=" ".join)


def arguments(words: tuple[str, ...]) -> list[click.Argument]:
    return [parameter for parameter in LEAVES[words].params if isinstance(parameter, click.Argument)]


def samples(words: tuple[str, ...]) -> list[str]:
    """Something in the place of every required argument."""
    chosen = [a.type.choices[0] if isinstance(a.type, click.Choice) else "x" for a in arguments(words) if a.required]
    return [str(choice) for choice in chosen]


def is_one_sentence(ended: Ended) -> bool:
    lines = ended.err.splitlines()
    return (
        ended.out == ""
        and lines[0].startswith("signoff: ")
        and all(line.startswith("  ") for line in lines[1:])
        and len(lines) <= 2
    )


@requirement("ACP-014")
@every_leaf
def test_an_unknown_option_is_an_argument_error(words: tuple[str, ...], home: Path) -> None:
    ended = signoff(*words, "--no-such-option")
    assert (ended.status, is_one_sentence(ended)) == (2, True), ended


@every_leaf
def test_an_extra_argument_is_an_argument_error(
    words: tuple[str, ...], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if any(argument.nargs == -1 for argument in arguments(words)):
        pytest.skip("takes any number of arguments")
    status = run([*words, *samples(words), *["x"] * sum(not a.required for a in arguments(words)), "one-too-many"])
    assert (status, is_one_sentence(Ended(status, *capsys.readouterr()))) == (2, True)


@every_leaf
def test_a_missing_argument_is_an_argument_error(
    words: tuple[str, ...], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not samples(words):
        pytest.skip("needs no argument")
    status = run([*words])
    assert (status, is_one_sentence(Ended(status, *capsys.readouterr()))) == (2, True)


@every_command
def test_help_of_every_command_has_examples_that_start_with_it(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*words, "--help"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    usage, _, rest = captured.out.partition("\n")
    examples = [
        line.strip() for line in rest.partition("Examples:")[2].partition("\n\n")[0].splitlines() if line.strip()
    ]
    assert usage.startswith(f"Usage: signoff {' '.join(words)}")
    assert examples, "no examples"
    assert any(f"signoff {' '.join(words)}" in example for example in examples), examples


def test_every_command_that_speaks_json_has_its_shape_on_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    rows = [row.split("|")[1] for row in page.partition("| command | JSON |")[2].partition("\n\n")[0].splitlines()[2:]]
    named = {name for row in rows for name in row.split("`")[1::2]}
    assert named == {" ".join(words) for words, c in LEAVES.items() if any("--json" in p.opts for p in c.params)}


@pytest.mark.parametrize("words", [words for words, c in ALL.items() if isinstance(c, click.Group)], ids=" ".join)
def test_an_unknown_subcommand_is_an_argument_error(
    words: tuple[str, ...], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = run([*words, "no-such-command"])
    assert (status, is_one_sentence(Ended(status, *capsys.readouterr()))) == (2, True)


@pytest.mark.parametrize("words", [words for words, c in ALL.items() if isinstance(c, click.Group)], ids=" ".join)
def test_a_missing_subcommand_is_answered_with_those_there_are(
    words: tuple[str, ...], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = run([*words])
    ended = Ended(status, *capsys.readouterr())
    assert (status, is_one_sentence(ended)) == (2, True)
    assert ended.err.startswith(f'signoff: "signoff {" ".join(words)}" needs a command: ')


@pytest.mark.parametrize("words", ["conifg", "doctr", "vrsion"])
def test_a_misspelt_command_is_answered_with_the_one_that_was_meant(words: str, home: Path) -> None:
    ended = signoff(words)
    assert (ended.status, is_one_sentence(ended), "Did you mean" in ended.err) == (2, True, True)


def test_an_option_of_all_commands_behind_one_is_told_where_it_belongs(home: Path) -> None:
    ended = signoff("audit", "list", "--no-color")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.endswith('\n  Write it before the command: "signoff --no-color audit list".\n')


@every_leaf
def test_a_malformed_configuration_is_a_configuration_error(words: tuple[str, ...], home: Path) -> None:
    write_config(home, b"approval = [\n")
    ended = signoff(*words, *samples(words), cwd=home)
    assert "Traceback" not in ended.err
    if ended.status == 3:
        assert is_one_sentence(ended), ended
        assert "config.toml:1:" in ended.err
    elif " ".join(words) == "doctor":
        assert (ended.status, "config.toml:1:" in ended.out) == (1, True)
    else:
        # made-up arguments may be refused before any setting is read
        assert ended.status not in (0, 5) or " ".join(words) in NEEDS_NO_SETTINGS, ended


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"approval = never\n", "{path}:1: Invalid value"),
        (b"# \xe9t\xe9\napproval = 'never'\n", "{path}:1: not UTF-8 text"),
        (b"approval = 3\n", "{path}:1: approval takes one of untrusted, on-failure, on-request, never, not 3"),
        (None, "cannot read {path}: it is not a regular file"),
    ],
    ids=["malformed", "not UTF-8", "wrong type", "a directory"],
)
def test_every_way_a_configuration_file_can_be_bad(content: bytes | None, sentence: str, home: Path) -> None:
    path = write_config(home, content)
    ended = signoff("config", "list")
    assert (ended.status, ended.out) == (3, "")
    assert ended.err.splitlines()[0] == f"signoff: {sentence.format(path=path)}"


@pytest.mark.parametrize("name", ["config.toml", "policy.toml", "rules/a.rules", "grants.toml"])
def test_a_file_of_ours_that_everybody_can_change_is_not_obeyed(name: str, home: Path) -> None:
    path = home / ".config/signoff" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")
    path.chmod(0o666)
    ended = signoff("why", "--", "ls")
    assert (ended.status, ended.out) == (3, "")
    assert ended.err.startswith(f"signoff: cannot read {path}: others can change it\n")
    assert f"chmod go-w {path}" in ended.err


def test_a_configuration_file_one_may_not_read(home: Path) -> None:
    path = write_config(home, b"approval = 'never'\n")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("root reads everything")
    assert signoff("config", "list") == (3, "", f"signoff: cannot read {path}: Permission denied\n")


@pytest.mark.parametrize(
    "words",
    [("config", "list"), ("config", "schema"), ("doctor",), ("completion", "bash"), ("config", "--help")],
    ids=" ".join,
)
def test_a_closed_pipe_ends_quietly(words: tuple[str, ...], home: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run([PROGRAM, "-q", *words], stdout=writer, stderr=subprocess.PIPE, check=False, timeout=60)
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (141, b"")


def test_no_stdout_at_all_is_no_error(home: Path) -> None:
    ended = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" config list >&-', PROGRAM], stderr=subprocess.PIPE, check=False, timeout=60
    )
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_ctrl_c_ends_with_130_and_one_sentence(home: Path) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job hands down an ignored signal
    reader, writer = os.pipe()
    os.write(writer, b"half a ke")
    process = subprocess.Popen([PROGRAM, "config", "set", "model.key", "-"], stdin=reader, stderr=subprocess.PIPE)
    os.close(reader)
    for _ in range(600):
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.1)
        if unread(writer) == 0:  # it has read what was there and waits for more
            break
    process.send_signal(signal.SIGINT)
    _, talk = process.communicate(timeout=60)
    os.close(writer)
    assert (process.returncode, talk) == (130, b"signoff: interrupted\n")
    assert not (home / ".config").exists()


def unread(pipe: int) -> int:
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4), sys.byteorder)


def test_a_terminal_that_lacks_a_character_gets_its_number(home: Path) -> None:
    ended = signoff("-c", "project_id=a→b", "config", "get", "project_id", PYTHONIOENCODING="latin-1")
    assert ended == (0, "a\\u2192b\n", "")


def all_errors(kind: type[SignoffError] = SignoffError) -> list[type[SignoffError]]:
    """Those of the tree; what a room derives from one for itself has the same status."""
    found = [kind, *(error for child in kind.__subclasses__() for error in all_errors(child))]
    return [error for error in found if error.__module__ == SignoffError.__module__]


@requirement("ACP-003")
@pytest.mark.parametrize("kind", all_errors(), ids=lambda kind: kind.code)
def test_every_error_of_the_tree_is_one_sentence_with_its_own_status(
    kind: type[SignoffError], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    def fail(*_: object) -> None:
        raise kind("it went wrong", hint="Mend it.")

    monkeypatch.setattr("signoff.cli.wiring.configuration", fail)
    assert run(["config", "list"]) == kind.exit
    assert capsys.readouterr() == ("", "signoff: it went wrong\n  Mend it.\n")


def test_an_error_nobody_foresaw_is_one_sentence_and_with_debug_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    def explode(*_: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr("signoff.cli.wiring.configuration", explode)
    assert run(["config", "list"]) == 5
    assert capsys.readouterr().err.splitlines()[0] == "signoff: internal error: RuntimeError: boom"
    assert run(["--debug", "config", "list"]) == 5
    assert "Traceback" in capsys.readouterr().err


def write_config(home: Path, content: bytes | None) -> Path:
    path = home / ".config" / "signoff" / "config.toml"
    path.parent.mkdir(parents=True)
    path.mkdir() if content is None else path.write_bytes(content)
    return path
