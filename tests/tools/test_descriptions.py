"""What is shipped about our own tools is what they say themselves."""

from pathlib import Path

from signoff.tools import describe

SHIPPED = Path(describe.__file__).with_name("descriptions.json")


def test_the_shipped_descriptions_are_those_of_the_tools() -> None:
    assert SHIPPED.read_bytes() == describe.described(), "run `make golden`"


def test_they_can_be_read_back() -> None:
    assert set(describe.shipped()) == set(describe.TOOLS)
