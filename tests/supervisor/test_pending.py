"""The state machine of a call, as a table."""

import itertools

import pytest

from signoff.supervisor.pending import TRANSITIONS, State, Step, Table, answers_first
from signoff.wire.tool_events import ToolEvent, ToolRequest, ToolResult
from tests.clauses import requirement


def request(call_id: str = "a") -> ToolRequest:
    return ToolRequest(1, 1, call_id, "shell", "exec", {}, requires_policy=True)


def result(call_id: str) -> ToolResult:
    return ToolResult(1, 1, call_id, True, {})


def walk(*steps: Step) -> State | None:
    table = Table()
    table.open(request(), 0.0)
    entry = None
    for step in steps:
        entry = table.advance("a", step, 1.0)
    return None if entry is None else entry.state


@requirement("MEM-056", "MEM-057", "MEM-058", "MEM-059", "MEM-060", "MEM-061")
@pytest.mark.parametrize(
    ("steps", "state"),
    [
        ([Step.ALLOW], State.ALLOWED),
        ([Step.ALLOW, Step.RESULT], State.COMPLETED),
        ([Step.DENY], State.DENIED),
        ([Step.DENY, Step.RESULT], State.COMPLETED),
        ([Step.TIMEOUT], State.DENIED_TIMEOUT),
        ([Step.TIMEOUT, Step.RESULT], State.COMPLETED),
        ([Step.LOST], State.FAILED_TRANSPORT),
        ([Step.ALLOW, Step.LOST], State.FAILED_TRANSPORT),
        ([Step.ALLOW, Step.DENY], None),
        ([Step.DENY, Step.ALLOW], None),
        ([Step.TIMEOUT, Step.ALLOW], None),
        ([Step.RESULT], None),
        ([Step.ALLOW, Step.RESULT, Step.RESULT], None),
        ([Step.LOST, Step.ALLOW], None),
    ],
)
def test_a_call_goes_through_its_states_and_no_others(steps: list[Step], state: State | None) -> None:
    assert walk(*steps) == state


@requirement("MEM-043", "MEM-044")
def test_a_waiting_call_is_kept_with_its_times_and_leaves_when_decided() -> None:
    table = Table()
    entry = table.open(request(), 5.0)
    assert entry is not None
    assert (entry.asked_at, entry.decided_at, entry.retries, list(table.waiting)) == (5.0, None, 0, ["a"])
    table.advance("a", Step.ALLOW, 6.0)
    assert (entry.decided_at, list(table.waiting), list(table.decided)) == (6.0, [], ["a"])
    table.advance("a", Step.RESULT, 7.0)
    assert not table.decided


@requirement("MEM-062", "MEM-063", "MEM-064")
def test_repeats_change_nothing() -> None:
    table = Table()
    entry = table.open(request(), 0.0)
    assert entry is not None
    assert table.open(request(), 1.0) is None
    assert entry.retries == 1
    table.advance("a", Step.DENY, 2.0)
    assert table.open(request(), 3.0) is None
    assert table.advance("a", Step.ALLOW, 4.0) is None
    assert table.advance("unknown", Step.ALLOW, 4.0) is None
    assert entry.state is State.DENIED


def test_nothing_leads_out_of_an_end_and_a_no_never_becomes_a_yes() -> None:
    ends = {State.COMPLETED, State.FAILED_TRANSPORT}
    assert not [key for key in TRANSITIONS if key[0] in ends]
    refused = {State.DENIED, State.DENIED_TIMEOUT, *ends}
    assert not [key for key, target in TRANSITIONS.items() if key[0] in refused and target is State.ALLOWED]


def test_out_of_order_decisions_find_their_own_call_and_memory_stays_bounded() -> None:
    table = Table(most_waiting=1000, most_decided=100)
    for number in range(1000):
        table.open(request(f"t{number}"), float(number))
    assert table.full
    for number in itertools.chain(range(0, 1000, 2), range(999, 0, -2)):
        entry = table.advance(f"t{number}", Step.ALLOW if number % 2 else Step.DENY, 1.0)
        assert entry is not None
        assert entry.request.id == f"t{number}"
    assert (len(table.waiting), len(table.decided)) == (0, 100)


def test_what_waits_too_long_is_named_in_order() -> None:
    table = Table()
    for number in range(5):
        table.open(request(f"t{number}"), float(number))
    assert table.overdue(12.0, 10.0) == ["t0", "t1", "t2"]


@pytest.mark.parametrize(
    ("events", "first", "later"),
    [
        ([result("a"), request("b")], [request("b")], [result("a")]),
        ([request("b"), result("a")], [request("b"), result("a")], []),  # nobody waits behind the result
        ([result("a"), request("a")], [result("a"), request("a")], []),  # the same id again: a new call, not a repeat
        ([result("a"), request("b"), result("c"), request("d")], [request("b"), request("d")], [result("a"), result("c")]),
    ],
)  # fmt: skip
def test_a_child_that_waits_is_answered_before_results_are_written_down(
    events: list[ToolEvent], first: list[ToolEvent], later: list[ToolEvent]
) -> None:
    assert answers_first(events) == (first, later)
