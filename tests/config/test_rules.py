"""Rules in their layers: what counts, what is read again, what is kept when a file is bad."""

import itertools
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from signoff.config import trust
from signoff.config.rules import SEEN_WITHIN_S, Places, RuleBook
from signoff.domain.errors import ConfigUnreadable, RulesInvalid, UsageError
from signoff.domain.review import ApprovedExecpolicyAmendment, Scope
from signoff.domain.verdict import Decision, Layer
from signoff.policy.ruleset import Rules
from tests.clauses import requirement

STAMPS = itertools.count(time.time_ns(), 1_000_000_000)
SECONDS = itertools.count(1).__next__  # a clock that never stands still


@pytest.fixture
def places(home: Path) -> Places:
    project = home / "app"
    project.mkdir()
    return Places(dict(os.environ), project, "app-1", system=home / "etc")


def load(places: Places) -> tuple[Rules, tuple[str, ...]]:
    said: list[str] = []
    return RuleBook(places, warn=said.append).current(), tuple(said)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    stamp = next(STAMPS)  # a file system with coarse times must not hide a change
    os.utime(path, ns=(stamp, stamp))


def rule(name: str, decision: str = "prompt") -> str:
    return f'prefix_rule(pattern=["{name}"], decision="{decision}")\n'


def approved(*prefix: str, scope: Scope = Scope.USER, expires_in_ms: int | None = None) -> ApprovedExecpolicyAmendment:
    return ApprovedExecpolicyAmendment(prefix, scope, expires_in_ms)


def heads(rules: Rules) -> list[str]:
    return [one.pattern[0][0] for one in rules.prefixes]


def decision(rules: Rules, *words: str) -> Decision | None:
    return max((found.rule.decision for found in rules.index.lookup(words)), default=None)


def test_every_layer_counts_and_the_strictest_wins(places: Places, home: Path) -> None:
    user = home / ".config/signoff"
    write(home / "etc/rules/b.rules", rule("system", "forbidden"))
    write(home / "etc/rules/a.rules", rule("first"))
    write(user / "rules/default.rules", rule("system", "allow") + rule("user", "allow"))
    write(user / "rules/ignored.txt", "not a rule file (")
    write(user / "projects/app-1/rules/default.rules", rule("granted", "allow"))
    write(user / "projects/other/rules/default.rules", rule("elsewhere", "allow"))
    write(user / "grants.toml", '[[grant]]\nprefix = ["while"]\nexpires = 2999-01-01T00:00:00Z\n')
    write(user / "projects/app-1/grants.toml", '[[grant]]\nprefix = ["here"]\nexpires = 2999-01-01T00:00:00Z\n')
    write(home / "etc/policy.toml", '[[rule]]\nid = "s"\ndecision = "deny"\n')
    rules, warnings = load(places)
    assert heads(rules) == ["first", "system", "system", "user", "granted", "while", "here"]
    assert [one.source.layer for one in rules.prefixes] == [
        *[Layer.SYSTEM] * 2,
        *[Layer.USER] * 2,
        *[Layer.GRANT] * 3,
    ]
    assert decision(rules, "system") == Decision.DENY
    assert [one.id for one in rules.written] == ["s"]
    assert warnings == ()


LOCATIONS = [
    ({}, ".config/signoff/rules"),
    ({"XDG_CONFIG_HOME": "xdg"}, "xdg/signoff/rules"),
    ({"CODEX_HOME": "codex", "XDG_CONFIG_HOME": "xdg"}, "codex/rules"),
    ({"SIGNOFF_HOME": "own", "CODEX_HOME": "codex"}, "own/rules"),
]


@requirement("APR-053")
@pytest.mark.parametrize(("variables", "folder"), LOCATIONS)
def test_the_users_rules_lie_where_the_environment_says_and_amendments_go_there(
    home: Path, variables: dict[str, str], folder: str
) -> None:
    environ = {**os.environ, **{name: str(home / value) for name, value in variables.items()}}
    book = RuleBook(Places(environ, home, "app-1", system=home / "etc"))
    book.amend(approved("npm", "test"))
    written = home / folder / "default.rules"
    assert written.read_text(encoding="utf-8") == 'prefix_rule(pattern=["npm", "test"], decision="allow")\n'
    assert heads(load(Places(environ, home, "app-1", system=home / "etc"))[0]) == ["npm"]


