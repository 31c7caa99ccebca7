"""Tools are found by name and version, and loaded only when called."""

import pathlib

import pytest

from signoff.domain.errors import ToolUnknown, ToolVersion
from signoff.tools.nothing import Nothing
from signoff.tools.registry import TOOLS, Registry
from signoff.tools.versions import PAST, adapted, understands
from tests.clauses import requirement
from tests.tools.workbench import Workbench


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
    with pytest.raises(ToolVersion, match=r"display 2.0.0 was called, and this is display 1.0.0, which is older"):
        Registry().find("display", "2.0.0")


@requirement("CLU-054")
def test_an_old_call_is_rewritten_or_refused_with_what_changed(tmp_path: pathlib.Path) -> None:
    bench = Workbench(tmp_path)
    bench.put(a="one\n")
    shown = bench.call("display", "0.9.0", message="hello")
    written = bench.call("write_file", "0.1.0", path="b", text="two\n")
    refused = bench.call("apply_patch", "0.3.0", path="a", old="one", new="two")
    twice = bench.call("display", "0.9.0", message="hello", content="hello")
    today = bench.call("display", "1.0.0", message="hello")

    assert (shown.ok, shown.display, written.ok, bench.tree()["b"]) == (True, "hello", True, b"two\n")
    assert refused.error is not None and refused.error.code == "tool.version"
    assert "that is edit_file now" in refused.error.message
    assert [one.error.code for one in (twice, today) if one.error] == ["tool.invalid_arguments"] * 2


@requirement("CLU-053")
def test_what_is_rewritten_is_what_the_tool_takes_today() -> None:
    for name, past in PAST.items():
        taken = Registry().find(name).schemas()[0]["properties"]
        for one in past.values():
            assert {new for new, _ in getattr(one, "fields", {}).values()} <= set(taken), name
    assert adapted("run_terminal_cmd", "0.1", {"command": "x", "timeout_s": 1.5}) == {
        "command": "x",
        "timeout_ms": 1_500,
    }
    assert adapted("grep", "1.0.0", {"max_hits": 1}) == {"max_hits": 1}


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
