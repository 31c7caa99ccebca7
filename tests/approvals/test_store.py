"""A yes for the session covers exactly what was asked, and nothing else is ever remembered."""

import asyncio
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signoff.approvals.store import ApprovalStore, key_text
from signoff.domain.review import (
    Abort,
    Approved,
    ApprovedExecpolicyAmendment,
    ApprovedForSession,
    Denied,
    ReviewDecision,
    TimedOut,
)
from tests.clauses import requirement


class Person:
    """Answers the same thing every time and counts how often it was bothered."""

    def __init__(self, answer: ReviewDecision) -> None:
        self.answer = answer
        self.asked = 0

    async def fetch(self) -> ReviewDecision:
        self.asked += 1
        return self.answer


def decide(store: ApprovalStore, keys: Sequence[str], answer: ReviewDecision) -> tuple[ReviewDecision, int]:
    person = Person(answer)
    return asyncio.run(store.with_cached_approval(keys, person.fetch)), person.asked


@requirement("APR-021")
def test_a_key_is_its_json_text_whatever_the_order_of_its_fields() -> None:
    class ShellKey(msgspec.Struct):
        command: list[str]
        cwd: str

    assert key_text({"cwd": "/w", "command": ["ls"]}) == key_text({"command": ["ls"], "cwd": "/w"})
    assert key_text(ShellKey(["ls"], "/w")) == '{"command":["ls"],"cwd":"/w"}'


@requirement("APR-023")
def test_without_keys_the_person_is_always_asked() -> None:
    store = ApprovalStore()
    for _ in range(2):
        assert decide(store, [], ApprovedForSession()) == (ApprovedForSession(), 1)


@requirement("APR-002", "APR-008", "APR-024", "APR-025", "APR-026", "APR-045")
def test_approved_for_session_is_remembered_key_by_key() -> None:
    store = ApprovalStore()
    assert decide(store, ["a", "b"], ApprovedForSession()) == (ApprovedForSession(), 1)
    for covered in (["a"], ["b"], ["b", "a"], ["a", "b"]):
        assert decide(store, covered, Denied()) == (ApprovedForSession(), 0)
    assert decide(store, ["a", "c"], Denied()) == (Denied(), 1)


@requirement("APR-022")
@pytest.mark.parametrize(
    "answer", [Approved(), ApprovedExecpolicyAmendment(("ls",)), Denied(), Denied("no"), Abort(), TimedOut()]
)
def test_nothing_but_approved_for_session_is_remembered(answer: ReviewDecision) -> None:
    store = ApprovalStore()
    for _ in range(2):
        assert decide(store, ["a"], answer) == (answer, 1)


ANSWERS = st.sampled_from([Approved(), ApprovedForSession(), Denied(), Abort(), TimedOut()])
KEYS = st.lists(st.sampled_from("abcde"), max_size=3, unique=True)


@requirement("APR-011")
@settings(max_examples=200)
@given(st.lists(st.tuples(KEYS, ANSWERS), max_size=12))
def test_a_cached_approval_never_covers_another_key_and_a_denial_is_never_cached(
    history: list[tuple[list[str], ReviewDecision]],
) -> None:
    store, granted = ApprovalStore(), set[str]()
    for keys, answer in history:
        decision, asked = decide(store, keys, answer)
        if keys and granted.issuperset(keys):
            assert (decision, asked) == (ApprovedForSession(), 0)
        else:
            assert (decision, asked) == (answer, 1)
            if answer == ApprovedForSession():
                granted.update(keys)


class Slow:
    """Answers when told to."""

    def __init__(self) -> None:
        self.asked = 0
        self.withdrawn = 0
        self.answer: asyncio.Future[ReviewDecision] = asyncio.get_running_loop().create_future()

    async def fetch(self) -> ReviewDecision:
        self.asked += 1
        try:
            return await self.answer
        except asyncio.CancelledError:
            self.withdrawn += 1
            raise


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.mark.parametrize("answer", [Approved(), ApprovedForSession(), Denied("no")])
def test_identical_questions_at_the_same_time_are_asked_once(answer: ReviewDecision) -> None:
    async def scene() -> None:
        store, person = ApprovalStore(), Slow()
        calls = [asyncio.ensure_future(store.with_cached_approval(["k"], person.fetch)) for _ in range(5)]
        other = asyncio.ensure_future(store.with_cached_approval(["k"], person.fetch, about="retry"))
        await settle()
        assert person.asked == 2  # the five together, and the other question
        person.answer.set_result(answer)
        assert await asyncio.gather(*calls, other) == [answer] * 6

    asyncio.run(scene())


def test_a_question_lives_as_long_as_one_call_waits_for_it() -> None:
    async def scene() -> None:
        store, person = ApprovalStore(), Slow()
        first, second = (asyncio.ensure_future(store.with_cached_approval(["k"], person.fetch)) for _ in range(2))
        await settle()
        first.cancel()
        await settle()
        assert (person.asked, person.withdrawn, first.cancelled()) == (1, 0, True)
        second.cancel()
        await settle()
        assert (person.withdrawn, second.cancelled()) == (1, True)
        again = asyncio.ensure_future(store.with_cached_approval(["k"], Person(Denied()).fetch))
        assert await again == Denied()

    asyncio.run(scene())


def test_a_question_dropped_by_the_reviewer_is_denied_for_everyone() -> None:
    async def scene() -> None:
        store, person = ApprovalStore(), Slow()
        calls = [asyncio.ensure_future(store.with_cached_approval(["k"], person.fetch)) for _ in range(2)]
        await settle()
        person.answer.cancel()
        assert await asyncio.gather(*calls) == [Denied(), Denied()]

    asyncio.run(scene())
