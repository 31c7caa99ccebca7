"""The door, step by step: what is asked, what runs where, what the agent hears and what is left behind."""

import asyncio
import pathlib

import msgspec
import pytest

from signoff.approvals.compose import RETRY_REASON
from signoff.approvals.request import PatchSubject, ReviewRequest, Subject
from signoff.approvals.unattended import NOBODY, Unattended
from signoff.domain.call import Failure, ToolResult
from signoff.domain.event import CallFinished, CallJudged, CallStarted, DeveloperMessage, ReviewAsked, Warned
from signoff.domain.intent import Action, FileWrite, Intent
from signoff.domain.review import (
    Abort,
    AddFile,
    ApplyPatchApprovalRequestEvent,
    Approved,
    ApprovedExecpolicyAmendment,
    ApprovedForSession,
    Denied,
    ExecApprovalRequestEvent,
    ReadCommand,
    ReviewDecision,
    Scope,
    SearchCommand,
    TimedOut,
    UnknownCommand,
)
from signoff.domain.settings import ApprovalPolicy, DefaultAction, Network, OnAsk
from signoff.domain.verdict import Decision
from signoff.ledger import records
from signoff.tools.tool import Attempt, Done, Place, Tool
from tests.clauses import requirement
from tests.faults.history import History, violations
from tests.gate.scene import WORKSPACE, Scene, rule

UNTRUSTED, ON_FAILURE, ON_REQUEST, NEVER = (
    ApprovalPolicy.UNTRUSTED,
    ApprovalPolicy.ON_FAILURE,
    ApprovalPolicy.ON_REQUEST,
    ApprovalPolicy.NEVER,
)


def code(result: ToolResult) -> str:
    return "ok" if result.error is None else result.error.code


class Gone:
    name, is_person = "gone", True

    async def review(self, request: ReviewRequest) -> ReviewDecision:
        raise OSError("the terminal is gone")


class TestAnswers:
    @requirement("APR-006")
    def test_a_yes_is_for_this_call_only(self, tmp_path: pathlib.Path) -> None:
        scene = Scene(tmp_path, approval=UNTRUSTED, answers=[Approved(), Denied()])
        assert [code(scene.run("make x")), code(scene.run("make x"))] == ["ok", "review.denied"]

    @requirement("APR-008", "APR-011", "APR-043")
    def test_a_yes_for_the_session_covers_the_same_command_here_and_nothing_similar(
        self, tmp_path: pathlib.Path
    ) -> None:
        scene = Scene(tmp_path, approval=UNTRUSTED, answers=[ApprovedForSession()])
        commands = [("make x", {}), ("make x", {}), ("make  x", {}), ("make x", {"cwd": "sub"}), ("make y", {})]
        found = [code(scene.run(command, **more)) for command, more in commands]
        assert found == ["ok", "ok", "review.denied", "review.denied", "review.denied"]
        keys = [request.offers[0].rule for request in scene.person.asked]
        assert keys[0] == ('{"command":["bash","-c","make x"],"cwd":"/data/space","sandbox_permissions":"use_default"}')

    @requirement("APR-044")
    def test_a_yes_without_a_terminal_is_none_with_one(self, tmp_path: pathlib.Path) -> None:
        scene = Scene(tmp_path, approval=UNTRUSTED, answers=[ApprovedForSession(), Denied(), ApprovedForSession()])
        found = [code(scene.run("make x", **more)) for more in ({}, {}, {"tty": True}, {"tty": True}, {"tty": True})]
        assert found == ["ok", "ok", "review.denied", "ok", "ok"]
        assert scene.person.asked[1].offers[0].rule == (
            '{"command":["bash","-c","make x"],"cwd":"/data/space","tty":true,"sandbox_permissions":"use_default"}'
        )

    @requirement("APR-009")
    def test_a_no_reaches_the_agent_with_the_reason_and_the_session_goes_on(self, tmp_path: pathlib.Path) -> None:
        scene = Scene(tmp_path, approval=UNTRUSTED, answers=[Denied(), Denied("use ninja"), Approved()])
        results = [scene.run("make x") for _ in range(3)]
        assert [result.error for result in results] == [
            Failure("review.denied", "rejected by user"),
            Failure("review.denied", "rejected by user: use ninja"),
            None,
        ]
        assert len(scene.sandboxes.started) == 1

    @requirement("APR-010")
    def test_an_abort_says_that_the_turn_is_over(self, tmp_path: pathlib.Path) -> None:
        scene = Scene(tmp_path, approval=UNTRUSTED, answers=[Abort()])
        assert scene.run("make x").error == Failure("review.aborted", "rejected by user")
        assert scene.sandboxes.started == []

    def test_no_answer_in_time_is_a_no_of_its_own_kind(self, tmp_path: pathlib.Path) -> None:
        scene = Scene(tmp_path, approval=UNTRUSTED, answers=[TimedOut()])
        assert code(scene.run("make x")) == "review.timeout"

    def test_when_nobody_is_there_no_user_is_blamed(self, tmp_path: pathlib.Path) -> None:
        scene = Scene(tmp_path, approval=UNTRUSTED, reviewer=Unattended(DefaultAction.ASK, OnAsk.DENY))
        assert scene.run("make x").error == Failure("policy.denied", NOBODY)

    def test_when_the_reviewer_fails_no_user_is_blamed(self, tmp_path: pathlib.Path) -> None:
        scene = Scene(tmp_path, approval=UNTRUSTED, reviewer=Gone())
        assert scene.run("make x").error == Failure("policy.denied", "nobody could be asked: the terminal is gone")

    def test_the_question_says_why_the_rule_asks(self, tmp_path: pathlib.Path) -> None:
        scene = Scene(tmp_path, approval=UNTRUSTED, answers=[Denied()])
        scene.run("rm -rf x")
        assert scene.person.asked[0].asked_by == "builtin.command.dangerous (builtin): forced removal"
        assert not scene.person.asked[0].claimed


