"""What another agent says for itself is shown beside the reason of the policy."""

from signoff.approvals.request import ReviewRequest
from signoff.cli.question import paint, question
from signoff.domain.intent import Action
from signoff.domain.review import ToolApprovalRequestEvent
from tests.clauses import requirement


@requirement("MEM-121")
def test_the_rationale_is_shown_beside_the_reason() -> None:
    event = ToolApprovalRequestEvent(
        "c", "t", "acme", "net", {"a": 1}, reason="not in the list", rationale="to tell the team"
    )
    lines = "\n".join(paint(row, False) for row in question(ReviewRequest(event, "acme", Action.NET), 80))
    assert "not in the list" in lines
    assert "to tell the team" in lines
