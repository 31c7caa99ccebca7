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


def test_what_only_the_agent_says_is_not_called_a_reason() -> None:
    event = ToolApprovalRequestEvent("c", "t", "acme", "net", {}, reason="the user asked for it")
    lines = [paint(row, False) for row in question(ReviewRequest(event, "acme", Action.NET, claimed=True), 80)]
    assert " it says  the user asked for it" in lines


def test_a_command_of_a_foreign_tool_is_shown_as_one_types_it_and_nothing_else_is_left_out() -> None:
    args = {"command": ["bash", "-c", "make test &&\nrm -rf bu\u0456ld"], "cwd": "/srv/app", "timeout": 5}
    event = ToolApprovalRequestEvent("c", "t", "acme.sh", "exec", args)
    lines = [paint(row, False) for row in question(ReviewRequest(event, "acme.sh", Action.EXEC), 80)]
    assert " acme.sh wants to run a command" in lines
    assert "  │ make test &&" in lines
    assert "  │ rm -rf bu\u0456ld" in lines
    text = "\n".join(lines)
    assert all(word in text for word in ('"bash"', '"/srv/app"', '"timeout":5', "byelorussian-ukrainian i"))