class TestAmendment:
    @requirement("APR-005", "APR-007", "APR-050", "APR-054")
    def test_the_rule_is_kept_first_then_the_agent_is_told_and_the_session_knows_it(
        self, tmp_path: pathlib.Path
    ) -> None:
        amendment = ApprovedExecpolicyAmendment(("make", "test"))
        scene = Scene(tmp_path, approval=UNTRUSTED, answers=[amendment])
        assert code(scene.run("make test -j2")) == "ok"
        assert scene.files.kept == [amendment]  # what the person sent back, not what was proposed
        assert scene.shown(DeveloperMessage) == [DeveloperMessage('Approved command prefix saved:\n- ["make", "test"]')]
        assert code(scene.run("make test --again")) == "ok"
        assert len(scene.person.asked) == 1
        assert scene.sandboxes.places == ["inside", "outside"]  # an allow rule for every command lifts the sandbox

    @requirement("APR-050")
    @pytest.mark.parametrize("error", [OSError("disk full"), PermissionError("read-only")])
    def test_a_rule_that_cannot_be_kept_warns_and_the_command_runs_all_the_same(
        self, error: OSError, tmp_path: pathlib.Path
    ) -> None:
        answer = ApprovedExecpolicyAmendment(("make",))
        scene = Scene(tmp_path, approval=UNTRUSTED, answers=[answer], save_error=error)
        assert code(scene.run("make x")) == "ok"
        assert scene.shown(Warned) == [Warned(f"Failed to apply execpolicy amendment: {error}")]
        assert scene.shown(DeveloperMessage) == []

    def test_a_prefix_that_opens_everything_is_not_kept(self, tmp_path: pathlib.Path) -> None:
        scene = Scene(tmp_path, approval=UNTRUSTED, answers=[ApprovedExecpolicyAmendment(("python3",))])
        assert code(scene.run("python3 x.py")) == "ok"
        assert scene.files.kept == []
        assert "would allow everything" in scene.shown(Warned)[0].message

    def test_a_rule_for_the_session_is_kept_in_memory_only(self, tmp_path: pathlib.Path) -> None:
        answer = ApprovedExecpolicyAmendment(("make",), scope=Scope.SESSION)
        scene = Scene(tmp_path, approval=UNTRUSTED, answers=[answer])
        assert [code(scene.run("make x")), code(scene.run("make y"))] == ["ok", "ok"]
        assert scene.files.kept == []

    @requirement("APR-017")
    def test_the_question_carries_the_proposed_amendment_and_three_widths(self, tmp_path: pathlib.Path) -> None:
        scene = Scene(tmp_path, approval=UNTRUSTED)
        scene.run("cargo test --workspace")
        event = scene.person.asked[0].event
        assert isinstance(event, ExecApprovalRequestEvent)
        assert event.proposed_execpolicy_amendment == ("cargo", "test", "--workspace")
        assert [offer.prefix for offer in scene.person.asked[0].offers] == [
            (),
            ("cargo", "test", "--workspace"),
            ("cargo", "test"),  # and not `cargo`, which would cover every subcommand
        ]
        scene.run("ninja -C build")
        assert [offer.prefix for offer in scene.person.asked[1].offers] == [(), ("ninja", "-C", "build"), ("ninja",)]


