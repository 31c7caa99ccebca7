"""Tools are found by name and version, and loaded only when called."""

import pytest

from signoff.domain.errors import ToolUnknown, ToolVersion
from signoff.tools.nothing import Nothing
from signoff.tools.registry import TOOLS, Registry, understands
from tests.clauses import requirement


@pytest.mark.parametrize("name", TOOLS)
def test_every_name_in_the_table_leads_to_a_tool_of_that_name(name: str) -> None:
    tool = Registry().find(name)
    assert tool.name == name
    assert understands(tool.version, tool.version)


def test_a_name_that_is_nearly_right_is_suggested() -> None:
    with pytest.raises(ToolUnknown) as caught:
        Registry().find("run_terminal_command")
    assert caught.value.hint == "Did you mean run_terminal_cmd?"


def test_a_tool_made_at_run_time_comes_first() -> None:
    mine = Nothing()
    registry = Registry()
    registry.add(mine)
    assert registry.find("nothing") is mine
    with pytest.raises(ToolVersion):
        registry.find("nothing", "2.0.0")


@requirement("CLU-053", "CLU-054")
def test_a_call_in_another_version_is_understood_or_refused_with_both_versions() -> None:
    assert Registry().find("display", "1.0.9").name == "display"
    with pytest.raises(ToolVersion, match=r"display 2.0.0 was called, and this is display 1.0.0"):
        Registry().find("display", "2.0.0")


@requirement("CLU-053")
@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ("1.2.3", "1.2.9", True),
        ("1.2.3", "1.0", True),
        ("1.2.3", "1.3.0", False),
        ("1.2.3", "2.0.0", False),
        ("1.2.3", "0.9.0", False),
        ("1.2.3", "x", False),
        ("1.2.3", "1", False),
    ],
)
def test_versions(ours: str, theirs: str, expected: bool) -> None:
    assert understands(ours, theirs) is expected
