"""Data on stdout, talk on stderr, colour only where it is wanted."""

import json

import pytest

from signoff.cli.output import Output, Style, counted, folded, wants_colour


@pytest.mark.parametrize(
    ("environ", "no_color", "terminal", "colourful"),
    [
        ({}, False, True, True),
        ({}, False, False, False),
        ({}, True, True, False),
        ({"NO_COLOR": "1"}, False, True, False),
        ({"NO_COLOR": ""}, False, True, True),
        ({"TERM": "dumb"}, False, True, False),
        ({"FORCE_COLOR": "1"}, False, False, True),
        ({"FORCE_COLOR": "0"}, False, False, False),
        ({"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, False, True, False),
        ({"FORCE_COLOR": "1"}, True, True, False),
    ],
)
def test_who_decides_about_colour(environ: dict[str, str], no_color: bool, terminal: bool, colourful: bool) -> None:
    assert wants_colour(environ, no_color=no_color, terminal=terminal) is colourful


def test_only_what_was_asked_for_goes_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output()
    output.text("data")
    output.json({"b": 1, "a": [2]})
    output.say("on the way")
    output.warn("careful")
    captured = capsys.readouterr()
    assert captured.out == 'data\n{\n  "b": 1,\n  "a": [\n    2\n  ]\n}\n'
    assert captured.err == "on the way\nsignoff: warning: careful\n"
    assert json.loads(captured.out.removeprefix("data\n")) == {"a": [2], "b": 1}


def test_quiet_silences_talk_but_not_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output(quiet=True)
    output.say("on the way")
    output.warn("careful")
    assert capsys.readouterr().err == "signoff: warning: careful\n"


def test_paint_adds_colour_only_when_forced_or_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert Output().paint("fine", Style.GOOD) == "fine"
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert Output().paint("fine", Style.GOOD) == "\x1b[32mfine\x1b[0m"
    assert Output(no_color=True).paint("fine", Style.GOOD) == "fine"


def test_a_long_line_is_broken_between_words_and_nothing_of_it_is_lost() -> None:
    line = "warn  cgroups  not every limit can be enforced, /a/path/that/is/longer/than/the/whole/terminal and more"
    rows = folded(line, 40, 15).split("\n")
    assert rows[0] == "warn  cgroups  not every limit can be"
    assert all(row.startswith(" " * 15) for row in rows[1:])
    assert " ".join(" ".join(rows).split()) == " ".join(line.split())
    assert [len(row) <= 40 or len(row.split()) == 1 for row in rows] == [True] * len(rows)
    assert folded(line, None, 15) == line
    painted = f"  \x1b[2m{'a ' * 10}\x1b[0m"
    assert folded(painted, 22, 2) == painted.rstrip()  # colour takes no room


def test_one_of_something_is_not_several() -> None:
    assert [counted(number, "file") for number in (0, 1, 2)] == ["0 files", "1 file", "2 files"]
