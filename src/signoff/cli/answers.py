"""What a key means at a question, and what a typed rule says. Pure: the terminal only feeds it.

Enter is no. What is no key of ours means nothing. Several keys at once are a paste or type-ahead, not an answer.
"""

import enum
import re
import shlex
from typing import TypeGuard

import msgspec

from signoff.approvals.remember import saved_rule, saved_tool_rule, unsavable, words_of
from signoff.approvals.request import Offer, ReviewRequest, Width
from signoff.cli.question import rules
from signoff.domain.errors import UsageError
from signoff.domain.review import (
    Abort,
    Approved,
    ApprovedExecpolicyAmendment,
    Denied,
    ReviewDecision,
    Scope,
    ToolRule,
)

_UNITS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_RULE = re.compile(
    r"(?P<words>.*?)(?:(?:\A|\s+)@\s*(?P<scope>\w+)(?:\s+for\s+(?P<count>\d{1,6})\s*(?P<unit>[smhd]))?)?\s*", re.DOTALL
)
EDITING = "what the command starts with, then @user, @project or @session; perhaps a time: npm test @project for 8h"


class Ask(enum.Enum):
    """What has to be typed before the answer is complete."""

    REASON = "reason"
    RULE = "rule"


class Chosen(msgspec.Struct, frozen=True):
    """Another rule was picked; the question stays open."""

    number: int


Pressed = ReviewDecision | Ask | Chosen | None


def press(request: ReviewRequest, chosen: int, data: bytes) -> Pressed:
    """The meaning of what was read in one go. None: nothing."""
    offers = rules(request)
    match data:
        case b"y" | b"Y":
            return Approved()
        case b"\r" | b"\n":
            return Denied()
        case b"n" | b"N":
            return Ask.REASON
        case b"\x1b" | b"\x04" | b"\x1c":
            return Abort()
        case b"a" | b"A":
            return next((offer.decision for offer in request.offers if offer.scope is Scope.SESSION), None)
        case b"p" | b"P" if offers:
            return offers[chosen].decision
        case b"e" | b"E" if offers:
            return Ask.RULE
        case b"1" | b"2" | b"3" if int(data) <= len(offers):
            return Chosen(int(data) - 1)
    return None


def typed_rule(offer: Offer) -> str:
    """An offer as the line a person edits."""
    return f"{shlex.join(_words(offer))} @{offer.scope}"


def read_rule(text: str, request: ReviewRequest) -> Offer:
    """The rule a person typed: `npm test @project for 8h`. Raises UsageError with what is wrong; a rule that would not
    cover what is asked about is wrong too."""
    found = _RULE.fullmatch(text)
    try:
        words = tuple(shlex.split(found["words"] if found else ""))
    except ValueError as error:
        raise UsageError(f"the words cannot be read: {error}") from error
    if not found or not words:
        raise UsageError("name at least the program")
    scope = found["scope"] or Scope.USER
    if scope not in (Scope.USER, Scope.PROJECT, Scope.SESSION):
        raise UsageError(f"{scope!r} is no scope; say user, project or session")
    if scope == Scope.SESSION and found["count"]:
        raise UsageError("a rule for the session ends with the session")
    lasting = int(found["count"]) * _UNITS[found["unit"]] if found["count"] else None
    rule = _tool_rule(request, words)
    if rule is not None:
        return saved_tool_rule(rule, Scope(scope), lasting)
    problem = unsavable(words)
    if problem is not None:
        raise UsageError(f"{shlex.join(words)} cannot be kept: {problem}")
    if request.words[: len(words)] != words:
        raise UsageError(f"{shlex.join(words)} does not cover this: the command starts {shlex.join(request.words[:3])}")
    return saved_rule(words, Width.PREFIX, Scope(scope), lasting)


def _tool_rule(request: ReviewRequest, words: tuple[str, ...]) -> ToolRule | None:
    """For a call that is no command: one of the rules offered. None: it is about a command."""
    offered = {_words(offer): offer.decision.rule for offer in rules(request) if _is_for_a_tool(offer.decision)}
    if offered and words not in offered:
        choices = " or ".join(f"`{shlex.join(one)}`" for one in offered)
        raise UsageError(f"only the scope and the time can be changed here; write {choices}")
    return offered.get(words)


def _is_for_a_tool(decision: ReviewDecision) -> TypeGuard[ApprovedExecpolicyAmendment]:
    return isinstance(decision, ApprovedExecpolicyAmendment) and decision.rule is not None


def _words(offer: Offer) -> tuple[str, ...]:
    if not _is_for_a_tool(offer.decision) or offer.decision.rule is None:
        return offer.prefix
    return words_of(offer.decision.rule)


def said(decision: ReviewDecision) -> str:
    """The answer, for the person who gave it."""
    match decision:
        case Approved():
            return "yes, once"
        case ApprovedExecpolicyAmendment(rule=ToolRule(tool=tool)):
            return f"yes, and such calls of {tool} will not be asked about"
        case ApprovedExecpolicyAmendment(proposed_execpolicy_amendment=prefix):
            return f"yes, and commands that start with `{shlex.join(prefix)}` will not be asked about"
        case Denied(rejection=None):
            return "no"
        case Denied(rejection=rejection):
            return f"no: {rejection}"
        case Abort():
            return "no, and the turn is stopped"
        case _:
            return "yes, for this session"
