"""signoff run, black box: a scripted model, the real gate, sandbox and ledger."""

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from signoff.cli import stream_json
from signoff.ledger.records import Event
from tests.clauses import requirement
from tests.cli.program import PROGRAM, Ended, signoff
from tests.cli.test_exec import last_run
from tests.cli.test_tool_servers import SERVER

ROOT = Path(__file__).parents[2]


@pytest.fixture
def workspace(home: Path) -> Path:
    directory = home / "shop"
    directory.mkdir()
    (directory / "cart.py").write_text("total = 1\n")
    return directory


def script(workspace: Path, *turns: dict[str, Any]) -> str:
    path = workspace.parent / "script.jsonl"
    path.write_text("".join(json.dumps(turn) + "\n" for turn in turns))
    return f"scripted/{path}"


def call(tool: str, **args: Any) -> dict[str, Any]:
    return {"name": tool, "args": args}


def command(text: str) -> dict[str, Any]:
    return call("run_terminal_cmd", command=text)


def run(workspace: Path, *words: str, turns: tuple[dict[str, Any], ...] = (), stdin: str = "") -> Ended:
    return signoff("run", "-m", script(workspace, *turns), *words, cwd=workspace, stdin=stdin)


DONE = {"text": "All done."}
ERROR = {"error": {"code": "model.unauthorized", "message": "no such key"}}

STATUSES: dict[str, tuple[tuple[str, ...], tuple[dict[str, Any], ...], int]] = {
    "all is well": (("do it",), ({"tools": [command("true")]}, DONE), 0),
    "no task": ((), (DONE,), 2),
    "an unknown option": (("--no-such-option", "x"), (DONE,), 2),
    "a session that is not there": (("-r", "nothing", "x"), (DONE,), 1),
    "a bad schema": (("--output-schema", "cart.py", "x"), (DONE,), 2),
    "a model that fails": (("x",), (ERROR,), 4),
    "a script that is no script": (("x",), ({"nonsense": 1},), 3),
    "a refusing model": (("x",), ({"text": "I will not.", "stop": "refused"},), 4),
    "a cut answer": (("x",), ({"text": "I was", "stop": "length"},), 4),
    "denied by policy": (("x",), ({"tools": [call("write_file", path="/etc/x", content="")]}, DONE), 40),
    "nobody to approve": (("x",), ({"tools": [command("rm -rf build")]}, DONE), 40),
    "denied, and that is fine": (
        ("--deny-exit", "child", "x"),
        ({"tools": [command("rm -rf build")]}, DONE),
        0,
    ),
    "denied, and that ends it": (("--on-ask", "fail", "x"), ({"tools": [command("rm -rf build")]}, DONE), 40),
    "a budget": (("--max-turns", "1", "x"), ({"tools": [command("true")]}, DONE), 42),
    "a budget of tokens": (
        ("--max-tokens", "10", "x"),
        ({"tools": [command("true")], "usage": {"input_tokens": 9, "output_tokens": 2}}, DONE),
        42,
    ),
    "a budget of money": (
        ("--max-usd", "0.5", "x"),
        ({"tools": [command("true")], "usage": {"cost_usd": 0.6}}, DONE),
        42,
    ),
    "going round in circles": (("x",), ({"tools": [command("ls")], "repeat": 30}, DONE), 43),
    "a command's own failure": (("x",), ({"tools": [command("false")]}, DONE), 0),
}


@requirement("ACP-009", "ACP-014")
@pytest.mark.parametrize("name", STATUSES)
def test_exit_status(name: str, workspace: Path) -> None:
    words, turns, status = STATUSES[name]
    ended = run(workspace, *words, turns=turns)
    assert ended.status == status, ended.err
    assert "Traceback" not in ended.err


def test_without_a_model_one_screen_says_how_to_begin(workspace: Path) -> None:
    ended = signoff("run", "x", cwd=workspace)
    assert (ended.status, ended.out) == (3, "")
    assert len(ended.err.splitlines()) <= 24
    for way in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "ollama", "signoff demo", "SIGNOFF_MODEL"):
        assert way in ended.err


def test_in_a_pipe_only_the_last_answer_is_on_stdout(workspace: Path) -> None:
    ended = run(workspace, "x", turns=({"text": "Let me look.", "tools": [call("read_file", path="cart.py")]}, DONE))
    assert ended.out == "All done.\n"
    assert "read_file cart.py" in ended.err


@requirement("ACP-009")
def test_the_task_is_what_was_said_with_the_file_and_what_is_piped(workspace: Path) -> None:
    (workspace / "notes.txt").write_text("from the file")
    ended = signoff("run", "-m", "echo/echo", "--input", "notes.txt", "from me", cwd=workspace, stdin="from the pipe\n")
    assert ended.out == "from me\n\nfrom the file\n\nfrom the pipe\n"


