"""The line that remembers an approval, byte for byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.domain.errors import RulesInvalid
from signoff.domain.verdict import Decision, Layer, Source
from signoff.policy.execpolicy.amend import BANNED, network_line, opens_everything, prefix_line, with_line
from signoff.policy.execpolicy.language import read_rules
from signoff.policy.execpolicy.rule import NetworkRule, Protocol
from tests.clauses import requirement

LINE = 'prefix_rule(pattern=["npm", "run \\"x\\"", "größe"], decision="allow")'


def test_a_prefix_is_written_as_one_line_of_the_language() -> None:
    assert prefix_line(("npm", 'run "x"', "größe")) == LINE


def test_an_empty_prefix_is_refused() -> None:
    with pytest.raises(RulesInvalid, match="prefix rule requires at least one token"):
        prefix_line(())


HOSTS = [
    (Decision.ALLOW, None, 'network_rule(host="h", protocol="https", decision="allow")'),
    (Decision.DENY, 'a "b"', 'network_rule(host="h", protocol="https", decision="deny", justification="a \\"b\\"")'),
]


@pytest.mark.parametrize(("decision", "justification", "line"), HOSTS)
def test_a_host_is_written_as_one_line_of_the_language(
    decision: Decision, justification: str | None, line: str
) -> None:
    assert network_line(NetworkRule("h", Protocol.HTTPS, decision, Source(Layer.USER), justification)) == line


TEXTS = [
    ("", f"{LINE}\n"),
    ("# no end", f"# no end\n{LINE}\n"),
    ("a\n", f"a\n{LINE}\n"),
    (f"{LINE}\n", f"{LINE}\n"),
    (f"a\n{LINE}", f"a\n{LINE}"),
    (f" {LINE}\n", f" {LINE}\n{LINE}\n"),
]


@requirement("APR-055")
@pytest.mark.parametrize(("text", "expected"), TEXTS)
def test_a_line_is_added_once_and_never_glued_to_another(text: str, expected: str) -> None:
    assert with_line(text, LINE) == expected


@given(st.lists(st.text(st.characters(blacklist_categories=["Cs"])), min_size=1, max_size=4))
def test_whatever_is_remembered_reads_back_as_exactly_that(words: list[str]) -> None:
    text = with_line("", prefix_line(tuple(words)))
    (rule,) = read_rules(text, "default.rules").prefixes
    assert rule.pattern == tuple((word,) for word in words)
    assert with_line(text, prefix_line(tuple(words))) == text


def test_what_could_run_anything_is_banned() -> None:
    for prefix in [
        ("bash",),
        ("/bin/bash", "-lc"),
        ("python3", "-c"),
        ("sudo",),
        ("git",),
        ("npm", "run"),
        ("pwsh", "-ec"),
    ]:
        assert prefix in BANNED
    assert len(BANNED) >= 70
    assert ("git", "status") not in BANNED


@pytest.mark.parametrize(
    "line",
    [
        "",
        "/usr/bin/python3",
        "./python3",
        "python3.11 -c",
        "Python",
        "/opt/node-20",
        "npm",
        "npm exec",
        "uv run",
        "npx",
    ],
)
def test_a_program_is_banned_by_every_name_it_has(line: str) -> None:
    assert opens_everything(tuple(line.split()))


@pytest.mark.parametrize("line", ["python3 x.py", "npm test", "npm run build", "make", "cargo", "uv sync", "./run.sh"])
def test_words_that_say_what_is_run_are_not_banned(line: str) -> None:
    assert not opens_everything(tuple(line.split()))
