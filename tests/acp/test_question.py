"""What a client is asked shows everything that is approved, and nothing in it can hide."""

import msgspec

from signoff.acp.question import choices, question
from signoff.acp.updates import LONGEST_TITLE
from signoff.approvals.request import Offer, ReviewRequest, Width
from signoff.domain.intent import Action
from signoff.domain.review import AddFile, ApplyPatchApprovalRequestEvent, Approved, Scope
from signoff.wire import acp_schema as schema
from tests.approvals.requests import exec_request


def texts(shown: schema.ToolCallUpdate) -> list[str]:
    assert isinstance(shown.content, list)
    blocks = [one.content for one in shown.content if isinstance(one, schema.Content)]
    return [block.text for block in blocks if isinstance(block, schema.TextContent)]


def test_words_with_blanks_are_told_from_several_words() -> None:
    assert question(exec_request("rm", "a b"), None).title == "rm 'a b'"


def test_a_title_hides_nothing_and_what_may_mislead_is_named() -> None:
    shown = question(exec_request("bash", "-c", "echo a\u202eb\u2028c\nrm \u0430"), None)
    assert shown.title == "echo a‹U+202E›b‹U+2028›c ⏎ rm \u0430"
    assert texts(shown) == [
        "Beware: what cannot be seen is written in pointed quotes: U+202E, U+2028\n"
        "Beware: characters that may look like others: \u0430 cyrillic small letter a"
    ]


def test_a_command_longer_than_a_title_stands_whole_beside_it() -> None:
    script = f"echo {'x' * LONGEST_TITLE}\nrm -rf build"
    shown = question(exec_request("bash", "-c", script), None)
    assert isinstance(shown.title, str) and len(shown.title) == LONGEST_TITLE
    assert texts(shown)[0] == script


def test_a_rule_that_is_offered_hides_nothing() -> None:
    offer = Offer(Width.PREFIX, Scope.USER, "git\u200b push", "every project", Approved(), ("git\u200b", "push"))
    asked = msgspec.structs.replace(exec_request("git\u200b", "push"), offers=(offer,))
    names = [choice.option.name for choice in choices(asked)]
    assert "Allow, and save git‹U+200B› push: every project" in names


def test_new_text_with_characters_that_cannot_be_seen_is_said_so() -> None:
    event = ApplyPatchApprovalRequestEvent(
        call_id="c", turn_id="t", changes={"a.py": AddFile(content="‹\tx\u2066y\n")}, reason=None, grant_root=None
    )
    shown = question(ReviewRequest(event=event, tool="apply_patch", action=Action.WRITE), None)
    assert texts(shown) == ["Beware: the new text holds characters that cannot be seen: ‹U+2066›"]