class TestQuestion:
    @requirement("APR-003", "APR-012", "APR-013", "APR-014", "APR-015", "APR-049")
    def test_the_event_says_who_what_and_where(self, tmp_path: pathlib.Path) -> None:
        scene = Scene(tmp_path, approval=UNTRUSTED)
        scene.run("make x", cwd="sub")
        event = scene.person.asked[0].event
        assert scene.shown(ReviewAsked) == [ReviewAsked(event)]
        wire = msgspec.to_builtins(event)
        assert {key: wire[key] for key in ("call_id", "turn_id", "command", "cwd")} == {
            "call_id": "call-1",
            "turn_id": "turn-1",
            "command": ("bash", "-c", "make x"),
            "cwd": "/data/space/sub",
        }

    @requirement("APR-018")
    def test_the_command_is_also_told_as_a_reader_sees_it(self, tmp_path: pathlib.Path) -> None:
        scene = Scene(tmp_path, approval=UNTRUSTED, rules=[rule(Decision.ASK, "rg"), rule(Decision.ASK, "cat")])
        for command in ("rg -n TODO src", "cat a.py", "make x"):
            scene.run(command)
        parsed = [request.event.parsed_cmd for request in scene.person.asked]  # type: ignore[union-attr]
        assert parsed == [
            (SearchCommand("rg -n TODO src", "TODO", "src"),),
            (ReadCommand("cat a.py", "a.py", "a.py"),),
            (UnknownCommand("make x"),),
        ]

    @requirement("APR-016", "APR-047", "APR-048")
    def test_the_reason_of_a_rule_comes_before_the_justification_of_the_model(self, tmp_path: pathlib.Path) -> None:
        ask = rule(Decision.ASK, "make", why="builds are slow")
        scene = Scene(tmp_path, approval=UNTRUSTED, rules=[ask])
        scene.run("make x", justification="I need it")
        scene.run("ninja", justification="I need it")
        scene.run("ninja")
        assert [request.event.reason for request in scene.person.asked] == [
            "`bash -c 'make x'` requires approval: builds are slow",
            "I need it",
            None,
        ]

    def test_a_request_to_run_outside_says_so(self, tmp_path: pathlib.Path) -> None:
        scene = Scene(tmp_path, answers=[Approved()])
        assert code(scene.run("make x", escalate=True)) == "ok"
        request = scene.person.asked[0]
        assert (request.outside, request.covers_retry) == (True, False)
        assert scene.sandboxes.places == ["outside"]

    @pytest.mark.parametrize(("approval", "covers"), [(UNTRUSTED, True), (ON_FAILURE, True), (ON_REQUEST, False)])
    def test_the_question_says_whether_a_yes_covers_the_retry(
        self, approval: ApprovalPolicy, covers: bool, tmp_path: pathlib.Path
    ) -> None:
        scene = Scene(tmp_path, approval=approval)
        scene.run("rm -rf build")
        assert scene.person.asked[0].covers_retry is covers


class PatchArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: str


class Patch(Tool[PatchArguments]):
    """As a patch tool behaves at the door."""

    name = "apply_patch"
    version = "1.2.0"
    description = "for this test"
    arguments = PatchArguments
    escalate_on_failure = True

    def intent(self, arguments: PatchArguments, place: Place) -> Intent:
        return Intent(tool=self.name, action=Action.WRITE, aspects=(FileWrite(arguments.path),))

    def approval_keys(self, arguments: PatchArguments, place: Place) -> tuple[str, ...]:
        return (arguments.path,)

    def subject(self, arguments: PatchArguments, place: Place) -> Subject:
        return PatchSubject({arguments.path: AddFile("x")}, grant_root="/srv/data")

    def wants_no_sandbox_approval(self, policy: ApprovalPolicy) -> bool:
        return policy is not NEVER

    async def run(self, arguments: PatchArguments, attempt: Attempt) -> Done:
        return Done(payload={})


class TestPatch:
    @requirement("APR-019", "APR-020", "APR-045")
    def test_a_yes_for_the_session_with_a_grant_root_opens_it_for_writing(self, tmp_path: pathlib.Path) -> None:
        scene = Scene(tmp_path, answers=[ApprovedForSession()], tools=[Patch()])

        def patch(path: str) -> str:
            return code(scene.go(scene.call("apply_patch", {"path": path})))

        assert patch("/srv/data/a") == "ok"
        assert scene.person.asked[0].event == ApplyPatchApprovalRequestEvent(
            call_id="call-1",
            turn_id="turn-1",
            changes={"/srv/data/a": AddFile("x")},
            reason=scene.person.asked[0].event.reason,
            grant_root="/srv/data",
        )
        assert patch("/srv/data/b") == "ok"  # under the granted root: no question
        assert len(scene.person.asked) == 1
        assert patch("/srv/other") == "review.denied"
        scene.run("touch x")
        assert scene.sandboxes.started[0][1].writable == ("/srv/data",)

    def test_only_a_command_can_be_remembered_by_its_words(self, tmp_path: pathlib.Path) -> None:
        scene = Scene(tmp_path, answers=[ApprovedExecpolicyAmendment(("make",))], tools=[Patch()])
        assert scene.go(scene.call("apply_patch", {"path": "/srv/data/a"})).ok
        assert scene.files.kept == []

    def test_a_patch_that_was_stopped_is_asked_about_even_if_its_files_were_approved(
        self, tmp_path: pathlib.Path
    ) -> None:
        class Stopped(Patch):
            async def run(self, arguments: PatchArguments, attempt: Attempt) -> Done:
                return Done(payload={}) if attempt.outside else Done(failure=Failure("sandbox.denied", "stopped"))

        path = f"{WORKSPACE}/.vscode/a"
        answers = [ApprovedForSession(), Denied()]
        scene = Scene(tmp_path, approval=ON_FAILURE, answers=answers, tools=[Stopped()])
        assert scene.go(scene.call("apply_patch", {"path": path})).ok  # asked, and the yes covers the retry
        result = scene.go(scene.call("apply_patch", {"path": f"{WORKSPACE}/b"}))
        assert code(result) == "review.denied"
        assert scene.person.asked[1].event.reason == RETRY_REASON
        assert scene.person.asked[1].offers == ()


