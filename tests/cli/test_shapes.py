"""The shape of each --json answer that holds ids and times: names and types, kept as golden files."""

import json
import pathlib
import sys
from collections.abc import Callable
from typing import Any

from tests.cli.program import signoff

EXAMPLE = str(pathlib.Path(__file__).parents[2] / "examples" / "agent.py")


def shape(value: Any) -> Any:
    """Names and types; of a list its first element."""
    if isinstance(value, dict):
        return {name: shape(each) for name, each in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value).__name__


def written(answer: str) -> str:
    return json.dumps(shape(json.loads(answer)), indent=2) + "\n"


def test_golden_shapes_of_what_a_run_leaves(home: pathlib.Path, golden: Callable[[str, str], None]) -> None:
    space = home / "ws"
    space.mkdir()
    assert signoff("exec", "--", "sh", "-c", "echo new > a", cwd=space).status == 0
    golden("cli/undo.list.shape.json", written(signoff("undo", "--list", "--json", cwd=space).out))
    golden("cli/audit.sign.shape.json", written(signoff("audit", "sign", "--anchor", "heads", "--json", cwd=space).out))
    golden("cli/undo.shape.json", written(signoff("undo", "--json", cwd=space).out))
    signoff("wrap", "--", sys.executable, EXAMPLE, "echo one", cwd=space)
    golden("cli/replay.shape.json", written(signoff("replay", "--json", cwd=space).out))


def test_golden_tools(home: pathlib.Path, golden: Callable[[str, str], None]) -> None:
    tools = json.loads(signoff("tools", "list", "--json").out)["tools"]
    golden("cli/tools.list.txt", "".join(f"{tool['name']} {tool['version']}\n" for tool in tools))
    described = [tool for tool in tools if tool["name"] == "read_file"]
    golden("cli/tools.list.json", json.dumps(described, indent=2) + "\n")
    space = home / "ws"
    space.mkdir()
    (space / "a").write_text("text\n", encoding="utf-8")
    called = signoff("tools", "call", "read_file", "--args", '{"path": "a"}', "--json", cwd=space)
    golden("cli/tools.call.shape.json", written(called.out))
