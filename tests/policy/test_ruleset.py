"""Rules from many files: strictest wins, a project only narrows, a session's additions leave the rest alone."""

from signoff.domain.settings import DefaultAction
from signoff.domain.verdict import Decision, Layer, Source
from signoff.policy.execpolicy.language import read_rules
from signoff.policy.execpolicy.rule import PrefixRule
from signoff.policy.rules.written import read_policy
from signoff.policy.ruleset import Rules, narrowing, narrowing_policy


def test_of_two_files_only_the_paths_both_list_count_and_the_stricter_default() -> None:
    first = read_rules('host_executable("git", ["/usr/bin/git", "/opt/git"])', "1.rules")
    second = read_rules('host_executable("git", ["/usr/bin/git"])\nhost_executable("ls", ["/bin/ls"])', "2.rules")
    asks, denies = read_policy('default_action = "ask"', "1.toml"), read_policy('default_action = "deny"', "2.toml")
    rules = Rules.of([first, asks, second, denies])
    assert rules.executables == {"git": ("/usr/bin/git",), "ls": ("/bin/ls",)}
    assert rules.default_action == DefaultAction.DENY


def test_a_project_keeps_only_what_restricts() -> None:
    text = 'prefix_rule(["a"])\nprefix_rule(["b"], decision="prompt")\nhost_executable("a", ["/tmp/a"])\n'
    kept = narrowing(read_rules(text + 'network_rule("h", "http", "allow")', ".signoff/rules/p.rules"))
    assert ([rule.pattern for rule in kept.prefixes], kept.networks, kept.executables) == ([(("b",),)], (), ())
    policy = read_policy(
        'default_action = "allow"\n[[rule]]\ndecision = "allow"\n[[rule]]\ndecision = "deny"', "p.toml"
    )
    narrowed = narrowing_policy(policy)
    assert [rule.decision for rule in narrowed.rules] == [Decision.DENY]
    assert narrowed.default_action is None


def test_additions_make_a_new_set_and_leave_the_old_one_as_it_was() -> None:
    old = Rules.of([read_rules('prefix_rule(["a"], decision="prompt")', "a.rules")])
    new = old.extended([PrefixRule((("b",),), Decision.ALLOW, Source(Layer.SESSION))])
    assert old.index.lookup(("b",)) == ()
    assert len(new.index.lookup(("b",))) == len(new.index.lookup(("a",))) == 1
    assert len(old.prefixes) == 1
