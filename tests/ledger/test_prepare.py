"""What happens to a record before it is written: redacted, bounded, canonical; never lost."""

import hashlib
import hmac
import json
import math
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signoff.domain.call import Failure
from signoff.ledger.canonical import canonical, spell_float
from signoff.ledger.prepare import LARGEST_RECORD, WITHHELD, Preparation
from signoff.ledger.records import Close, Effects, Event, Record, Review
from tests.clauses import requirement
from tests.ledger.books import KEY, Plain, decision, genesis, request, result

SECRET = "hunter2-correct-horse"


class Masks:
    """A redactor with one secret."""

    def text(self, text: str) -> str:
        return text.replace(SECRET, "[x]")

    def value(self, value: Any) -> Any:
        return json.loads(json.dumps(value).replace(SECRET, "[x]"))


class Breaks:
    def text(self, text: str) -> str:
        raise ValueError(text)

    def value(self, value: Any) -> Any:
        raise RecursionError


RECORDS_WITH_A_SECRET: list[Record] = [
    genesis(command=("agent", SECRET), environment={"note": SECRET}),
    request(1, args={"deep": [{"password": SECRET}]}, rationale=f"use {SECRET}", name=SECRET),
    decision(1, name=SECRET, reason=f"saw {SECRET}", matches=({"rule_id": "r", "reason": SECRET},)),
    Review(tool_call_id="c", decision="denied", question=SECRET, rejection=SECRET, amendment=("echo", SECRET)),
    result(
        1,
        args={"a": SECRET},
        name=SECRET,
        error=Failure("e", SECRET, {"k": SECRET}),
        artifacts=Effects((SECRET,), (SECRET,)),
    ),
    Event(name="net.connect", data={"host": SECRET}),
    Close(exit_code=0, reason=SECRET),
]


@requirement("MEM-120")
@pytest.mark.parametrize("redactor", [Masks(), Breaks()], ids=["masks", "breaks"])
@pytest.mark.parametrize("record", RECORDS_WITH_A_SECRET, ids=lambda record: type(record).__name__)
def test_no_secret_is_written_and_no_record_is_lost_even_when_redaction_fails(record: Record, redactor: Any) -> None:
    written = Preparation(redactor, KEY).bytes(record)
    assert SECRET.encode() not in written
    assert (b"[x]" in written) is isinstance(redactor, Masks)
    assert (WITHHELD.encode() in written) is isinstance(redactor, Breaks)
    assert type(msgspec.json.decode(written, type=Record)) is type(record)


def test_the_digest_is_keyed_and_that_of_the_original_arguments() -> None:
    args = {"b": SECRET, "a": 1}
    written = json.loads(Preparation(Masks(), KEY).bytes(request(1, args=args)))
    expected = hmac.new(KEY, b'{"a":1,"b":"%b"}' % SECRET.encode(), hashlib.sha256).hexdigest()
    assert written["args_hmac"] == expected
    assert written["args"] == {"a": 1, "b": "[x]"}


def test_what_was_redacted_once_is_not_redacted_again() -> None:
    """A result repeats the arguments of its request. What only compares as equal is not the same."""
    asked: list[Any] = []

    class Counts(Masks):
        def value(self, value: Any) -> Any:
            asked.append(value)
            return super().value(value)

    prepare = Preparation(Counts(), KEY)
    args = {"a": SECRET, "b": 1}
    first = json.loads(prepare.bytes(request(1, args=args)))
    second = json.loads(prepare.bytes(result(1, args={"a": SECRET, "b": 1})))
    assert first["args"] == second["args"] == {"a": "[x]", "b": 1}
    assert first["args_hmac"] == second["args_hmac"]
    assert asked == [args]
    written = [prepare.bytes(result(1, args={"a": SECRET, "b": b})) for b in (2, True, 1.5, "1", None, ("1",))]
    assert [json.loads(each)["args"]["b"] for each in written] == [2, True, 1.5, "1", None, ["1"]]
    assert len({json.loads(each)["args_hmac"] for each in written} | {first["args_hmac"]}) == 7
    other = json.loads(prepare.bytes(result(1, args={"b": 1, "a": SECRET})))
    assert (other["args"], other["args_hmac"]) == (first["args"], first["args_hmac"])


@pytest.mark.parametrize(
    "args",
    [
        {"content": "x" * 3_000_000},
        {"many": ["y" * 1_999] * 5_000},
        {f"k{number}": ["z" * 1_000] * 300 for number in range(300)},
    ],
    ids=["one long string", "many strings", "too wide to cut"],
)
def test_a_huge_record_is_cut_to_size_and_says_so(args: Any) -> None:
    written = Preparation(Plain(), KEY).bytes(result(1, args=args))
    assert len(written) <= LARGEST_RECORD
    assert json.loads(written)["bytes_before_cutting"] > LARGEST_RECORD
    assert json.loads(written)["args_hmac"] == Preparation(Plain(), KEY).digest(args)
    assert msgspec.json.decode(written, type=Record).tool_call_id == "c1"


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "args",
    [
        "\ud800",
        {"\udfff": "\ud800x"},
        10**5000,
        math.nan,
        math.inf,
        b"bytes",
        {1: object()},
        {"f": {1, 2}},
        deep(5_000),
    ],
    ids=lambda args: str(type(args).__name__),
)
def test_what_json_cannot_hold_still_leaves_a_record(args: Any) -> None:
    record = request(1, args=args, tool_call_id="c\ud800")
    written = Preparation(Plain(), KEY).bytes(record)
    assert json.loads(written)["type"] == "request"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"), (-0.0, "0"), (1.0, "1"), (-1.5, "-1.5"), (1e16, "10000000000000000"), (1e20, "100000000000000000000"),
        (1e21, "1e+21"), (1.5e300, "1.5e+300"), (1e-6, "0.000001"), (1e-7, "1e-7"), (1.25e-7, "1.25e-7"),
        (5e-324, "5e-324"), (1.7976931348623157e308, "1.7976931348623157e+308"), (333333333.33333329, "333333333.3333333"),
        (9007199254740993.0, "9007199254740992"), (0.1, "0.1"), (123456.789, "123456.789"),
    ],
)  # fmt: skip
def test_floats_are_spelled_as_rfc_8785_says(number: float, text: str) -> None:
    assert spell_float(number) == text


@settings(max_examples=200)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_spelled_float_reads_back_as_itself(number: float) -> None:
    assert float(spell_float(number)) == number


def test_keys_are_sorted_by_utf_16_unit() -> None:
    assert canonical({"\ue000": 1, "😀": 2, "é": 3, "a": 4}).decode() == '{"a":4,"é":3,"😀":2,"\ue000":1}'


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=200)
@given(json_values)
def test_canonical_json_reads_back_as_the_same_value_and_is_stable(value: Any) -> None:
    spelled = canonical(value)
    assert json.loads(spelled) == value
    assert canonical(json.loads(spelled)) == spelled
