"""Our rule language against the program it comes from, where that is at hand (`make oracle` fetches it)."""

import json
import os
import pathlib
import random
import subprocess
import tempfile
from collections.abc import Iterator

import pytest

from signoff.cli.execpolicy import report
from signoff.domain.errors import RulesInvalid
from signoff.policy.execpolicy.language import read_rules
from signoff.policy.ruleset import Rules

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
ORACLE = CACHE / "signoff-oracle" / "codex"
NOBODY = 65534
WORDS = ["git", "npm", "ls", "push", "status", "-f", "größe", 'a "b"', "x y", ""]
FILES, COMMANDS = 60, 3

pytestmark = pytest.mark.skipif(not ORACLE.exists(), reason=f"{ORACLE} is not here; `make oracle` fetches it")


def ask(folder: pathlib.Path, text: str, command: list[str]) -> subprocess.CompletedProcess[str]:
    """As an unprivileged user where we can choose one."""
    rules = folder / "a.rules"
    rules.write_text(text, encoding="utf-8")
    own = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    with ORACLE.open("rb") as program:  # which may lie where that user cannot look
        return subprocess.run(
            ["codex", "execpolicy", "check", "-r", rules, "--", *command],
            executable=f"/proc/self/fd/{program.fileno()}",
            pass_fds=[program.fileno()],
            env={"HOME": str(folder), "CODEX_HOME": str(folder), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
            **own,  # type: ignore[call-overload]
        )


@pytest.fixture
def folder() -> Iterator[pathlib.Path]:
    """A directory everybody can reach, which pytest's own are not."""
    with tempfile.TemporaryDirectory() as path:
        pathlib.Path(path).chmod(0o755)
        yield pathlib.Path(path)


def written(choice: random.Random) -> str:
    def pattern() -> list[object]:
        return [
            choice.sample(WORDS, choice.randint(2, 3)) if choice.random() < 0.4 else choice.choice(WORDS)
            for _ in range(choice.randint(1, 3))
        ]

    def rule() -> str:
        parts = [f"pattern={json.dumps(pattern(), ensure_ascii=False)}"]
        if choice.random() < 0.8:
            parts.append(f'decision="{choice.choice(["allow", "prompt", "forbidden"])}"')
        if choice.random() < 0.3:
            parts.append('justification="because"')
        return f"prefix_rule({', '.join(parts)})"

    return "\n".join(rule() for _ in range(choice.randint(0, 6))) + "\n"


def test_the_same_rules_match_with_the_same_answer_byte_for_byte(folder: pathlib.Path) -> None:
    choice = random.Random(20_260)
    for _ in range(FILES):
        text = written(choice)
        known = Rules.of([read_rules(text, "a.rules")])
        for _ in range(COMMANDS):
            command = [choice.choice(WORDS[:-1]), *choice.choices(WORDS, k=choice.randint(0, 3))]
            told = ask(folder, text, command)
            assert told.returncode == 0, told.stderr
            ours = json.dumps(report(known, tuple(command)), ensure_ascii=False, separators=(",", ":"))
            assert ours == told.stdout.strip(), (text, command)


REFUSED = [
    ('prefix_rule(["a"], decision="deny")', "invalid decision: deny"),
    ("prefix_rule([])", "invalid pattern element: pattern cannot be empty"),
    ('prefix_rule(["a", []])', "invalid pattern element: pattern alternatives cannot be empty"),
    ('prefix_rule(["a", 1])', "pattern element must be a string or list of strings (got int)"),
    ('prefix_rule(["a", ["b", 1]])', "pattern alternative must be a string (got int)"),
    ('prefix_rule(["a"], justification=" ")', "invalid rule: justification cannot be empty"),
    ('prefix_rule(["a"], match=[""])', "invalid example: example cannot be an empty string"),
    ('prefix_rule(["a"], match=[[]])', "invalid example: example cannot be an empty list"),
    ('prefix_rule(["a"], match=[1])', "example must be a string or list of strings (got int)"),
    ('prefix_rule(["a"], match=[["a", 1]])', "example tokens must be strings (got int)"),
    ('prefix_rule(["a"], match=["\'"])', "example string has invalid shell syntax"),
    ('prefix_rule(["a"], match=["b"])', "expected every example to match at least one rule"),
    ('prefix_rule(["a"], not_match=["a b"])', "expected example to not match rule"),
    ('prefix_rule(["a"], because="x")', "extra named parameter(s)"),
    ('load("x", "y")', None),
    ("prefix_rule(", "Parse error"),
    ('prefix_rule(("a",))', None),
]


@pytest.mark.parametrize(("text", "said"), REFUSED)
def test_what_it_refuses_we_refuse_in_the_same_words(folder: pathlib.Path, text: str, said: str | None) -> None:
    told = ask(folder, text, ["a"])
    with pytest.raises(RulesInvalid) as refused:
        read_rules(text, "a.rules")
    assert told.returncode != 0
    if said is not None:
        assert said in told.stderr
        assert said in refused.value.message
