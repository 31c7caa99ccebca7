"""Every cell of approval × sandbox × verdict × outcome × answer, against the table written out a second time here."""

import itertools
import pathlib
from typing import NamedTuple

import pytest

from signoff.approvals.compose import RETRY_REASON
from signoff.domain.review import Approved, Denied
from signoff.domain.settings import ApprovalPolicy, SandboxMode
from signoff.domain.verdict import Decision
from signoff.policy.execpolicy.rule import PrefixRule
from signoff.sandbox.outcome import Outcome
from tests.clauses import requirement
from tests.fakes.sandboxes import FINE, KILLED, LATE, STOPPED, WRONG
from tests.gate.scene import Scene, rule

VERDICTS: dict[str, tuple[str, list[PrefixRule]]] = {
    "allowed by a rule": ("make x", [rule(Decision.ALLOW, "make")]),
    "asked by a rule": ("make x", [rule(Decision.ASK, "make")]),
    "denied by a rule": ("make x", [rule(Decision.DENY, "make", why="not here")]),
    "known safe": ("ls", []),
    "dangerous": ("rm -rf build", []),
    "anything else": ("make x", []),
}
OUTCOMES: dict[str, tuple[Outcome, str]] = {
    "fine": (FINE, "ok"),
    "wrong": (WRONG, "ok"),  # it ran, and said no: that is a result
    "killed": (KILLED, "ok"),
    "late": (LATE, "tool.timeout"),
    "stopped": (STOPPED, "sandbox.denied"),
}


class Seen(NamedTuple):
    reasons: list[str | None]  # of the questions asked, where they are fixed texts
    places: list[str]
    code: str


def expected(approval: ApprovalPolicy, sandbox: SandboxMode, verdict: str, outcome: str, yes: bool) -> Seen:
    asking = approval is not ApprovalPolicy.NEVER
    wants_yes = {
        "allowed by a rule": False,
        "asked by a rule": True,
        "denied by a rule": False,
        "known safe": False,
        "dangerous": True,
        "anything else": approval is ApprovalPolicy.UNTRUSTED,
    }[verdict]
    if verdict == "denied by a rule" or (wants_yes and not asking):
        return Seen([], [], "policy.denied")
    if wants_yes and not yes:
        return Seen([None], [], "review.denied")
    asked: list[str | None] = [None] if wants_yes else []
    if verdict == "allowed by a rule":
        return Seen([], ["outside"], "ok")
    confined = sandbox in (SandboxMode.READ_ONLY, SandboxMode.WORKSPACE_WRITE)
    retries = approval in (ApprovalPolicy.UNTRUSTED, ApprovalPolicy.ON_FAILURE) and confined
    if outcome != "stopped" or not retries:
        return Seen(asked, ["inside"], OUTCOMES[outcome][1])
    if wants_yes:  # the yes that was given covers the one retry
        return Seen(asked, ["inside", "outside"], "ok")
    if yes:
        return Seen([RETRY_REASON], ["inside", "outside"], "ok")
    return Seen([RETRY_REASON], ["inside"], "review.denied")


@requirement(
    "APR-001",
    "APR-004",
    "APR-027",
    "APR-028",
    "APR-029",
    "APR-034",
    "APR-035",
    "APR-036",
    "APR-037",
    "APR-038",
    "APR-039",
    "APR-040",
    "APR-041",
    "APR-042",
    "APR-046",
)
@pytest.mark.parametrize("sandbox", SandboxMode)
@pytest.mark.parametrize("approval", ApprovalPolicy)
def test_every_cell(approval: ApprovalPolicy, sandbox: SandboxMode, tmp_path: pathlib.Path) -> None:
    wrong: dict[tuple[str, str, bool], tuple[Seen, Seen]] = {}
    for verdict, outcome, yes in itertools.product(VERDICTS, OUTCOMES, (True, False)):
        command, rules = VERDICTS[verdict]
        scene = Scene(
            tmp_path,
            approval=approval,
            sandbox=sandbox,
            rules=rules,
            answers=[Approved() if yes else Denied()] * 2,
            outcomes=[OUTCOMES[outcome][0]],
        )
        result = scene.run(command)
        reasons = [
            request.event.reason if request.event.reason == RETRY_REASON else None for request in scene.person.asked
        ]
        seen = Seen(reasons, scene.sandboxes.places, "ok" if result.error is None else result.error.code)
        scene.ledger.close()
        if seen != (wanted := expected(approval, sandbox, verdict, outcome, yes)):
            wrong[verdict, outcome, yes] = (seen, wanted)
    assert wrong == {}


@requirement("APR-031", "APR-032", "APR-033")
@pytest.mark.parametrize("sandbox", SandboxMode)
@pytest.mark.parametrize("approval", ApprovalPolicy)
def test_a_tool_about_which_nothing_speaks(
    approval: ApprovalPolicy, sandbox: SandboxMode, tmp_path: pathlib.Path
) -> None:
    scene = Scene(tmp_path, approval=approval, sandbox=sandbox)
    scene.go(scene.call("nothing", {}))
    confined = sandbox in (SandboxMode.READ_ONLY, SandboxMode.WORKSPACE_WRITE)
    asks = approval is ApprovalPolicy.UNTRUSTED or (approval is ApprovalPolicy.ON_REQUEST and confined)
    assert len(scene.person.asked) == asks


@requirement("APR-040")
@pytest.mark.parametrize("approval", ApprovalPolicy)
def test_a_request_to_run_outside_is_asked_where_the_policy_lets_it_be_asked(
    approval: ApprovalPolicy, tmp_path: pathlib.Path
) -> None:
    scene = Scene(tmp_path, approval=approval, answers=[Approved()])
    result = scene.run("ls", escalate=True)
    if approval is ApprovalPolicy.ON_REQUEST:
        assert (result.ok, scene.sandboxes.places, len(scene.person.asked)) == (True, ["outside"], 1)
    else:
        assert result.error is not None
        assert "you should not ask for escalated permissions" in result.error.message
        assert scene.sandboxes.places == []


@requirement("APR-039")
def test_a_tool_that_does_not_escalate_is_never_retried(tmp_path: pathlib.Path) -> None:
    from signoff.tools.run_terminal_cmd import RunTerminalCommand

    class Homebound(RunTerminalCommand):
        escalate_on_failure = False

    scene = Scene(tmp_path, approval=ApprovalPolicy.ON_FAILURE, outcomes=[STOPPED], tools=[Homebound()])
    result = scene.run("make x")
    assert result.error is not None
    assert result.error.code == "sandbox.denied"
    assert scene.person.asked == []


@requirement("APR-046")
def test_a_session_yes_covers_the_retry_of_later_calls_too(tmp_path: pathlib.Path) -> None:
    from signoff.domain.review import ApprovedForSession

    scene = Scene(
        tmp_path, approval=ApprovalPolicy.ON_FAILURE, outcomes=[STOPPED], answers=[ApprovedForSession(), Denied()]
    )
    assert [scene.run("make x").ok, scene.run("make x").ok, scene.run("make y").ok] == [True, True, False]
    assert scene.sandboxes.places == ["inside", "outside", "inside", "outside", "inside"]
