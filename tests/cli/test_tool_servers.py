"""Tool servers at the command line: listed when asked for, called through the gate, trusted by the person."""

import json
import pathlib
import sys

from tests.cli.program import signoff

ROOT = pathlib.Path(__file__).parents[2]
SERVER = {"command": sys.executable, "args": ["-m", "tests.fakes.mcp_server"], "env": {"PYTHONPATH": str(ROOT)}}


def test_a_projects_server_counts_once_it_is_trusted(home: pathlib.Path, tmp_path: pathlib.Path) -> None:
    space = tmp_path / "space"
    space.mkdir()
    (space / ".mcp.json").write_text(json.dumps({"mcpServers": {"calc": SERVER}}), encoding="utf-8")
    call = ("tools", "call", "mcp__calc__add", "--args", '{"a": 20, "b": 22}')

    before = signoff(*call, cwd=space)
    trusted = signoff("config", "trust", cwd=space)
    listed = signoff("tools", "list", "--servers", cwd=space)
    alone = signoff("tools", "list", cwd=space)
    asked = signoff(*call, cwd=space)
    run = signoff(*call, "--approval", "never", "--json", cwd=space)

    assert (before.status, "signoff config trust" in before.err) == (2, True)
    assert "tool server calc: " in trusted.err and "tests.fakes.mcp_server" in trusted.err
    assert "mcp__calc__add" in listed.out and "mcp__calc__add" not in alone.out
    assert asked.status == 40, "nobody is there to ask"
    assert json.loads(run.out)["payload"]["text"] == "42"


def test_a_server_that_does_not_start_is_said_and_the_command_goes_on(
    home: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    folder = home / ".config" / "signoff"
    folder.mkdir(parents=True, exist_ok=True)
    servers = {"gone": {"command": "/no/such/program"}, "odd": {}}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")

    ended = signoff("tools", "list", "--servers", cwd=tmp_path)

    assert ended.status == 0
    assert "'gone' is not there: cannot start /no/such/program" in ended.err
    assert "'odd' does not count" in ended.err
