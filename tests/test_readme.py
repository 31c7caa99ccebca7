"""The README and its translation say the same, and everything they point to exists."""

import re
import runpy
from pathlib import Path

import pytest

from signoff.cli.commands import COMMANDS

ROOT = Path(__file__).parents[1]
NAMES = ("README.md", "README.zh-CN.md")
TABLE = runpy.run_path(str(ROOT / "scripts/readme_figures.py"))["table"]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_translation_shows_the_same_figures() -> None:
    assert TABLE(text(NAMES[1])) == TABLE(text(NAMES[0])), "run `make figures`"


def test_the_translation_has_the_same_chapters_links_and_commands() -> None:
    original, translation = map(text, NAMES)
    chapters = [len(re.findall(r"^## ", one, re.MULTILINE)) for one in (original, translation)]
    assert chapters[0] == chapters[1]
    links = [set(re.findall(r"\]\(((?!README)[^)]+)\)", one)) for one in (original, translation)]
    assert links[0] == links[1]
    commands = [
        re.findall(r"^(?:signoff|make|export) .*?(?=  |$)", one, re.MULTILINE) for one in (original, translation)
    ]
    assert commands[0] == commands[1]


@pytest.mark.parametrize("name", NAMES)
def test_every_link_leads_somewhere(name: str) -> None:
    places = re.findall(r"\]\(([^)#]+)[^)]*\)", text(name))
    assert [place for place in places if not (ROOT / place).exists()] == []


def test_every_command_named_exists() -> None:
    named = set(
        re.findall(r"signoff ([a-z]+)", " ".join(re.findall(r"`[^`]+`|^signoff .*$", text(NAMES[0]), re.MULTILINE)))
    )
    assert named - set(COMMANDS) == set()
