"""A question shows no secret, and no rule with a secret in it is offered or kept."""

import asyncio
import pathlib

import pytest

from signoff.approvals.masked import Masked
from signoff.approvals.request import ReviewRequest
from signoff.approvals.scripted import Scripted
from signoff.domain.intent import Action
from signoff.domain.review import (
    AddFile,
    ApplyPatchApprovalRequestEvent,
    ApprovalRequestEvent,
    Approved,
    ExecApprovalRequestEvent,
    ToolApprovalRequestEvent,
    UnknownCommand,
)
from signoff.domain.settings import Redact
from signoff.ledger.redact import Redactor
from tests.gate.scene import Scene

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
EVENTS: list[ApprovalRequestEvent] = [
    ExecApprovalRequestEvent(
        "c", "t", ("push", f"--token={SECRET}"), "/ws", (UnknownCommand(f"push {SECRET}"),), reason=SECRET
    ),
    ToolApprovalRequestEvent("c", "t", "x", "net", {"header": f"Bearer {SECRET}"}, rationale=f"with {SECRET}"),
    ApplyPatchApprovalRequestEvent("c", "t", {"a": AddFile(f"token = '{SECRET}'\n")}),
]


@pytest.mark.parametrize("event", EVENTS)
def test_a_person_is_asked_without_secrets(event: ApprovalRequestEvent) -> None:
    person = Scripted([Approved()])
    reviewer = Masked(person, Redactor(Redact.BASIC, reversible=False))
    assert asyncio.run(reviewer.review(ReviewRequest(event, "x", Action.EXEC))) == Approved()
    assert SECRET not in repr(person.asked[0])
    assert (reviewer.name, reviewer.is_person) == (person.name, person.is_person)


def test_a_rule_with_a_secret_in_it_is_not_offered(tmp_path: pathlib.Path) -> None:
    rulebook = Scene(tmp_path).gate._rulebook
    assert rulebook.may_save(("npm", "publish"))
    assert not rulebook.may_save(("npm", "publish", f"--token={SECRET}"))