def test_a_host_is_cleared_like_everything_else_and_only_while_a_call_runs(tmp_path: pathlib.Path) -> None:
    class Connecting(Patch):
        async def run(self, arguments: PatchArguments, attempt: Attempt) -> Done:
            hosts = [("a.example", 443), ("a.example", 443), ("b.example", 443)]
            return Done(payload={"met": [await asyncio.to_thread(scene.gate.may_connect, *host) for host in hosts]})

    scene = Scene(
        tmp_path,
        approval=UNTRUSTED,
        network=Network.LIMITED,
        answers=[Approved(), ApprovedForSession(), Denied()],
        tools=[Connecting()],
    )
    assert scene.gate.may_connect("a.example", 443) is False
    result = scene.go(scene.call("apply_patch", {"path": f"{WORKSPACE}/a"}))
    assert result.payload == {"met": [True, True, False]}
    assert [request.tool for request in scene.person.asked] == ["apply_patch", "network", "network"]
    history = scene.history()
    assert violations(History(scene.path.read_bytes(), 0)) == []
    assert sum(isinstance(record, records.Decision) for record in history) == 4


class TestBadCalls:
    @pytest.mark.parametrize(
        ("call", "expected"),
        [
            (("run_terminal", {}), "tool.unknown"),
            (("run_terminal_cmd", {}), "tool.invalid_arguments"),
            (("run_terminal_cmd", {"command": 1}), "tool.invalid_arguments"),
            (("run_terminal_cmd", {"command": "ls", "more": 1}), "tool.invalid_arguments"),
            (("run_terminal_cmd", {"command": "ls"}, "2.0.0"), "tool.version"),
            (("run_terminal_cmd", {"command": "ls"}, "1.9.0"), "tool.version"),
            (("run_terminal_cmd", {"command": "ls"}, "one"), "tool.version"),
            (("run_terminal_cmd", {"command": "ls"}, "1.0.7"), "ok"),
        ],
    )
    def test_a_call_that_cannot_be_understood_is_refused_and_recorded(
        self, call: tuple[str, ...], expected: str, tmp_path: pathlib.Path
    ) -> None:
        scene = Scene(tmp_path)
        result = scene.go(scene.call(*call))  # type: ignore[arg-type]
        assert code(result) == expected
        left = [record for record in scene.history() if isinstance(record, records.Result)]
        assert [(record.ok, record.name) for record in left] == [(expected == "ok", call[0])]

    def test_a_tool_that_breaks_is_that_call_s_failure(self, tmp_path: pathlib.Path) -> None:
        class Breaking(Patch):
            async def run(self, arguments: PatchArguments, attempt: Attempt) -> Done:
                raise ZeroDivisionError("oops")

        scene = Scene(tmp_path, tools=[Breaking()])
        result = scene.go(scene.call("apply_patch", {"path": f"{WORKSPACE}/a"}))
        assert result.error == Failure("internal", "apply_patch broke: ZeroDivisionError: oops")


def test_the_way_of_a_call_as_it_is_shown_and_as_it_is_recorded(tmp_path: pathlib.Path) -> None:
    scene = Scene(tmp_path, approval=UNTRUSTED, answers=[Approved()])
    result = scene.run("make x")
    assert [type(event).__name__ for event in scene.events] == [
        "CallStarted",
        "CallJudged",
        "ReviewAsked",
        "ReviewAnswered",
        "CallFinished",
    ]
    assert scene.shown(CallFinished) == [CallFinished(result)]
    assert isinstance(scene.events[0], CallStarted)
    assert isinstance(scene.events[1], CallJudged)
    kinds = [type(record).__name__ for record in scene.history()]
    assert kinds == ["Genesis", "Request", "Review", "Decision", "Result", "Close"]


def test_a_link_is_judged_as_what_it_points_to(tmp_path: pathlib.Path) -> None:
    (tmp_path / "innocent").symlink_to("/etc/shadow-elsewhere")

    class Links(Patch):
        def intent(self, arguments: PatchArguments, place: Place) -> Intent:
            return Intent(tool="write_file", action=Action.WRITE, aspects=(FileWrite(str(tmp_path / "innocent")),))

    scene = Scene(tmp_path / "ledger", tools=[Links()])
    scene.go(scene.call("apply_patch", {"path": "x"}))
    judged = scene.shown(CallJudged)[0].verdict
    paths = [judgement.aspect.path for judgement in judged.judgements]
    assert paths == [str(tmp_path / "innocent"), "/etc/shadow-elsewhere"]
