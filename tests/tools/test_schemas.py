"""Every tool says what it takes, gives, needs and does, in schemas that others understand."""

from typing import Any

import jsonschema
import msgspec
import pytest

from signoff.domain.call import Artifacts, Failure, ToolCall, ToolResult
from signoff.domain.errors import InvalidArguments
from signoff.domain.intent import Permission
from signoff.tools.apply_patch import ApplyPatch
from signoff.tools.ask_user import AskUser
from signoff.tools.codebase_search import CodebaseSearch
from signoff.tools.delete_file import DeleteFile
from signoff.tools.describe import describe
from signoff.tools.display import DisplayTool
from signoff.tools.edit_file import EditFile
from signoff.tools.glob_file_search import GlobFileSearch
from signoff.tools.grep import Grep
from signoff.tools.list_dir import ListDirectory
from signoff.tools.move_file import MoveFile
from signoff.tools.read_file import ReadFile
from signoff.tools.read_lints import ReadLints
from signoff.tools.registry import Registry
from signoff.tools.run_terminal_cmd import RunTerminalCommand
from signoff.tools.tool import Tool, decode
from signoff.tools.update_memory import UpdateMemory
from signoff.tools.update_plan import UpdatePlan
from signoff.tools.web_fetch import WebFetch
from signoff.tools.write_file import WriteFile
from tests.clauses import requirement

EXAMPLES: dict[type[Tool[Any]], dict[str, Any]] = {
    ApplyPatch: {"patch_text": "x"},
    AskUser: {"question": "x"},
    CodebaseSearch: {"query": "x"},
    DeleteFile: {"path": "x"},
    DisplayTool: {"content": "x", "level": "info"},
    EditFile: {"path": "x", "old": "a", "new": "b"},
    GlobFileSearch: {"glob_pattern": "*"},
    Grep: {"pattern": "x", "-i": True},
    ListDirectory: {"path": "."},
    MoveFile: {"source": "a", "destination": "b"},
    ReadFile: {"path": "x", "offset": 1, "limit": 2},
    ReadLints: {"paths": ["x"]},
    RunTerminalCommand: {"command": "true"},
    UpdateMemory: {"title": "x", "knowledge_to_store": "y"},
    UpdatePlan: {"entries": [{"content": "x"}]},
    WebFetch: {"url": "https://example.org/"},
    WriteFile: {"path": "x", "content": ""},
}


def call(tool: Tool[Any], args: dict[str, Any]) -> ToolCall:
    return ToolCall("call-1", tool.name, "", args, "turn-1", 0)


def test_the_registry_has_exactly_these() -> None:
    registry = Registry()
    assert {type(registry.find(name)) for name in registry.names()} == set(EXAMPLES)


@requirement("CLU-002", "CLU-010", "CLU-014")
@pytest.mark.parametrize("kind", EXAMPLES, ids=lambda kind: kind.name)
def test_a_tool_describes_itself_in_schemas_another_validator_accepts(kind: type[Tool[Any]]) -> None:
    found = describe(kind())
    for schema in (found.args_schema, found.return_schema):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
    assert found.args_schema["additionalProperties"] is False
    assert found.return_schema["properties"], "the shape of the result is promised"
    assert found.description.endswith(".")
    assert {Permission(name) for name in found.required_permissions} == set(kind.permissions)


@requirement("CLU-009")
@pytest.mark.parametrize(("kind", "example"), EXAMPLES.items(), ids=lambda value: getattr(value, "name", ""))
def test_the_schema_and_the_decoder_agree(kind: type[Tool[Any]], example: dict[str, Any]) -> None:
    tool = kind()
    validator = jsonschema.Draft202012Validator(describe(tool).args_schema)
    first = next(iter(example))
    for args, right in (
        (example, True),
        ({**example, "unknown": 1}, False),
        ({**example, first: {"no": "such"}}, False),
        ({}, not describe(tool).args_schema.get("required")),
    ):
        assert validator.is_valid(args) is right, args
        if right:
            decode(tool, call(tool, args))
        else:
            with pytest.raises(InvalidArguments):
                decode(tool, call(tool, args))


@requirement("CLU-003", "CLU-004", "CLU-005", "CLU-006", "CLU-007", "CLU-008")
def test_calls_and_results_have_one_shape_for_all_tools() -> None:
    text = b'{"tool_call_id":"c1","name":"display","version":"1.0.0","args":{},"trace_id":"t","timestamp":5}'
    assert msgspec.json.decode(text, type=ToolCall) == ToolCall("c1", "display", "1.0.0", {}, "t", 5)
    wishing = text[:-1] + b',"requested_permissions":["fs.read"]}'
    assert msgspec.json.decode(wishing, type=ToolCall).requested_permissions == ("fs.read",)
    for field in (b"tool_call_id", b"name", b"version", b"args", b"trace_id", b"timestamp"):
        with pytest.raises(msgspec.ValidationError, match=field.decode()):
            msgspec.json.decode(text.replace(field, field + b"x"), type=ToolCall)
    result = ToolResult("c1", False, None, Failure("tool.failed", "m", {"k": 1}), 3, Artifacts(("f",), ("c",)))
    assert msgspec.to_builtins(result) == {
        "tool_call_id": "c1",
        "ok": False,
        "payload": None,
        "error": {"code": "tool.failed", "message": "m", "details": {"k": 1}},
        "duration_ms": 3,
        "artifacts": {"files_changed": ("f",), "commands_run": ("c",)},
        "display": None,
    }
