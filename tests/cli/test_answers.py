"""What a typed rule says, and what is offered to be remembered. Pure."""

import msgspec
import pytest

from signoff.approvals.remember import duration, for_prefix, for_tool
from signoff.approvals.request import ReviewRequest
from signoff.cli.answers import read_rule, typed_rule
from signoff.domain.errors import UsageError
from signoff.domain.review import ApprovedExecpolicyAmendment, Scope, ToolRule
from signoff.policy.execpolicy.amend import opens_everything
from signoff.policy.rules.approved import rule_id
from tests.approvals.requests import exec_request

RULES = {
    "npm test": ApprovedExecpolicyAmendment(("npm", "test")),
    "npm test @user": ApprovedExecpolicyAmendment(("npm", "test")),
    "npm 'a b' @project": ApprovedExecpolicyAmendment(("npm", "a b"), Scope.PROJECT),
    "npm test @ session": ApprovedExecpolicyAmendment(("npm", "test"), Scope.SESSION),
    "npm test @project for 8h": ApprovedExecpolicyAmendment(("npm", "test"), Scope.PROJECT, 28_800_000),
    "npm test @user for 30 m ": ApprovedExecpolicyAmendment(("npm", "test"), Scope.USER, 1_800_000),
    "npm i left-pad@1.3.0": ApprovedExecpolicyAmendment(("npm", "i", "left-pad@1.3.0")),
}


@pytest.mark.parametrize("text", RULES)
def test_a_typed_rule_is_read_as_it_is_meant(text: str) -> None:
    words = RULES[text].proposed_execpolicy_amendment
    offer = read_rule(text, asking(*words, "--more"))
    assert offer.decision == RULES[text]
    assert RULES[text].scope is Scope.USER or str(RULES[text].scope) in offer.reach


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "@user",
        "npm 'test",
        "npm test @world",
        "npm test @once",
        "npm test @session for 1h",
        "python3 @user",
        "/usr/bin/env",
        "npm run",  # opens everything
        "npm ci",  # another command
        "npm test --watch",  # narrower than what is asked about
        "rm -rf build",
        "npm test --token=ghp_0123456789abcdefghijABCDEFGHIJ012345",
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        read_rule(text, asking("npm", "test"))


WIDTHS: dict[tuple[str, ...], list[tuple[str, ...]]] = {
    ("cargo", "build", "--release"): [("cargo", "build", "--release"), ("cargo", "build")],
    ("kubectl", "-n", "x", "get"): [("kubectl", "-n", "x", "get")],
    ("git", "push", "origin", "main"): [("git", "push", "origin", "main"), ("git", "push")],
    ("npm", "run", "build", "-w"): [("npm", "run", "build", "-w")],
    ("make", "-j4"): [("make", "-j4"), ("make",)],
    ("make",): [("make",)],
    ("python3",): [],
    (): [],
}


@pytest.mark.parametrize("words", WIDTHS)
def test_three_widths_at_most_narrow_first_and_never_one_that_opens_everything(words: tuple[str, ...]) -> None:
    offers = for_prefix(words, lambda prefix: not opens_everything(prefix))
    assert [offer.prefix for offer in offers] == WIDTHS[words]
    for offer in offers:
        assert read_rule(typed_rule(offer), asking(*words)).decision == offer.decision


TOOL_RULES = (ToolRule("calendar.create"), ToolRule("write_file", paths=("/srv/a b", "/srv/c")))


def test_of_a_tools_rule_only_the_scope_and_the_time_can_be_changed() -> None:
    request = msgspec.structs.replace(asking(), offers=for_tool(TOOL_RULES))
    for offer, rule in zip(request.offers, TOOL_RULES, strict=True):
        typed = typed_rule(offer)
        assert read_rule(typed, request).decision == offer.decision
        longer = read_rule(typed.replace("@user", "@project for 8h"), request).decision
        assert longer == ApprovedExecpolicyAmendment((), Scope.PROJECT, 28_800_000, rule)
    with pytest.raises(UsageError, match=r"write `calendar\.create` or `write_file '/srv/a b' /srv/c`"):
        read_rule("write_file /", request)
    assert (
        request.offers[0].rule
        == f'[[rule]]\nid = "{rule_id(TOOL_RULES[0])}"\ntool = "calendar.create"\ndecision = "allow"'
    )


def asking(*words: str) -> ReviewRequest:
    return msgspec.structs.replace(exec_request(), words=words)


def test_nothing_is_offered_where_nothing_is_proposed() -> None:
    assert for_prefix(None, lambda prefix: True) == ()


@pytest.mark.parametrize(
    ("milliseconds", "text"), [(86_400_000, "1 d"), (5_400_000, "90 m"), (1_000, "1 s"), (1_500, "1500 ms")]
)
def test_durations(milliseconds: int, text: str) -> None:
    assert duration(milliseconds) == text
