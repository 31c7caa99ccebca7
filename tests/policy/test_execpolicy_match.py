"""Matching: token by token from the first word, the order of writing kept, restrictive rules reaching further."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.domain.verdict import Decision, Layer, Source
from signoff.policy.execpolicy.match import PrefixIndex
from signoff.policy.execpolicy.rule import PrefixRule

HERE = Source(Layer.FLAG)
WORDS = st.sampled_from(["git", "npm", "push", "-f", "a", "b"])
PATTERNS = st.lists(st.lists(WORDS, min_size=1, max_size=3, unique=True).map(tuple), min_size=1, max_size=4)
RULES = st.lists(st.builds(lambda p, d: PrefixRule(tuple(p), d, HERE), PATTERNS, st.sampled_from(Decision)), max_size=8)


def rule(decision: Decision, *pattern: str) -> PrefixRule:
    return PrefixRule(tuple(tuple(position.split("|")) for position in pattern), decision, HERE)


def test_rules_are_found_in_the_order_they_were_written_and_duplicates_twice() -> None:
    allow, ask = rule(Decision.ALLOW, "git", "status|diff"), rule(Decision.ASK, "git")
    index = PrefixIndex.of([allow, ask, allow])
    found = index.lookup(("git", "status", "-s"))
    assert [(one.rule, one.prefix) for one in found] == [
        (allow, ("git", "status")),
        (ask, ("git",)),
        (allow, ("git", "status")),
    ]
    assert index.lookup(("gits",)) == index.lookup(("GIT", "status")) == ()


RESOLVED = [
    (("/usr/bin/git", "x"), "/usr/bin/git"),
    (("/opt/git", "x"), None),
    (("/opt/bin/ls",), "/opt/bin/ls"),
    (("./ls",), None),
]


@pytest.mark.parametrize(("words", "program"), RESOLVED)
def test_a_path_is_resolved_to_a_name_only_where_the_program_may_live(
    words: tuple[str, ...], program: str | None
) -> None:
    index = PrefixIndex.of(
        [rule(Decision.ALLOW, "git"), rule(Decision.ALLOW, "ls")], executables={"git": ("/usr/bin/git",)}
    )
    assert index.lookup(words) == ()
    assert [one.resolved_program for one in index.lookup(words, resolve=True)] == ([program] if program else [])


@given(RULES, RULES, st.lists(WORDS, min_size=1, max_size=5).map(tuple))
def test_the_index_finds_what_a_linear_search_finds_however_it_was_built(
    first: list[PrefixRule], second: list[PrefixRule], words: tuple[str, ...]
) -> None:
    base = PrefixIndex.of(first)
    before = base.lookup(words)
    extended = base.extended(second)
    expected = [
        one
        for one in [*first, *second]
        if len(words) >= len(one.pattern) and all(words[i] in position for i, position in enumerate(one.pattern))
    ]
    assert [one.rule for one in extended.lookup(words)] == expected
    assert extended.lookup(words) == PrefixIndex.of([*first, *second]).lookup(words)
    assert base.lookup(words) == before  # the old index does not see the new rules


def test_a_pattern_with_very_many_spellings_still_matches_each_of_them() -> None:
    position = tuple(f"w{n}" for n in range(40))
    index = PrefixIndex.of([PrefixRule((position,) * 6, Decision.DENY, HERE)])
    assert index.lookup(("w1", "w39", "w0", "w7", "w7", "w20", "more"))
    assert not index.lookup(("w1", "w39", "w0", "w7", "w7", "zz"))
    assert not index.lookup(("w1", "w39", "w0", "w7", "w7"))


REACH = [
    ("git push", True),
    ("/usr/bin/git push", True),
    ("./git push", True),
    ("git -C . push", True),
    ("git -c a=b --no-pager push", True),
    ("git --git-dir=x push", True),
    ("git commit push", False),
    ("git --bare push", True),
    ("gitx push", False),
]


@pytest.mark.parametrize(("line", "reached"), REACH)
def test_a_restrictive_rule_reaches_through_paths_and_past_options_and_an_allowing_one_does_not(
    line: str, reached: bool
) -> None:
    words = tuple(line.split())
    forbid = PrefixIndex.of([rule(Decision.DENY, "git", "push")])
    grant = PrefixIndex.of([rule(Decision.ALLOW, "git", "push")])
    assert bool(forbid.judge(words).found) == reached
    assert bool(grant.judge(words).found) == (line == "git push")


UNKNOWN = [
    ((None, "x"), True),
    (("git", None), True),
    (("/usr/bin/git", None), True),
    (("git", "log", None), False),
    (("git", "-C", ".", None), True),
    (("git", "-C", None, None), True),
    (("git", None, "push"), True),
    (("ls", None), False),
    (("npm", None), False),
]


def test_an_unknown_value_of_an_option_hides_no_subcommand() -> None:
    index = PrefixIndex.of([rule(Decision.DENY, "git", "push")])
    assert index.judge(("git", "-C", None, "push")).found
    assert index.judge(("git", None, "push")).found


@pytest.mark.parametrize(("words", "may"), UNKNOWN)
def test_a_word_only_the_shell_knows_may_complete_a_restrictive_rule(words: tuple[str | None, ...], may: bool) -> None:
    index = PrefixIndex.of([rule(Decision.DENY, "git", "push|pull", "-f"), rule(Decision.ALLOW, "npm", "test")])
    assert (index.judge(words).may_match is not None) == may
