"""The published test vectors are true of our own reader."""

import json
import pathlib

import pytest

from signoff.domain.errors import ParseError
from signoff.wire import control
from signoff.wire.jsonl import Found, Modes, Scanner, Trust
from signoff.wire.tool_events import TYPES

VECTORS = pathlib.Path(__file__).parents[2] / "docs" / "protocol"


def cases(name: str) -> list[tuple[str, str]]:
    lines = (VECTORS / name).read_text(encoding="utf-8").splitlines()
    return [(row["line"], row["kind"]) for row in map(json.loads, lines)]


@pytest.mark.parametrize(("line", "kind"), cases("events.jsonl"))
def test_event_vectors(line: str, kind: str) -> None:
    data = bytearray(line.encode("utf-8", "surrogatepass") + b"\n")
    scan = Scanner(Modes(), Trust()).scan(data, len(data))
    found = [event for piece in scan.pieces if isinstance(piece, Found) for event in piece.events]
    read = [event.__struct_config__.tag for event in found] + [failure.kind for failure in scan.failures]
    assert read == ([] if kind == "text" else [kind])
    assert kind in TYPES or not found


@pytest.mark.parametrize(("line", "kind"), cases("control.jsonl"))
def test_control_vectors(line: str, kind: str) -> None:
    try:
        assert control.decode(line.encode()).__struct_config__.tag == kind
    except ParseError as error:
        assert error.code == kind