def test_policy_never_comes_from_the_other_programs_folder(home: Path) -> None:
    write(home / "codex/policy.toml", '[[rule]]\ndecision = "allow"\n')
    environ = {**os.environ, "CODEX_HOME": str(home / "codex")}
    assert load(Places(environ, home, "app-1", system=home / "etc"))[0].written == ()


def test_a_project_counts_when_it_is_trusted_and_only_where_it_narrows(places: Places) -> None:
    folder = places.project / ".signoff"
    write(folder / "rules/p.rules", rule("narrow", "forbidden") + rule("widen", "allow"))
    write(folder / "policy.toml", '[[rule]]\ndecision = "ask"\nid = "n"\n[[rule]]\ndecision = "allow"\nid = "w"\n')
    rules, warnings = load(places)
    assert (heads(rules), rules.written, len(warnings)) == ([], (), 1)
    trust.trust(places.environ, places.project, trust.contents(places.project))
    rules, warnings = load(places)
    assert (heads(rules), [one.id for one in rules.written]) == (["narrow"], ["n"])
    dropped = "a project can only restrict, so what it allows does not count: 1"
    assert sorted(warnings) == [f"{folder / name}: {dropped}" for name in ("policy.toml", "rules/p.rules")]
    write(folder / "rules/p.rules", rule("narrow", "prompt"))
    assert heads(load(places)[0]) == []  # what changed has to be looked at again


def gone(folder: Path) -> None:
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    "meddle",
    [
        lambda folder: write(folder / "rules/p.rules", rule("narrow", "allow") + "# much longer than it was"),
        lambda folder: write(folder / "rules/q.rules", rule("another", "forbidden")),
        gone,
    ],
    ids=["changed", "added to", "removed"],
)
def test_a_project_meddled_with_while_it_is_worked_in_gets_rid_of_nothing(
    places: Places, meddle: Callable[[Path], None]
) -> None:
    folder = places.project / ".signoff"
    write(folder / "rules/p.rules", rule("narrow", "forbidden"))
    trust.trust(places.environ, places.project, trust.contents(places.project))
    said: list[str] = []
    book = RuleBook(places, warn=said.append, clock=SECONDS)
    meddle(folder)
    rules = book.current()
    assert (heads(rules), [one.decision for one in rules.prefixes]) == (["narrow"], [Decision.DENY])
    assert said == [f"{folder} was changed; the rules you trusted stay in force until the end of this run"]
    trust.distrust(places.environ, places.project)
    assert heads(book.current()) == []
    assert "is not trusted" in said[-1]


def test_a_project_that_changed_since_it_was_trusted_is_told_from_one_that_never_was(places: Places) -> None:
    folder = places.project / ".signoff"
    write(folder / "rules/p.rules", rule("narrow", "forbidden"))
    assert "is not trusted" in load(places)[1][0]
    trust.trust(places.environ, places.project, trust.contents(places.project))
    write(folder / "rules/p.rules", rule("narrow", "prompt"))
    assert "has changed since you trusted it" in load(places)[1][0]


def test_a_linked_rule_file_is_read(places: Places, home: Path) -> None:
    write(home / "dotfiles/mine", rule("linked"))
    folder = home / ".config/signoff/rules"
    folder.mkdir(parents=True)
    (folder / "mine.rules").symlink_to(home / "dotfiles/mine")
    assert heads(load(places)[0]) == ["linked"]


def test_a_bad_file_names_its_place_and_without_good_rules_nothing_is_judged(places: Places, home: Path) -> None:
    write(home / ".config/signoff/rules/bad.rules", "\nprefix_rule([])\n")
    with pytest.raises(RulesInvalid) as refused:
        RuleBook(places)
    assert refused.value.message.startswith(f"{home}/.config/signoff/rules/bad.rules:2:1: ")


@pytest.mark.parametrize("content", [b"\xff", None])
def test_a_file_that_cannot_be_read_is_an_error(places: Places, home: Path, content: bytes | None) -> None:
    path = home / ".config/signoff/rules/bad.rules"
    path.parent.mkdir(parents=True)
    path.mkdir() if content is None else path.write_bytes(content)
    with pytest.raises(ConfigUnreadable):
        load(places)