def test_a_mentioned_file_comes_along_through_the_gate(workspace: Path, home: Path) -> None:
    turns = ({"text": "seen", "expect": ["total = 1", 'path="cart.py"']},)
    assert run(workspace, "look at @cart.py, and mail me@example.org", turns=turns).out == "seen\n"
    assert [record.name for record in last_run(home) if type(record).__name__ == "Request"] == ["read_file"]


def test_twenty_calls_in_one_turn_are_all_recorded(workspace: Path, home: Path) -> None:
    turns = tuple({"tools": [command(f"echo {number}")]} for number in range(20))
    ended = run(workspace, "--json", "x", turns=(*turns, DONE))
    assert (ended.status, json.loads(ended.out)["calls"]) == (0, 20)
    results = [record for record in last_run(home) if type(record).__name__ == "Result"]
    assert len(results) == 20


def test_the_session_is_named_in_the_ledger_and_a_resumed_one_names_the_head_before(
    workspace: Path, home: Path
) -> None:
    model = script(workspace, {"text": "one"}, {"text": "two", "expect": "second"})
    assert signoff("run", "-m", model, "first", cwd=workspace).out == "one\n"
    first = opened(home)
    assert signoff("run", "-c", "second", cwd=workspace).out == "two\n"
    second = opened(home)
    assert second["session_id"] == first["session_id"]
    assert second["previous_run"] and len(second["previous_head"]) == 64


def opened(home: Path) -> dict[str, Any]:
    return next(
        record.data for record in last_run(home) if isinstance(record, Event) and record.name == "session.opened"
    )


def test_a_fork_leaves_the_first_session_as_it_was(workspace: Path) -> None:
    model = script(workspace, {"text": "one"}, {"text": "two"})
    signoff("run", "-m", model, "first", cwd=workspace)
    assert signoff("run", "-c", "--fork", "second", cwd=workspace).out == "two\n"
    assert signoff("run", "-r", "--fork", "-c", "x", cwd=workspace).status != 0


CHANCE = ("ts", "session_id", "run_id", "call_id", "turn_id", "duration_ms", "cwd", "model", "input_tokens", "output_tokens",
          "context_tokens", "backend", "mtime")  # fmt: skip


def without_chance(value: Any) -> Any:
    match value:
        case dict():
            return {
                key: "…" if key in CHANCE and one is not None else without_chance(one) for key, one in value.items()
            }
        case list():
            return [without_chance(one) for one in value]
        case str():
            return value.replace(os.environ["HOME"], "~")
        case _:
            return value


def test_stream_json_is_as_published(workspace: Path, golden: Callable[[str, str], None]) -> None:
    turns = (
        {
            "text": "Let me look.",
            "reasoning": "hm",
            "tools": [
                call("display", content="I start with the cart", level="progress", thought="why", evidence=["cart.py"]),
                call("read_file", path="cart.py"),
                {"name": "read_file", "args": "{broken"},
            ],
        },
        {"tools": [command("echo out"), command("rm -rf build")]},
        DONE,
    )
    ended = run(workspace, "--output-format", "stream-json", "do it", turns=turns)
    lines = [json.loads(line) for line in ended.out.splitlines()]
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert {line["v"] for line in lines} == {1}
    assert len({line["session_id"] for line in lines}) == 1
    assert [line["type"] for line in lines if line["type"] == "result"] == [lines[-1]["type"]]
    assert lines[-1]["denials"][0]["rule_id"] == "builtin.command.dangerous"
    assert (lines[-1]["exit_code"], ended.status) == (40, 40)
    decoder = msgspec.json.Decoder(stream_json.AnyLine)
    for line in ended.out.splitlines():
        decoder.decode(line)
    shown = [json.dumps(without_chance(line), ensure_ascii=False) + "\n" for line in lines]
    golden("run/stream.jsonl", "".join(shown))


def test_the_schema_of_stream_json_is_the_published_one(workspace: Path, golden: Callable[[str, str], None]) -> None:
    import jsonschema

    published = ROOT / "docs" / "run.schema.json"
    text = json.dumps(stream_json.schema(), indent=2, ensure_ascii=False) + "\n"
    golden("run/schema.json", text)
    assert published.read_text(encoding="utf-8") == text
    ended = run(workspace, "--output-format", "stream-json", "x", turns=({"tools": [command("true")]}, DONE))
    for line in ended.out.splitlines():
        jsonschema.validate(json.loads(line), json.loads(text))


@requirement("ACP-009")
def test_the_json_document_is_the_result(workspace: Path, golden: Callable[[str, str], None]) -> None:
    ended = run(workspace, "--json", "x", turns=({"tools": [command("rm -rf build")]}, DONE))
    golden("run/result.json", json.dumps(without_chance(json.loads(ended.out)), indent=2) + "\n")


