"""What the model is told before the first word, and what a prompt brings along."""

import os
from pathlib import Path

import pytest

from signoff.agent.instructions import LONGEST, instructions
from signoff.agent.mentions import mentioned
from signoff.agent.modes import ASK, MODES, PLAN, mode_of, options
from signoff.agent.prompt import Surroundings, system
from signoff.agent.shape import problem
from signoff.domain.errors import UsageError
from tests.clauses import requirement

AROUND = Surroundings("/w", "Linux x86_64", "2026-01-02", "workspace-write", "off", "on-request")


@requirement("CLU-048")
def test_the_prompt_asks_the_agent_to_show_what_it_starts() -> None:
    said = system(AROUND, ASK)
    assert "work of several steps begin with `display`" in said
    assert "sandbox workspace-write, network off, approval on-request" in said
    assert "plan mode" not in said
    assert "plan mode: nothing can be changed" in system(AROUND, PLAN)


def test_the_nearest_instructions_come_last_and_equal_ones_once(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (tmp_path.parent / "AGENTS.md").write_text("outside the project")
    (tmp_path / "AGENTS.md").write_text("root")
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    (tmp_path / "GEMINI.md").write_text("gemini")
    (tmp_path / "a" / "CLAUDE.md").write_text("middle")
    (deep / "AGENTS.md").write_text("near " + "x" * LONGEST)
    found = [one.text[:10] for one in instructions(deep)]
    assert found == ["gemini", "root", "middle", "near xxxxx"]
    assert instructions(deep)[-1].text.endswith("(cut)")
    said = system(AROUND, ASK, instructions(deep))
    assert said.index("root") < said.index("near x")


def test_without_a_project_only_the_directory_itself_speaks(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("above")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "AGENTS.md").write_bytes(b"\xff here")
    assert [one.text for one in instructions(inside)] == ["\N{REPLACEMENT CHARACTER} here"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("look at @a.py", ("a.py",)),
        ("@a.py.", ("a.py",)),
        ("(@a.py, @sub/)", ("a.py", "sub/")),
        ('@"with space.txt"', ("with space.txt",)),
        ("me@a.py @nothing @@a.py", ()),
        ("@a.py and @a.py", ("a.py",)),
    ],
)
def test_a_mention_is_a_path_that_is_there(tmp_path: Path, text: str, found: tuple[str, ...]) -> None:
    (tmp_path / "a.py").touch()
    (tmp_path / "with space.txt").touch()
    (tmp_path / "sub").mkdir()
    assert mentioned(text, str(tmp_path)) == found


SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2},
        "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}, "maxItems": 2},
        "age": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]},
    },
    "required": ["name"],
    "additionalProperties": False,
    "$defs": {"tag": {"enum": ["a", "b"]}},
}


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ('{"name": "Bo"}', None),
        ('{"name": "Bo", "tags": ["a"], "age": null}', None),
        ("nonsense", "it is no JSON"),
        ('```json\n{"name": "Bo"}\n```', "code fence"),
        ("[]", "$ is not of type object"),
        ("{}", "$.name is missing"),
        ('{"name": "B"}', "minLength"),
        ('{"name": "Bo", "tags": ["c"]}', "$.tags[0] is none of"),
        ('{"name": "Bo", "tags": ["a", "a", "b"]}', "maxItems"),
        ('{"name": "Bo", "age": -1}', "does not fit anyOf"),
        ('{"name": "Bo", "more": 1}', "$.more must not be there"),
        ('{"name": true}', "$.name is not of type string"),
    ],
)
def test_the_shape_of_an_answer(text: str, wrong: str | None) -> None:
    import json

    import jsonschema

    found = problem(SCHEMA, text)
    assert found is None if wrong is None else wrong in (found or "")
    if text.startswith(("{", "[")):
        valid = jsonschema.Draft202012Validator(SCHEMA).is_valid(json.loads(text))
        assert valid is (found is None)


def test_modes_and_options_are_one_list() -> None:
    by_name = {option.id: option for option in options(("echo/echo",))}
    assert (
        [choice.value for choice in by_name["mode"].choices] == [mode.id for mode in MODES] == ["ask", "plan", "auto"]
    )
    assert [choice.value for choice in by_name["model"].choices] == ["echo/echo"]
    assert len(by_name["approval"].choices) == 4
    with pytest.raises(UsageError):
        mode_of("nonsense")


def test_a_link_tells_another_page_of_the_project_and_nothing_else(tmp_path: Path) -> None:
    project = tmp_path / "p"
    (project / ".git").mkdir(parents=True)
    (project / "AGENTS.md").write_text("tests first", encoding="utf-8")
    (project / "CLAUDE.md").symlink_to("AGENTS.md")
    (project / ".env").write_text("KEY=1", encoding="utf-8")
    (tmp_path / "outside.md").write_text("secret", encoding="utf-8")
    below = project / "a"
    below.mkdir()
    (below / "AGENTS.md").symlink_to("../.env")
    (below / "CLAUDE.md").symlink_to("../../outside.md")
    os.mkfifo(below / "GEMINI.md")
    assert [one.text for one in instructions(below)] == ["tests first"]
