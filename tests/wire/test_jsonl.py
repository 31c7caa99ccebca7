"""Event lines in a stream: the same events and the same text for every way of cutting it."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signoff.wire.jsonl import Demand, Found, Modes, Scanner, Text, Trust
from signoff.wire.tool_events import PREFIX, ToolEvent
from tests.clauses import requirement

REQUEST = b'{"v":1,"type":"tool.request","ts":1,"id":"a","tool":"fs.read","action":"read","args":{"path":"x"}}\n'
RESULT = b'{"v":1,"type":"tool.result","ts":"2026-01-01T00:00:00Z","id":"a","ok":true,"output":{}}\n'
PROGRESS = b'{"v":1,"type":"tool.progress","ts":"17","id":"a","stage":"s","percent":3.5}\n'
TEXT = [
    b"hello\n",
    b"\n",
    b"no newline at the end",
    b"{ not json\n",
    b'{"level":"info","v":1}\n',
    b"  " + REQUEST,
    b"x" + PREFIX + REQUEST,
    b"@@MEM_TOOL\n",
    b"@@@\n",
    b"{}\n",
    b"\xff\xfe\x00{\n",
    b"caf\xc3\xa9 \xe2\x80\xa8 {\r\n",
    PREFIX + b"{broken\n",
    PREFIX + PREFIX + REQUEST,
    b'{"v":2,"type":"tool.request"}\n',
]


def run(
    chunks: list[bytes], modes: Modes | None = None, trust: Trust | None = None
) -> tuple[bytes, list[ToolEvent], int]:
    """The reader's loop in small: one growing buffer, kept tail moved to the front."""
    scanner = Scanner(modes or Modes(), trust or Trust())
    buffer, output, events = bytearray(), b"", []
    for chunk in [*chunks, None]:
        buffer += chunk or b""
        scan = scanner.scan(buffer, len(buffer), final=chunk is None)
        for piece in scan.pieces:
            match piece:
                case Text(start, stop):
                    output += bytes(buffer[start:stop])
                case Found(found, _, _):
                    events += found
        del buffer[: scan.keep]
    assert not buffer
    return output, events, scanner.failed


@requirement("MEM-007", "MEM-099", "MEM-112", "MEM-124")
@settings(max_examples=200)
@given(
    st.lists(
        st.sampled_from([REQUEST, RESULT, PROGRESS, PREFIX + REQUEST, PREFIX + PROGRESS, *TEXT, PROGRESS * 30]),
        max_size=12,
    ),
    st.lists(st.integers(0, 3000), max_size=12),
)
def test_any_chunking_gives_the_same_events_and_text(lines: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(lines)
    borders = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts)})
    chunks = [stream[a:b] for a, b in itertools.pairwise(borders)]
    assert run(chunks) == run([stream]) == run([stream[i : i + 1] for i in range(len(stream))])


@requirement("MEM-051", "MEM-125")
@pytest.mark.parametrize("text", TEXT)
def test_what_is_no_event_goes_out_to_the_byte(text: bytes) -> None:
    assert run([text])[:2] == (text, [])


@requirement("MEM-109", "MEM-110", "MEM-111")
def test_each_way_of_recognising_events_can_be_switched_off() -> None:
    stream = REQUEST + PREFIX + RESULT
    both, prefix_only, bare_only, none = (
        run([stream], Modes(prefix=prefix, bare=bare)) for prefix, bare in [(1, 1), (1, 0), (0, 1), (0, 0)]
    )
    assert [len(result[1]) for result in (both, prefix_only, bare_only, none)] == [2, 1, 1, 0]
    assert [result[0] for result in (both, prefix_only, bare_only, none)] == [b"", REQUEST, PREFIX + RESULT, stream]


@pytest.mark.parametrize("mark", [b"{", b"@"])
def test_an_event_behind_a_line_full_of_marks_is_found(mark: bytes) -> None:
    noise = b"x" + mark * 1_000 + b"\n"
    output, events, _ = run([noise + REQUEST + noise + PREFIX + RESULT])
    assert (output, len(events)) == (noise + noise, 2)


def test_a_prompt_goes_out_at_once_and_only_a_possible_event_is_held() -> None:
    for tail, held in [
        (b"continue? [y/N] ", 0),
        (b"@@MEM_TOO", 9),
        (b"{", 1),
        (b'{"v":', 5),
        (b"{x", 0),
        (b"@@MEX", 0),
    ]:
        scan = Scanner(Modes(), Trust()).scan(bytearray(b"line\n" + tail), 5 + len(tail))
        assert 5 + len(tail) - scan.keep == held


def test_an_event_cut_short_at_the_end_is_text_and_counted() -> None:
    line = PREFIX + REQUEST[:-1]
    for length in range(len(PREFIX) + 1, len(line)):
        assert run([line[:length]]) == (line[:length], [], 1)


def test_a_line_longer_than_the_limit_is_text_and_the_next_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signoff.wire.jsonl.MAX_LINE", 1000)
    long = b'{"a":"' + b"x" * 5000 + b"\n"
    output, events, failed = run([long[i : i + 100] for i in range(0, len(long), 100)] + [REQUEST])
    assert (output, len(events), failed) == (long, 1, 1)


def test_once_an_event_was_authenticated_one_without_the_nonce_is_text() -> None:
    signed = REQUEST.replace(b'"id"', b'"nonce":"n1","id"')
    trust = Trust(nonce="n1")
    output, events, _ = run([REQUEST + signed + REQUEST + RESULT], trust=trust)
    assert [event.nonce for event in events] == [None, "n1"]
    assert output == REQUEST + RESULT
    assert trust.forged == 2


def test_authentication_can_be_demanded_from_the_start() -> None:
    trust = Trust(nonce="n1", demand=Demand.AUTHENTICATED)
    assert run([REQUEST + PROGRESS * 40], trust=trust)[:2] == (REQUEST + PROGRESS * 40, [])
