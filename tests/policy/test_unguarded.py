"""Commands that no sandbox holds: another agent's, or on a machine that has none."""

import pytest

from signoff.domain.context import Context
from signoff.domain.settings import Network
from signoff.policy.decide import decide
from signoff.policy.intents import script_intent
from signoff.policy.ruleset import Rules

CASES = [
    ("make test", "allow", "builtin.command.unguarded"),
    ("cat /usr/include/stdio.h", "allow", None),
    ("echo x > notes.txt", "allow", None),
    ("echo x > /etc/motd", "ask", "builtin.path.unguarded"),
    ("cp a /srv/b", "ask", "builtin.path.unguarded"),
    ("echo x > .git/hooks/pre-commit", "ask", "builtin.path.protected"),
    ("cat /home/ada/.ssh/id_ed25519", "ask", "builtin.path.credentials-touched"),
    ("curl https://example.org/x", "deny", "builtin.network.off"),
]


@pytest.mark.parametrize(("script", "decision", "rule_id"), CASES)
def test_the_policy_alone_keeps_the_bounds(script: str, decision: str, rule_id: str | None) -> None:
    intent = script_intent(script, cwd="/ws", home="/home/ada")
    verdict = decide(intent, Rules(), Context(workspace="/ws", home="/home/ada", sandbox_available=False))
    assert verdict.decision.word == decision
    assert rule_id is None or rule_id in [match.rule_id for match in verdict.matches]


def test_an_open_network_is_open_to_them_too() -> None:
    intent = script_intent("curl https://example.org/x", cwd="/ws", home="/home/ada")
    context = Context(workspace="/ws", network=Network.ON, sandbox_available=False)
    assert decide(intent, Rules(), context).decision.word == "allow"
