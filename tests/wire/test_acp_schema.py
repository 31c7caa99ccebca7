"""The generated types follow the schema, and what the schema forgives is forgiven."""

import json
import pathlib
import subprocess
import sys

import msgspec
import pytest

from signoff.domain.errors import SchemaMismatch, UnknownType
from signoff.wire import acp, acp_schema
from signoff.wire.acp_schema import UNSET
from tests.clauses import requirement

ROOT = pathlib.Path(__file__).parents[2]
PUBLISHED = ROOT.parent / "shared" / "reference" / "acp-schema" / "v1"


@pytest.mark.skipif(not PUBLISHED.is_dir(), reason="the published schema is not beside the repository")
def test_the_committed_module_and_schema_are_what_the_generator_writes() -> None:
    script = "import json, generate_acp as g; print(json.dumps({str(p): t for p, t in g.outputs(g.SOURCE).items()}))"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT / "scripts", capture_output=True, text=True, check=True, timeout=60
    )
    written = json.loads(done.stdout)
    assert [path for path, text in written.items() if pathlib.Path(path).read_text(encoding="utf-8") != text] == []


def test_every_method_has_types_a_decoder_can_be_made_of() -> None:
    names = [name for table in acp.TABLES.values() for row in table.values() for name in row if name]
    for name in names:
        msgspec.json.Decoder(getattr(acp_schema, name))


@requirement("ACP-073", "ACP-075")
def test_unknown_content_is_kept_with_its_payload() -> None:
    data = b'{"sessionId":"s","prompt":[{"type":"text","text":"a"},{"type":"hologram","depth":[1,{"x":null}]}]}'
    request = acp.read_params("agent", "session/prompt", data)
    assert request.prompt == [
        acp_schema.TextContent(text="a"),
        acp_schema.Unknown({"type": "hologram", "depth": [1, {"x": None}]}),
    ]
    assert acp.encode(request) == data


@requirement("ACP-060")
def test_an_unknown_update_kind_is_refused_with_a_typed_error() -> None:
    with pytest.raises(UnknownType, match="telepathy"):
        acp.read_params("client", "session/update", b'{"sessionId":"s","update":{"sessionUpdate":"telepathy"}}')


@requirement("ACP-077")
def test_a_missing_required_member_fails_the_decoding() -> None:
    with pytest.raises(SchemaMismatch):
        acp.read_params("client", "session/update", b'{"sessionId":"s","update":{"sessionUpdate":"tool_call"}}')


FORGIVEN: list[tuple[str, dict[str, object], dict[str, object]]] = [
    ("InitializeRequest", {"protocolVersion": 1, "clientCapabilities": 7, "clientInfo": "me"}, {"protocolVersion": 1}),
    ("NewSessionRequest", {"cwd": "/w", "mcpServers": None, "_meta": 3}, {"cwd": "/w", "mcpServers": []}),
    ("ListSessionsResponse", {"sessions": "none"}, {"sessions": []}),
    (
        "ListSessionsResponse",
        {"sessions": [{"sessionId": 1, "cwd": "/"}, {"sessionId": "a", "cwd": "/", "title": 4}], "nextCursor": 5},
        {"sessions": [{"sessionId": "a", "cwd": "/"}]},
    ),
    (
        "ToolCallUpdate",
        {"toolCallId": "t", "kind": "dance", "content": [{"type": "x"}]},
        {"toolCallId": "t", "content": []},
    ),
]


@pytest.mark.parametrize(("name", "given", "meant"), FORGIVEN)
def test_what_the_schema_forgives_counts_as_absent(name: str, given: object, meant: object) -> None:
    assert acp.read(name, json.dumps(given).encode()) == acp.read(name, json.dumps(meant).encode())


REFUSED: list[tuple[str, dict[str, object]]] = [
    ("InitializeRequest", {"protocolVersion": "2024-11-05"}),
    ("InitializeRequest", {"protocolVersion": 65536}),
    ("NewSessionRequest", {"cwd": "/w"}),
    ("NewSessionRequest", {"cwd": "/w", "mcpServers": [{"name": "x"}]}),
    ("SetSessionConfigOptionRequest", {"sessionId": "s", "configId": "c", "value": True}),
    ("SetSessionConfigOptionRequest", {"sessionId": "s", "configId": "c", "type": "boolean", "value": "on"}),
    ("ReadTextFileRequest", {"sessionId": "s", "path": "/p", "line": -1}),
    ("EmbeddedResourceResource", {"uri": "file:///x"}),
    ("PromptRequest", {"sessionId": "s", "prompt": [{"text": "no type"}]}),
]


@pytest.mark.parametrize(("name", "given"), REFUSED)
def test_what_the_schema_does_not_forgive_is_refused(name: str, given: object) -> None:
    with pytest.raises(SchemaMismatch):
        acp.read(name, json.dumps(given).encode())


@requirement("ACP-047")
def test_absent_members_of_capabilities_take_their_defaults() -> None:
    request = acp.read_params("agent", "initialize", b'{"protocolVersion":1}')
    assert request.clientCapabilities.fs == acp_schema.FileSystemCapabilities(readTextFile=False, writeTextFile=False)
    answer = acp.read_result("agent", "initialize", b'{"protocolVersion":1,"agentCapabilities":{}}')
    assert (answer.agentCapabilities.loadSession, answer.agentCapabilities.sessionCapabilities.list) == (False, UNSET)
    assert answer.authMethods == []


def test_legacy_models_and_environment_sign_in_are_understood() -> None:
    new = acp.read_result(
        "agent",
        "session/new",
        b'{"sessionId":"s","models":{"currentModelId":"m","availableModels":[{"modelId":"m","name":"M"}]}}',
    )
    assert new.models.currentModelId == "m"
    data = b'{"protocolVersion":1,"authMethods":[{"type":"env_var","id":"k","name":"Key","vars":[]}]}'
    assert acp.read_result("agent", "initialize", data).authMethods[0].id == "k"
