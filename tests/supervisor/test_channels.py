"""The two directions of a child, on real pipes."""

import os
import threading

import pytest

from signoff.supervisor.hang import Finding, Patience, Signs, look
from signoff.supervisor.pump import Pump
from signoff.supervisor.writer import ControlWriter
from signoff.wire.jsonl import Modes, Scanner, Trust
from signoff.wire.tool_events import PREFIX, Failure, ToolEvent
from tests.clauses import requirement
from tests.wire.test_jsonl import PROGRESS, REQUEST, TEXT

WAIT = 120


@requirement("MEM-041", "MEM-053")
def test_lines_from_many_threads_never_mix_and_a_slow_child_blocks_nobody() -> None:
    read, write = os.pipe()
    lost: list[str] = []
    writer = ControlWriter(write, lost.append)
    lines = [[f"{thread}:{number}:{'x' * 300}\n".encode() for number in range(200)] for thread in range(50)]
    threads = [threading.Thread(target=lambda mine=mine: [writer.send(line) for line in mine]) for mine in lines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)  # nobody reads yet: were a sender to block, this would not return
        assert not thread.is_alive()
    expected = sum(len(line) for mine in lines for line in mine)
    got = b""
    while len(got) < expected:
        got += os.read(read, 65536)
    writer.close()
    received = got.decode().splitlines(keepends=True)
    assert sorted(received) == sorted(line.decode() for mine in lines for line in mine)
    for mine in lines:
        order = [line.decode() for line in mine]
        members = set(order)
        assert [line for line in received if line in members] == order
    assert lost == []
    os.close(read)


@requirement("MEM-046")
def test_a_channel_nobody_holds_is_reported_lost_once() -> None:
    read, write = os.pipe()
    os.close(read)
    lost: list[str] = []
    writer = ControlWriter(write, lost.append)
    assert not writer.send(b"a\n")
    assert not writer.send(b"b\n")
    assert lost == ["Broken pipe"]
    writer.close()


def pumped(stream: bytes, *, show_events: bool = False) -> tuple[bytes, list[ToolEvent], list[Failure]]:
    source_out, source_in = os.pipe()
    sink_out, sink_in = os.pipe()
    events: list[ToolEvent] = []
    failures: list[Failure] = []
    pump = Pump(source_out, sink_in, Scanner(Modes(), Trust()), events.extend, failures.extend, show_events=show_events)

    def feed() -> None:
        with os.fdopen(source_in, "wb") as pipe:
            pipe.write(stream)

    def run() -> None:
        pump.run()
        os.close(sink_in)

    threads = [threading.Thread(target=feed), threading.Thread(target=run)]
    for thread in threads:
        thread.start()
    with os.fdopen(sink_out, "rb") as pipe:
        output = pipe.read()
    for thread in threads:
        thread.join(WAIT)
        assert not thread.is_alive()
    return output, events, failures


@requirement("MEM-004", "MEM-042", "MEM-051")
def test_output_passes_to_the_byte_less_the_events() -> None:
    text = b"".join(TEXT[:2] + TEXT[3:]) * 500
    output, events, _ = pumped(text + REQUEST + text + PREFIX + PROGRESS + text)
    assert output == text * 3
    assert len(events) == 2
    assert pumped(REQUEST + b"x", show_events=True)[0] == REQUEST + b"x"


def test_an_event_larger_than_the_buffer_is_still_an_event_and_a_monstrous_line_is_text() -> None:
    large = REQUEST.replace(b'"x"', b'"' + b"y" * 500_000 + b'"')
    output, events, _ = pumped(large + b"after\n")
    assert (output, len(events)) == (b"after\n", 1)
    monster = b'{"v":' + b"1" * (9 * 1024 * 1024) + b"\n"
    output, events, _ = pumped(monster + REQUEST)
    assert (output == monster, len(events)) == (True, 1)


def test_a_partial_line_goes_out_before_its_newline() -> None:
    source_out, source_in = os.pipe()
    sink_out, sink_in = os.pipe()
    pump = Pump(source_out, sink_in, Scanner(Modes(), Trust()), lambda _: None, lambda _: None)
    thread = threading.Thread(target=pump.run)
    thread.start()
    os.write(source_in, b"password: ")
    assert os.read(sink_out, 100) == b"password: "
    os.close(source_in)
    thread.join(WAIT)
    os.close(sink_in)
    os.close(sink_out)


def test_when_nobody_reads_us_the_child_feels_it() -> None:
    source_out, source_in = os.pipe()
    sink_out, sink_in = os.pipe()
    os.close(sink_out)
    pump = Pump(source_out, sink_in, Scanner(Modes(), Trust()), lambda _: None, lambda _: None)
    thread = threading.Thread(target=pump.run)
    thread.start()
    os.write(source_in, b"text\n")
    thread.join(WAIT)
    with pytest.raises(BrokenPipeError):
        os.write(source_in, b"more\n")
    os.close(source_in)
    os.close(sink_in)


@pytest.mark.parametrize(
    ("signs", "finding"),
    [
        (Signs(100, 90, 0, None, False, 2), Finding.ALIVE),
        (Signs(300, 90, 90, None, False, 2), Finding.SUSPECTED),
        (Signs(300, 90, 90, None, False, 2, suspected_at=290), Finding.SUSPECTED),
        (Signs(300, 90, 90, None, False, 2, suspected_at=280), Finding.HUNG),
        (Signs(300, 90, 90, None, True, 2, suspected_at=280), Finding.ALIVE),
        (Signs(300, 90, 90, 200, False, 2, suspected_at=280), Finding.ALIVE),
        (Signs(900, 90, 90, 200, False, 2, suspected_at=880), Finding.HUNG),
        (Signs(100, 100, 100, None, False, 0), Finding.SUSPECTED),
        (Signs(106, 100, 100, None, True, 0, suspected_at=100), Finding.HUNG),
    ],
)
def test_silence_is_suspected_first_and_our_own_debts_excuse_it(signs: Signs, finding: Finding) -> None:
    assert look(signs, Patience()) is finding


def test_without_a_limit_silence_is_noticed_and_only_closed_streams_end_a_run() -> None:
    patient = Patience(grace=float("inf"))
    assert look(Signs(90_000, 90, 90, None, False, 2, suspected_at=300), patient) is Finding.SUSPECTED
    assert look(Signs(106, 100, 100, None, False, 0, suspected_at=100), patient) is Finding.HUNG