def test_a_change_is_seen_and_a_bad_one_leaves_the_last_good_rules_in_force(places: Places, home: Path) -> None:
    path = home / ".config/signoff/rules/mine.rules"
    write(path, rule("one"))
    said: list[str] = []
    book = RuleBook(places, warn=said.append, clock=SECONDS)
    first = book.current()
    assert book.current() is first  # nothing changed, so nothing was read
    write(path, rule("two"))
    assert heads(book.current()) == ["two"]
    assert said == []
    write(path, rule("three") + "prefix_rule([])\n")
    assert heads(book.current()) == heads(book.current()) == ["two"]
    assert [one.startswith(f"{path}:2:1: ") for one in said] == [True]  # said once
    book.amend(approved("new"))
    assert heads(book.current()) == ["two", "new"]
    path.unlink()
    assert heads(book.current()) == ["new"]


def test_the_files_are_looked_at_again_after_a_moment_not_for_every_call(places: Places, home: Path) -> None:
    now = 5.0
    book = RuleBook(places, clock=lambda: now)
    assert heads(book.current()) == []
    write(home / ".config/signoff/rules/mine.rules", rule("one"))
    assert heads(book.current()) == []
    now += SEEN_WITHIN_S
    assert heads(book.current()) == ["one"]
    assert SEEN_WITHIN_S <= 0.01


@requirement("APR-005", "APR-054")
def test_what_is_approved_is_in_force_at_once_and_after_a_restart(places: Places, home: Path) -> None:
    book = RuleBook(places, clock=SECONDS)
    before = book.current()
    amendments = [
        approved("a", "b"),
        approved("c", scope=Scope.PROJECT),
        approved("d", scope=Scope.PROJECT, expires_in_ms=60_000),
        approved("e", expires_in_ms=60_000),
    ]
    for amendment in amendments:
        book.amend(amendment)
        assert amendment.proposed_execpolicy_amendment[0] in heads(book.current())
    assert before.prefixes == ()  # who still judges by the old rules is not disturbed
    assert heads(load(places)[0]) == ["a", "c", "e", "d"]
    assert heads(load(Places(places.environ, places.project, "other", system=home / "etc"))[0]) == ["a", "e"]
    with pytest.raises(UsageError):
        book.amend(approved("f", scope=Scope.SESSION))


def test_an_amendment_taken_out_by_hand_is_gone(places: Places, home: Path) -> None:
    book = RuleBook(places, clock=SECONDS)
    book.amend(approved("a"))
    write(home / ".config/signoff/rules/default.rules", "")
    assert heads(book.current()) == []


def test_a_file_that_is_no_text_is_not_amended(places: Places, home: Path) -> None:
    book = RuleBook(places, clock=SECONDS)
    path = home / ".config/signoff/rules/default.rules"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"# \xff\n")
    with pytest.raises(ConfigUnreadable):
        book.amend(approved("a"))
    assert path.read_bytes() == b"# \xff\n"
    assert book.current().prefixes == ()


def test_a_grant_is_renewed_not_repeated_and_ends(places: Places) -> None:
    book = RuleBook(places, clock=SECONDS)
    for name, duration in (("a", 1), ("b", 60_000), ("b", 120_000), ("b", 30_000)):
        book.amend(approved(name, scope=Scope.PROJECT, expires_in_ms=duration))
    kept = [one for one in load(places)[0].prefixes if one.pattern == (("b",),)]
    assert len(kept) == 1
    assert (kept[0].expires_ms or 0) > time.time_ns() // 1_000_000 + 100_000


def test_the_record_of_a_run_can_name_the_rules_it_was_judged_by(home: Path) -> None:
    places = Places({"HOME": str(home)}, home, "app-1", system=home / "etc")
    before = RuleBook(places).sha256
    places.user_rules.mkdir(parents=True)
    (places.user_rules / "a.rules").write_text('prefix_rule(pattern=["ls"])\n', encoding="utf-8")
    assert RuleBook(places).sha256 != before
    assert RuleBook(places).sha256 == RuleBook(places).sha256
