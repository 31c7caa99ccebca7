"""When a patch may be applied without asking, and the words when it may not."""

import pytest

from signoff.domain.intent import FileWrite, Intent
from signoff.domain.requirement import Forbidden, NeedsApproval, Requirement, Skip
from signoff.domain.settings import ApprovalPolicy, SandboxMode
from tests.policy.judged import (
    FULL_ACCESS,
    NEVER,
    ON_FAILURE,
    ON_REQUEST,
    READ_ONLY,
    UNTRUSTED,
    WORKSPACE_WRITE,
    call,
    context,
    judged,
    rules,
)

INSIDE = call("apply_patch", FileWrite("/ws/a.py"))
OUTSIDE = call("apply_patch", FileWrite("/ws/a.py"), FileWrite("/etc/x"))
PROTECTED = call("apply_patch", FileWrite("/ws/.codex/x"))
REJECTED = Forbidden("writing outside of the project; rejected by user approval settings")
BLOCKED = Forbidden("writing is blocked by read-only sandbox; rejected by user approval settings")
TABLE: list[tuple[Intent, ApprovalPolicy, SandboxMode, Requirement]] = [
    (call("apply_patch"), ON_REQUEST, WORKSPACE_WRITE, Forbidden("empty patch")),
    (INSIDE, UNTRUSTED, WORKSPACE_WRITE, NeedsApproval()),
    (INSIDE, UNTRUSTED, FULL_ACCESS, NeedsApproval()),
    (INSIDE, ON_REQUEST, WORKSPACE_WRITE, Skip()),
    (INSIDE, ON_FAILURE, WORKSPACE_WRITE, Skip()),
    (INSIDE, NEVER, WORKSPACE_WRITE, Skip()),
    (INSIDE, NEVER, READ_ONLY, BLOCKED),
    (INSIDE, ON_REQUEST, READ_ONLY, NeedsApproval("/ws/a.py lies outside of the workspace")),
    (OUTSIDE, NEVER, WORKSPACE_WRITE, REJECTED),
    (OUTSIDE, ON_REQUEST, WORKSPACE_WRITE, NeedsApproval("/etc/x lies outside of the workspace")),
    (OUTSIDE, ON_REQUEST, FULL_ACCESS, Skip()),
    (PROTECTED, NEVER, WORKSPACE_WRITE, REJECTED),
    (PROTECTED, ON_REQUEST, WORKSPACE_WRITE, NeedsApproval("/ws/.codex/x changes what programs run or trust")),
]


@pytest.mark.parametrize(("intent", "approval", "sandbox", "expected"), TABLE)
def test_a_patch_is_applied_asked_about_or_rejected(
    intent: Intent, approval: ApprovalPolicy, sandbox: SandboxMode, expected: Requirement
) -> None:
    assert judged(intent, rules(), context(approval, sandbox))[1] == expected


def test_where_no_sandbox_can_hold_it_a_patch_is_asked_about() -> None:
    assert judged(INSIDE, rules(), context(sandbox_available=False))[1] == NeedsApproval()
    assert isinstance(judged(INSIDE, rules(), context(NEVER, sandbox_available=False))[1], Forbidden)


def test_a_written_rule_rejects_with_its_own_reason() -> None:
    known = rules(policy='[[rule]]\ndecision = "deny"\npaths = ["a.py"]\nreason = "generated"')
    assert judged(INSIDE, known, context())[1] == Forbidden("generated")
