"""Events as updates, without any connection: what is told, what is masked, what is bounded."""

import typing

import msgspec
import pytest

from signoff.acp import blocks, desk, permission, telemetry
from signoff.acp.prompts import local
from signoff.acp.servers import tool_servers
from signoff.acp.updates import LONGEST_VALUE, PROGRESS_S, TELLING, Narration, Offered, bounded, described
from signoff.agent.event import AgentEvent, CallAnnounced, Compacted, Kind, Location, Look, TurnStarted
from signoff.domain.call import Failure, ToolCall, ToolResult
from signoff.domain.errors import UsageError
from signoff.domain.event import CallFinished, CallProgress, FileEdited, PlanEntry, PlanUpdated, Warned
from signoff.domain.tool_server import LocalServer, RemoteServer
from signoff.wire import acp_schema as schema
from tests.acp.scene import MASKS
from tests.clauses import requirement

CALL = ToolCall("c1", "run_terminal_cmd", "", {"command": "make"}, "t", 0)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def told(story: Narration, event: AgentEvent) -> schema.SessionUpdate | None:
    tell = TELLING.get(type(event))
    return None if tell is None else tell(story, event)


def narration() -> tuple[Narration, Clock]:
    clock = Clock()
    made = Narration("/space", MASKS, clock)
    told(made, TurnStarted("turn", ""))
    return made, clock


@requirement("ACP-067", "ACP-072")
def test_kinds_and_statuses_are_those_of_the_protocol() -> None:
    assert {kind.value for kind in Kind} <= set(typing.get_args(schema.ToolKind))
    with_nothing = described(CALL, Look(kind=Kind.EXECUTE), "/space")
    assert (with_nothing.kind, with_nothing.status) == ("execute", "in_progress")
    assert with_nothing.locations == [schema.ToolCallLocation(path="/space")]
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(
            {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "t", "kind": "juggle"}, schema.ToolCall
        )


@requirement("ACP-068")
def test_a_title_hides_nothing_and_a_location_has_its_line() -> None:
    look = Look(Kind.READ, "read\x1b[2K it\nall", (Location("/space/a", 3),))
    call = described(CALL, look, "/space")
    assert call.title == "read‹ESC›[2K it ⏎ all"
    assert call.locations == [schema.ToolCallLocation(path="/space/a", line=3)]


def test_output_is_told_a_few_times_a_second_and_only_its_end() -> None:
    story, clock = narration()
    told(story, CallAnnounced(CALL, Look(Kind.EXECUTE)))
    heard = [told(story, CallProgress("c1", f"line {number}\n")) for number in range(1_000)]
    assert sum(update is not None for update in heard) == 1
    clock.now += PROGRESS_S
    update = told(story, CallProgress("c1", "x" * 100_000))
    assert isinstance(update, schema.ToolCallProgress)
    assert len(msgspec.json.encode(update)) < 5_000


@requirement("ACP-070")
def test_the_end_of_a_call_says_only_what_is_new() -> None:
    story, _ = narration()
    told(story, CallAnnounced(CALL, Look(Kind.EXECUTE)))
    done = told(story, CallFinished(ToolResult("c1", True, None, None, 1)))
    assert msgspec.to_builtins(done) == {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed"}
    assert told(story, CallFinished(ToolResult("c1", True, None, None, 1))) is None
    assert story.call("c1") is None


def test_a_failed_call_says_why_and_an_edit_shows_its_difference() -> None:
    story, _ = narration()
    told(story, CallAnnounced(CALL, Look(Kind.EDIT)))
    told(story, FileEdited("c1", "/space/a", None, "new \udcff\n"))
    done = told(story, CallFinished(ToolResult("c1", False, None, Failure("tool.failed", "no"), 1)))
    assert isinstance(done, schema.ToolCallProgress)
    assert done.status == "failed"
    assert done.content == [schema.Diff(path="/space/a", newText="new \\xff\n")]
    assert done.rawOutput == {"error": {"code": "tool.failed", "message": "no"}}


def test_secrets_are_masked_and_the_call_is_recognised_all_the_same() -> None:
    story, _ = narration()
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    call = ToolCall("c1", "run_terminal_cmd", "", {"command": f"curl -H 'Authorization: Bearer {token}'"}, "t", 0)
    shown = told(story, CallAnnounced(call, Look(Kind.EXECUTE, call.args["command"])))
    assert token not in msgspec.json.encode(shown).decode()
    known = story.call("c1")
    assert known is not None
    assert token in known.title


@requirement("ACP-061")
def test_plans_and_what_only_some_clients_understand() -> None:
    story, _ = narration()
    plan = told(story, PlanUpdated((PlanEntry("read", "in_progress", "high"),)))
    assert plan == schema.Plan(entries=[schema.PlanEntry(content="read", priority="high", status="in_progress")])
    assert told(story, Warned("careful")) is None
    assert told(story, Compacted(10, 5)) is None
    story.offered = Offered(notices=True, compaction=True)
    assert isinstance(told(story, Warned("careful")), schema.Notice)
    assert isinstance(told(story, Compacted(10, 5)), schema.CompactionUpdate)


def test_values_are_bounded_wherever_they_are() -> None:
    long = "x" * (LONGEST_VALUE + 5)
    cut = bounded({"a": [long, 1], "b": {"c": long}})
    assert (len(cut["a"][0]), len(cut["b"]["c"]), cut["a"][1]) == (LONGEST_VALUE, LONGEST_VALUE, 1)


@requirement("ACP-074")
def test_content_has_short_constructors() -> None:
    made = [
        blocks.text("a"),
        blocks.image("aa", "image/png"),
        blocks.audio("aa", "audio/wav"),
        blocks.resource_link("u", "n"),
    ]
    assert [msgspec.to_builtins(one) for one in made] == [
        {"type": "text", "text": "a"},
        {"type": "image", "data": "aa", "mimeType": "image/png"},
        {"type": "audio", "data": "aa", "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": "u", "name": "n"},
    ]


@requirement("ACP-078")
def test_every_attribute_has_the_name_of_the_wire() -> None:
    structs = [one for one in vars(schema).values() if isinstance(one, type) and issubclass(one, msgspec.Struct)]
    assert len(structs) > 100
    assert all(one.__struct_fields__ == one.__struct_encode_fields__ for one in structs)


@requirement("ACP-128")
@pytest.mark.parametrize(
    ("module", "word"),
    [
        (telemetry, "Not a part of ACP"),
        (permission, "not a part of ACP"),
        (desk, "nothing of how they work is in a message"),
    ],
)
def test_what_is_no_part_of_the_protocol_says_so_at_its_border(module: object, word: str) -> None:
    assert word in " ".join((module.__doc__ or "").split())


def test_addresses_of_files_here_become_paths() -> None:
    assert local("file:///a%20b/c") == "/a b/c"
    assert local("file://elsewhere/a") is None
    assert local("https://example.org/a") is None


def test_tool_servers_of_a_client() -> None:
    stdio = schema.McpServer(name="a", command="x", args=["y"], env=[schema.EnvVariable(name="K", value="v")])
    http = schema.McpServer(type="http", name="b", url="https://x", headers=[schema.HttpHeader(name="h", value="v")])
    assert tool_servers([stdio, http]) == (
        LocalServer("a", "x", ("y",), {"K": "v"}),
        RemoteServer("b", "https://x", {"h": "v"}),
    )
    with pytest.raises(UsageError, match="stdio and http"):
        tool_servers([schema.McpServer(type="sse", name="c", url="https://x", headers=[])])