def test_an_answer_of_the_wrong_shape_is_asked_for_again(workspace: Path) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    (workspace / "schema.json").write_text(json.dumps(schema))
    turns = ({"text": '{"n": "x"}'}, {"text": '{"n": 3}', "expect": "$.n is not of type integer"})
    ended = run(workspace, "--output-schema", "schema.json", "x", turns=turns)
    assert (ended.status, ended.out) == (0, '{"n": 3}\n')
    stubborn = run(workspace, "--output-schema", "schema.json", "x", turns=({"text": "no", "repeat": 3},))
    assert stubborn.status == 4


def test_plan_mode_changes_nothing(workspace: Path) -> None:
    turns = (
        {
            "tools": [
                call("write_file", path="new.txt", content="x"),
                command("touch other.txt"),
                command("cat cart.py"),
            ]
        },
        DONE,
    )
    ended = run(workspace, "--plan", "--json", "x", turns=turns)
    assert ended.status == 40
    assert sorted(path.name for path in workspace.iterdir()) == ["cart.py"]


def test_an_interrupted_run_ends_with_130_and_everything_recorded(workspace: Path, home: Path) -> None:
    model = script(workspace, {"tools": [command("echo begun; sleep 60")]}, DONE)
    child = subprocess.Popen(
        [PROGRAM, "run", "-m", model, "--output-format", "stream-json", "x"], cwd=workspace, stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    for line in child.stdout:
        if b"tool.progress" in line:
            break
    child.send_signal(signal.SIGINT)
    rest = child.stdout.read().splitlines()
    child.stdout.close()
    assert child.wait(30) == 130
    assert json.loads(rest[-1])["status"] == "cancelled"
    (result,) = [record for record in last_run(home) if type(record).__name__ == "Result"]
    assert result.error is not None


@requirement("CLU-045")
def test_a_model_without_calls_of_its_own_writes_one_json_object(workspace: Path, home: Path) -> None:
    turns = (
        {"text": '{"tool": "display", "args": {"content": "I begin", "level": "info"}}'},
        {"text": '```json\n{"tool": "read_file", "args": {"path": "cart.py"}}\n```', "expect": "shown: true"},
        {"text": 'The file says {"tool": 1}.', "expect": "total = 1"},
    )
    ended = run(workspace, "--tool-calls", "text", "x", turns=turns)
    assert (ended.status, ended.out) == (0, 'The file says {"tool": 1}.\n')
    names = [record.name for record in last_run(home) if type(record).__name__ == "Request"]
    assert names == ["display", "read_file"]


@requirement("CLU-046")
def test_display_goes_through_registry_event_stream_and_record(workspace: Path, home: Path) -> None:
    turns = ({"tools": [call("display", content="half way", level="success", title="Tests")]}, DONE)
    ended = run(workspace, "--output-format", "stream-json", "x", turns=turns)
    shown = [line for line in map(json.loads, ended.out.splitlines()) if line["type"] == "display"]
    assert [(line["content"], line["level"], line["title"]) for line in shown] == [("half way", "success", "Tests")]
    recorded = [record for record in last_run(home) if type(record).__name__ in ("Request", "Decision", "Result")]
    assert [type(record).__name__ for record in recorded] == ["Request", "Decision", "Result"]
    plain = run(workspace, "x", turns=turns)
    assert "✓ Tests: half way" in plain.err


def test_what_follows_r_is_an_id_and_a_text_is_told_where_it_belongs(workspace: Path) -> None:
    turns = tuple({"text": f"answer {number}"} for number in range(4))
    assert run(workspace, "first", turns=turns).out == "answer 0\n"
    for words in (("-r", "go on please"), ("-r", "go on please", "and more")):
        ended = run(workspace, *words, turns=(DONE,))
        assert (ended.status, ended.out) == (1, "")
        assert "no session begins with 'go on please'" in ended.err and "-c TASK" in ended.err
    unknown = run(workspace, "-r", "00000000", "go on", turns=(DONE,))
    assert unknown.status == 1 and "signoff sessions list" in unknown.err
    (session,) = json.loads(signoff("sessions", "list", "--json", cwd=workspace).out)["sessions"]
    for number, words in enumerate((("-r", session["id"][:8], "go on"), ("-c", "go on"), ("go on", "-r")), start=1):
        assert run(workspace, *words, turns=turns).out == f"answer {number}\n"


def test_an_agent_uses_the_tools_of_a_live_server(workspace: Path, home: Path) -> None:
    folder = home / ".config" / "signoff"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"calc": SERVER}}), encoding="utf-8")
    turns = ({"tools": [call("mcp__calc__add", a=20, b=22)]}, DONE)
    asked = run(workspace, "--json", "add", turns=turns)
    done = run(workspace, "--approval", "never", "--output-format", "stream-json", "add", turns=turns)
    assert asked.status == 40 and json.loads(asked.out)["denials"][0]["tool"] == "mcp__calc__add"
    finished = [line for line in map(json.loads, done.out.splitlines()) if line["type"] == "tool.finished"]
    assert done.status == 0 and "42" in json.dumps(finished)
