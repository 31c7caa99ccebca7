"""From a call, a verdict and a result to what is kept of them."""

from signoff.domain.call import Artifacts, Failure, ToolCall, ToolResult
from signoff.domain.intent import Action, FileRead
from signoff.domain.verdict import Decision as Answer
from signoff.domain.verdict import Judgement, Layer, Match, Source, Verdict
from signoff.ledger.records import DecidedBy, Decision, Effects, Outcome, Result, decision_of, result_of
from tests.clauses import requirement

CALL = ToolCall(tool_call_id="c1", name="read_file", version="1.2.0", args={"path": "a"}, trace_id="t", timestamp=0)


@requirement("MEM-126")
def test_a_decision_names_tool_action_answer_and_every_rule_that_spoke() -> None:
    rules = (
        Match("builtin.read", Answer.ALLOW, Source(Layer.BUILTIN), heuristic=True),
        Match("no-secrets", Answer.DENY, Source(Layer.USER, "default.rules", 7), reason="keys live there"),
    )
    verdict = Verdict(Answer.DENY, (Judgement(FileRead("/w/a"), Answer.DENY, rules),))
    assert decision_of(CALL, Action.READ, verdict, Outcome.DENY, DecidedBy.POLICY) == Decision(
        tool_call_id="c1",
        name="read_file",
        action=Action.READ,
        decision=Outcome.DENY,
        decided_by=DecidedBy.POLICY,
        rule_id="no-secrets",
        reason="keys live there",
        trace_id="t",
        verdict="deny",
        matches=(
            {"rule_id": "builtin.read", "decision": "allow", "source": "builtin"},
            {"rule_id": "no-secrets", "decision": "deny", "source": "default.rules:7", "reason": "keys live there"},
        ),
    )


def test_a_result_keeps_the_call_and_its_effects() -> None:
    error = Failure("tool.failed", "no")
    artifacts = Artifacts(("a",), ("ls",))
    finished = ToolResult("c1", ok=False, payload=None, error=error, duration_ms=4, artifacts=artifacts)
    assert result_of(CALL, finished, sandboxed=False) == Result(
        tool_call_id="c1",
        trace_id="t",
        name="read_file",
        version="1.2.0",
        args={"path": "a"},
        ok=False,
        duration_ms=4,
        error=error,
        artifacts=Effects(("a",), ("ls",)),
        sandboxed=False,
    )
