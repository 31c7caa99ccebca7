"""A frame is one of four things, or malformed with a reason and the right code."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Raw

from signoff.wire import jsonrpc
from signoff.wire.jsonrpc import ErrorBody, Failure, Malformed, Notification, Request, Result
from tests.clauses import requirement

GOOD: list[tuple[bytes, object]] = [
    (b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":1}}', Request(1, "a", Raw(b'{"x":1}'))),
    (b'{"jsonrpc":"2.0","id":"one","method":"a"}', Request("one", "a", Raw(b"{}"))),
    (b'{"jsonrpc":"2.0","id":null,"method":"a"}', Request(None, "a", Raw(b"{}"))),
    (b'{"jsonrpc":"2.0","id":-7,"method":"a"}', Request(-7, "a", Raw(b"{}"))),
    (b'{"jsonrpc":"2.0","method":"a","params":[1]}', Notification("a", Raw(b"[1]"))),
    (b' {"method":"a","jsonrpc":"2.0"}\r', Notification("a", Raw(b"{}"))),
    (b'{"jsonrpc":"2.0","id":1,"result":null}', Result(1, Raw(b"null"))),
    (b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"m"}}', Failure(1, ErrorBody(-32601, "m"))),
    (b'{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}', Failure(None, ErrorBody(-32700, "m"))),
]


@pytest.mark.parametrize(("data", "meant"), GOOD)
def test_a_well_formed_frame_is_what_it_is(data: bytes, meant: object) -> None:
    assert jsonrpc.read(data) == meant
    assert jsonrpc.read(data.decode()) == meant


BAD: list[tuple[bytes, int, object]] = [
    (b"{", jsonrpc.PARSE_ERROR, None),
    (b"", jsonrpc.PARSE_ERROR, None),
    (b"not json", jsonrpc.PARSE_ERROR, None),
    (b'{"jsonrpc":"2.0","id":1,"method":"a"} trailing', jsonrpc.PARSE_ERROR, None),
    (b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":"\xff"}}', jsonrpc.PARSE_ERROR, None),
    (b'{"id":true,"method":1', jsonrpc.PARSE_ERROR, None),
    (b'{"jsonrpc":"2.0","id":1,"method":"a","params":' + b"[" * 100_000, jsonrpc.PARSE_ERROR, None),
    (b"[]", jsonrpc.INVALID_REQUEST, None),
    (b'[{"jsonrpc":"2.0","id":1,"method":"a"}]', jsonrpc.INVALID_REQUEST, None),
    (b"3", jsonrpc.INVALID_REQUEST, None),
    (b'"text"', jsonrpc.INVALID_REQUEST, None),
    (b"null", jsonrpc.INVALID_REQUEST, None),
    (b"{}", jsonrpc.INVALID_REQUEST, None),
    (b'{"id":4,"method":"a"}', jsonrpc.INVALID_REQUEST, 4),
    (b'{"jsonrpc":"1.0","id":4,"method":"a"}', jsonrpc.INVALID_REQUEST, 4),
    (b'{"jsonrpc":2.0,"id":4,"method":"a"}', jsonrpc.INVALID_REQUEST, 4),
    (b'{"jsonrpc":"2.0","id":4,"method":5}', jsonrpc.INVALID_REQUEST, 4),
    (b'{"jsonrpc":"2.0","id":4,"method":"a","params":"text"}', jsonrpc.INVALID_REQUEST, 4),
    (b'{"jsonrpc":"2.0","id":4,"method":"a","result":1}', jsonrpc.INVALID_REQUEST, 4),
    (b'{"jsonrpc":"2.0","id":{},"method":"a"}', jsonrpc.INVALID_REQUEST, None),
    (b'{"jsonrpc":"2.0","id":[1],"method":"a"}', jsonrpc.INVALID_REQUEST, None),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"a"}', jsonrpc.INVALID_REQUEST, None),
    (b'{"jsonrpc":"2.0","id":true,"method":"a"}', jsonrpc.INVALID_REQUEST, None),
    (b'{"jsonrpc":"2.0","id":"' + b"x" * 1_025 + b'","method":"a"}', jsonrpc.INVALID_REQUEST, None),
    (b'{"jsonrpc":"2.0","result":1}', jsonrpc.INVALID_REQUEST, None),
]


@requirement("ACP-015", "ACP-017")
@pytest.mark.parametrize(("data", "code", "request_id"), BAD, ids=lambda value: repr(value)[:40])
def test_a_malformed_frame_names_its_error_and_the_id_that_could_be_read(
    data: bytes, code: int, request_id: object
) -> None:
    frame = jsonrpc.read(data)
    assert isinstance(frame, Malformed)
    assert (frame.code, frame.id, frame.about) == (code, request_id, UNSET)


@requirement("ACP-016")
@pytest.mark.parametrize(
    "data",
    [
        b'{"jsonrpc":"2.0","id":9,"result":1,"error":{"code":1,"message":"m"}}',
        b'{"jsonrpc":"2.0","id":9,"error":"text"}',
        b'{"jsonrpc":"2.0","id":9,"error":{"code":"x","message":"m"}}',
    ],
)
def test_a_broken_answer_names_the_request_it_was_meant_for(data: bytes) -> None:
    frame = jsonrpc.read(data)
    assert isinstance(frame, Malformed)
    assert (frame.code, frame.id, frame.about) == (jsonrpc.INVALID_REQUEST, None, 9)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_as_something(data: bytes) -> None:
    assert isinstance(jsonrpc.read(data), jsonrpc.Frame)


TEXT = st.text('aé"\\\u2028𝄞', max_size=4)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
MEMBERS = st.dictionaries(
    st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "extra"]), JSON | st.just("2.0")
)


@given(MEMBERS)
def test_any_envelope_is_read_as_something_and_a_request_echoes_its_id(members: dict[str, object]) -> None:
    frame = jsonrpc.read(jsonrpc._encode(members))
    assert isinstance(frame, jsonrpc.Frame)
    if isinstance(frame, Request | Result):
        assert frame.id == members["id"]
        assert type(frame.id) is type(members["id"])


@given(st.integers() | TEXT | st.none(), TEXT)
def test_our_own_frames_are_read_back(request_id: int | str | None, method: str) -> None:
    assert jsonrpc.read(jsonrpc.request(request_id, method, {"a": 1})) == Request(request_id, method, Raw(b'{"a":1}'))
    assert jsonrpc.read(jsonrpc.notification(method, {})) == Notification(method, Raw(b"{}"))
    assert jsonrpc.read(jsonrpc.result(request_id, None)) == Result(request_id, Raw(b"null"))
    failure = jsonrpc.read(jsonrpc.error(request_id, -1, "m", {"d": 1}))
    assert failure == Failure(request_id, ErrorBody(-1, "m", Raw(b'{"d":1}')))
