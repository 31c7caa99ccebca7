"""What a person is shown of a command."""

import pytest

from signoff.domain.review import ListCommand, ParsedCommand, ReadCommand, SearchCommand, UnknownCommand
from signoff.policy.parsed_cmd import parse_command

CASES: list[tuple[str, list[ParsedCommand]]] = [
    ("cat README.md", [ReadCommand("cat README.md", "README.md", "README.md")]),
    ("cat -- -weird", [ReadCommand("cat -- -weird", "-weird", "-weird")]),
    ("cd src && cat main.py", [ReadCommand("cat main.py", "main.py", "src/main.py")]),
    ("head -n 50 a/b.txt", [ReadCommand("head -n 50 a/b.txt", "b.txt", "a/b.txt")]),
    ("sed -n '1,20p' x.py", [ReadCommand("sed -n '1,20p' x.py", "x.py", "x.py")]),
    ("nl -ba x.py | sed -n '1,9p'", [ReadCommand("nl -ba x.py", "x.py", "x.py")]),
    ("cat a.txt | head -5", [ReadCommand("cat a.txt", "a.txt", "a.txt")]),
    ("echo start && cat a", [ReadCommand("cat a", "a", "a")]),
    ("cat a; cat a", [ReadCommand("cat a", "a", "a")]),
    ("ls -la src | wc -l", [ListCommand("ls -la src", "src")]),
    ("ls", [ListCommand("ls")]),
    ("rg --files | head -50", [ListCommand("rg --files")]),
    ("git ls-files src", [ListCommand("git ls-files src", "src")]),
    ("find . -type f", [ListCommand("find . -type f", ".")]),
    ("find src -name '*.py'", [SearchCommand("find src -name '*.py'", "*.py", "src")]),
    ("rg -n 'foo bar' src", [SearchCommand("rg -n 'foo bar' src", "foo bar", "src")]),
    ("grep -rn TODO .", [SearchCommand("grep -rn TODO .", "TODO", ".")]),
    ("git grep TODO", [SearchCommand("git grep TODO", "TODO")]),
    ("rg TODO | sort | uniq -c", [SearchCommand("rg TODO", "TODO")]),
    ("cat a && npm test", [UnknownCommand("cat a && npm test")]),
    ("for f in *; do cat $f; done", [UnknownCommand("for f in *; do cat $f; done")]),
    ("find . -delete", [UnknownCommand("find . -delete")]),
    ("ls | xargs rm", [UnknownCommand("ls | xargs rm")]),
    ("rg x -l | xargs cat", [SearchCommand("rg x -l", "x")]),
    ("", [UnknownCommand("")]),
]


@pytest.mark.parametrize(("script", "expected"), CASES, ids=[script for script, _ in CASES])
def test_a_script_is_shown_as_what_it_does(script: str, expected: list[ParsedCommand]) -> None:
    assert parse_command(("bash", "-lc", script)) == tuple(expected)


def test_a_bare_command_is_shown_as_a_script_is() -> None:
    assert parse_command(("rg", "foo bar", "src")) == (SearchCommand("rg 'foo bar' src", "foo bar", "src"),)
    assert parse_command(("npm", "test")) == (UnknownCommand("npm test"),)
