"""What another agent asks permission for is shown whole, as its own words."""

from typing import Any

from signoff.acp.requested import requested
from signoff.approvals.request import ReviewRequest
from signoff.cli.question import paint, question
from signoff.domain.intent import Action
from signoff.domain.review import AddFile, ApplyPatchApprovalRequestEvent, ToolApprovalRequestEvent, UpdateFile
from signoff.wire import acp_schema as schema


def asked(args: dict[str, Any], *content: schema.ToolCallContent, title: str = "") -> ReviewRequest:
    call = schema.ToolCallUpdate(toolCallId="c", title=title, content=list(content))
    request = schema.RequestPermissionRequest(sessionId="s", toolCall=call, options=[])
    return requested(request, "c", "edit", Action.WRITE, args)


def text(words: str) -> schema.Content:
    return schema.Content(content=schema.TextContent(text=words))


def test_the_title_and_the_words_beside_it_are_what_the_agent_says() -> None:
    found = asked({"command": "ls"}, text("Why: it asked\n\nReads: a"), title="List files")
    assert found.claimed
    assert found.event == ToolApprovalRequestEvent(
        "c", "s", "edit", "write", {"command": "ls"}, "List files · Why: it asked · Reads: a"
    )


def test_a_title_that_repeats_the_command_is_not_said_twice() -> None:
    assert asked({"command": ["bash", "-c", "rm x"]}, title="rm x").event.reason is None


def test_differences_are_shown_as_a_patch() -> None:
    found = asked(
        {},
        schema.Diff(path="/a.py", oldText="one\ntwo\n", newText="one\n2\n"),
        schema.Diff(path="/a.py", oldText="x\n", newText="y\n"),
        schema.Diff(path="/b.py", newText="new\n"),
        title="Edit two files",
    )
    assert found.event == ApplyPatchApprovalRequestEvent(
        "c",
        "s",
        {"/a.py": UpdateFile("@@ -1,2 +1,2 @@\n one\n-two\n+2\n@@ -1 +1 @@\n-x\n+y"), "/b.py": AddFile("new\n")},
        "Edit two files",
    )
    lines = [paint(row, False) for row in question(found, 80)]
    assert " edit wants to change 2 files" in lines
    assert "  │ +2" in lines
    assert " it says  Edit two files" in lines
