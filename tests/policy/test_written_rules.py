"""policy.toml: what it may say, and how a mistake is reported."""

import pytest

from signoff.domain.errors import RulesInvalid
from signoff.domain.settings import DefaultAction
from signoff.domain.verdict import Decision, Layer, Source
from signoff.policy.rules import host, path
from signoff.policy.rules.written import PolicyFile, PolicyRule, read_policy


def test_a_rule_has_every_key_it_may_have() -> None:
    text = """default_action = "deny"

[[rule]]
id = "allow.docs"
decision = "allow"
tool = "fetch"
action = "net"
hosts = ["docs.python.org", "*.readthedocs.io", "10.0.0.0/8"]
reason = "documentation"
match = ["x.readthedocs.io", "10.9.9.9"]
not_match = ["readthedocs.io"]
expires = 2030-01-01T00:00:00Z
constraints = { method = "GET" }
expires_in_ms = 1000

[[rule]]
decision = "ask"
paths = ["~/notes", "src/**/*.sql", "/srv"]
match = ["~/notes/a", "src/a/b/c.sql", "src/c.sql", "SRC/x.SQL", "/srv/x/y"]
not_match = ["~/notesx", "src/a.sqlx", "/srvx"]
"""
    assert read_policy(text, "p.toml", Layer.USER) == PolicyFile(
        (
            PolicyRule(
                "allow.docs",
                Decision.ALLOW,
                Source(Layer.USER, "p.toml", 3),
                tool="fetch",
                action="net",
                kind="hosts",
                places=("docs.python.org", "*.readthedocs.io", "10.0.0.0/8"),
                reason="documentation",
                match=("x.readthedocs.io", "10.9.9.9"),
                not_match=("readthedocs.io",),
                expires_ms=1_893_456_000_000,
                constraints={"method": "GET"},
                expires_in_ms=1_000,
            ),
            PolicyRule(
                "rule[1]",
                Decision.ASK,
                Source(Layer.USER, "p.toml", 16),
                kind="paths",
                places=("~/notes", "src/**/*.sql", "/srv"),
                match=("~/notes/a", "src/a/b/c.sql", "src/c.sql", "SRC/x.SQL", "/srv/x/y"),
                not_match=("~/notesx", "src/a.sqlx", "/srvx"),
            ),
        ),
        DefaultAction.DENY,
    )


REFUSALS = [
    ("default_action =", "p.toml:1:17: "),
    ('default_action = "maybe"', "p.toml:1:1: Invalid enum value 'maybe'"),
    ('[[rule]]\ndecision = "prompt"', "p.toml:1:1: invalid decision: prompt (allow, ask or deny)"),
    ('[[rule]]\nid = "x"', "p.toml:1:1: Object missing required field `decision`"),
    (
        '[[rule]]\ndecision = "ask"\n[[rule]]\ndecision = "ask"\n  tols = "x"',
        "p.toml:5:3: Object contains unknown field `tols`",
    ),
    ('[[rule]]\ndecision = "ask"\npaths = "x"', "p.toml:3:1: Expected `array`, got `str`"),
    ('[[rule]]\ndecision = "ask"\naction = "fly"', "p.toml:1:1: unknown action: fly"),
    ('[[rule]]\ndecision = "ask"\nhosts = ["http://x"]', "p.toml:1:1: 'http://x' is not a host name"),
    ('[[rule]]\ndecision = "ask"\nhosts = ["a.*.b"]', "p.toml:1:1: 'a.*.b' is not a host name"),
    ('[[rule]]\ndecision = "ask"\nhosts = ["a"]\npaths = ["b"]', "one rule names paths or hosts, not both"),
    ('[[rule]]\ndecision = "ask"\npaths = ["../x"]', "paths cannot contain `..`"),
    ('[[rule]]\ndecision = "ask"\nexpires = 2030-01-01T00:00:00', "expires needs an offset"),
    ('[[rule]]\ndecision = "ask"\nexpires_in_ms = 0', "expires_in_ms must be a positive number"),
    (
        '[[rule]]\ndecision = "ask"\npaths = ["a"]\nmatch = ["b"]',
        "the match example 'b' is not covered by rule rule[0]",
    ),
    ('[[rule]]\ndecision = "ask"\ntool = "a.*"\nnot_match = ["a.b"]', "the not_match example 'a.b' is covered"),
]


@pytest.mark.parametrize(("text", "said"), REFUSALS)
def test_a_mistake_is_reported_with_its_place_and_what_to_do(text: str, said: str) -> None:
    with pytest.raises(RulesInvalid) as refused:
        read_policy(text, "p.toml")
    assert said in refused.value.message
    assert refused.value.message.startswith("p.toml:")
    assert refused.value.hint


PATHS = [
    ("/ws", "/ws", True),
    ("/ws", "/ws/a", True),
    ("/ws", "/ws-evil", False),
    ("/ws/a", "/ws", False),
    ("a/*/c", "/ws/a/b/c/d", True),
    ("a/*/c", "/ws/a/b/b/c", False),
    ("**/x", "/ws/x", True),
    ("**/x", "/ws/a/b/x/y", True),
    ("**", "/ws/anything", True),
    ("**", "/other", False),
    ("**/a/**/b", "/ws/a/c/a/b/d", True),
    ("**/a/**/b", "/ws/b/a", False),
    ("**/a/" * 30 + "b", "/ws/" + "a/" * 300 + "c", False),  # would take for ever if every way to read it was tried
    ("~", "/home/u/x", True),
    ("./a", "/ws/a", True),
    ("a?", "/ws/ab", True),
    ("[ab]", "/ws/c", False),
    ("a", "/ws/../ws/a", False),
]


@pytest.mark.parametrize(("pattern", "place", "covered"), PATHS)
def test_paths_are_compared_component_by_component(pattern: str, place: str, covered: bool) -> None:
    assert path.covers(pattern, place, workspace="/ws", home="/home/u", fold=False) == covered


HOSTS = [
    ("example.com", "EXAMPLE.com.", True),
    ("example.com", "a.example.com", False),
    ("*.example.com", "a.b.example.com", True),
    ("*.example.com", "example.com", False),
    ("*", "anything", True),
    ("127.0.0.0/8", "127.1", True),
    ("127.0.0.1", "2130706433", True),
    ("127.0.0.1", "0177.0.0.1", True),
    ("127.0.0.0/8", "::ffff:127.0.0.1", True),
    ("::1", "[0:0:0:0:0:0:0:1]", True),
    ("fe80::/10", "fe80::1", True),
    ("10.0.0.0/8", "10.example.com", False),
    ("bücher.example", "xn--bcher-kva.example", True),
]


@pytest.mark.parametrize(("pattern", "name", "covered"), HOSTS)
def test_hosts_are_compared_however_they_are_written(pattern: str, name: str, covered: bool) -> None:
    assert host.covers(pattern, name) == covered
