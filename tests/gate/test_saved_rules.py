"""What a person saves, with real rule files: in force at once, written as promised, and never in the way of the one call."""

import itertools
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from signoff.approvals.grants import kept, revoke
from signoff.approvals.rulebook import SessionRules, never_back
from signoff.config.rules import Places, RuleBook
from signoff.domain.context import Context
from signoff.domain.event import DeveloperMessage, Warned
from signoff.domain.intent import Action, FileWrite, Intent
from signoff.domain.requirement import Skip
from signoff.domain.review import ApprovedExecpolicyAmendment, ReviewDecision, Scope, ToolRule
from signoff.domain.settings import ApprovalPolicy, Audit
from signoff.domain.verdict import Decision
from signoff.policy.intents import argv_intent
from signoff.tools.tool import Attempt, Done, Place, Tool
from tests.clauses import requirement
from tests.gate.scene import HOME, WORKSPACE, Scene

YES = ApprovedExecpolicyAmendment(("make", "test"))
LINE = 'prefix_rule(pattern=["make", "test"], decision="allow")\n'


class Saving:
    """A scene with rules on disk and a clock that can be moved."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        (directory / "project").mkdir()
        self.places = Places({"HOME": str(directory)}, directory / "project", "p-1", system=directory / "etc")
        self.saved = self.places.user_rules / "default.rules"
        self.now = time.time()

    def scene(self, *answers: ReviewDecision, tools: Iterable[Tool[Any]] = ()) -> Scene:
        warnings: list[str] = []
        context = Context(workspace=WORKSPACE, home=HOME, approval=ApprovalPolicy.UNTRUSTED)
        rules = SessionRules(
            RuleBook(self.places, warn=warnings.append, clock=itertools.count(1).__next__),
            context,
            clock=lambda: self.now,
        )
        untrusted = ApprovalPolicy.UNTRUSTED
        return Scene(self.directory / "runs", approval=untrusted, answers=answers, rulebook=rules, tools=tools)


@pytest.fixture
def saving(tmp_path: Path) -> Saving:
    return Saving(tmp_path)


@requirement("APR-053", "APR-054", "APR-055")
def test_a_rule_is_written_once_and_is_in_force_in_this_session_and_the_next(saving: Saving) -> None:
    saving.saved.parent.mkdir(parents=True)
    saving.saved.write_text("# mine", encoding="utf-8")  # no newline at the end
    scene = saving.scene(YES)
    assert [scene.run("make test a").ok, scene.run("make test b").ok] == [True, True]
    assert saving.saved.read_text(encoding="utf-8") == f"# mine\n{LINE}"
    saving.scene(YES).run("make test c")  # not even asked
    again = saving.scene(YES)
    again.run("make other")
    assert len(again.person.asked) == 1
    assert saving.saved.read_text(encoding="utf-8") == f"# mine\n{LINE}"


BROKEN: dict[str, Callable[[Saving], object]] = {
    "the folder is a file": lambda saving: (
        saving.saved.parent.parent.mkdir(parents=True),
        saving.saved.parent.write_text("x", encoding="utf-8"),
    ),
    "the file is a folder": lambda saving: saving.saved.mkdir(parents=True),
    "the file is not text": lambda saving: (
        saving.saved.parent.mkdir(parents=True),
        saving.saved.with_name("default.rules").write_bytes(b"\xff\xfe"),
    ),
}


@requirement("APR-050")
@pytest.mark.parametrize("name", BROKEN)
def test_a_rule_that_cannot_be_written_warns_and_the_command_runs_once(name: str, saving: Saving) -> None:
    scene = saving.scene(YES, YES)
    BROKEN[name](saving)
    assert scene.run("make test a").ok
    (warned,) = scene.shown(Warned)
    assert warned.message.startswith("Failed to apply execpolicy amendment: ")
    assert scene.shown(DeveloperMessage) == []
    scene.run("make test b")
    assert len(scene.person.asked) == 2  # nothing was remembered


def test_a_rule_for_the_project_stays_with_the_project(saving: Saving) -> None:
    scene = saving.scene(ApprovedExecpolicyAmendment(("make", "test"), scope=Scope.PROJECT))
    assert scene.run("make test a").ok
    assert not saving.saved.exists()
    assert (saving.places.project_rules / "default.rules").read_text(encoding="utf-8") == LINE
    elsewhere = Places(saving.places.environ, saving.places.project, "p-2", system=saving.places.system)
    assert [len(kept(saving.places)), len(kept(elsewhere))] == [1, 0]


def test_a_rule_with_an_end_is_asked_again_after_it(saving: Saving) -> None:
    hour = 3_600_000
    scene = saving.scene(ApprovedExecpolicyAmendment(("make", "test"), expires_in_ms=hour))
    assert [scene.run("make test a").ok, scene.run("make test b").ok] == [True, True]
    assert not saving.saved.exists()
    saving.now += hour / 1_000 + 1
    assert scene.run("make test c").ok is False
    assert len(scene.person.asked) == 2


def test_a_revoked_rule_is_asked_about_in_the_running_session(saving: Saving) -> None:
    scene = saving.scene(YES)
    assert [scene.run("make test a").ok, scene.run("make test b").ok] == [True, True]
    revoke(saving.places, kept(saving.places)[0].id)
    assert scene.run("make test c").ok is False


class AnyArguments(msgspec.Struct, frozen=True):
    path: str = ""


class Calendar(Tool[AnyArguments]):
    name, version, description, arguments = "calendar.create", "1", "for this test", AnyArguments

    def intent(self, arguments: AnyArguments, place: Place) -> Intent:
        aspects = (FileWrite(arguments.path),) if arguments.path else ()
        return Intent(self.name, Action.WRITE, aspects)

    async def run(self, arguments: AnyArguments, attempt: Attempt) -> Done:
        return Done(payload={})


def offered(scene: Scene) -> list[ReviewDecision]:
    return [offer.decision for offer in scene.person.asked[-1].offers]


@pytest.mark.parametrize("scope", [Scope.USER, Scope.PROJECT, Scope.SESSION])
def test_a_yes_for_a_tool_is_a_rule_that_lasts_as_long_as_its_scope(scope: Scope, saving: Saving) -> None:
    rule = ToolRule("calendar.create")
    scene = saving.scene(ApprovedExecpolicyAmendment((), scope, rule=rule), tools=[Calendar()])
    assert [scene.go(scene.call("calendar.create", {})).ok for _ in range(2)] == [True, True]
    assert offered(scene) == [ApprovedExecpolicyAmendment((), rule=rule)]
    assert len(scene.person.asked) == 1
    saved = 'Approved rule saved:\n- {"tool": "calendar.create"}'
    assert scene.shown(DeveloperMessage) == [DeveloperMessage(saved)]
    again = saving.scene(tools=[Calendar()])
    assert again.go(again.call("calendar.create", {})).ok is (scope is not Scope.SESSION)
    if scope is not Scope.SESSION:
        (one,) = kept(saving.places)
        assert (one.scope, one.rule) == (scope, rule)
        revoke(saving.places, one.id)
        assert again.go(again.call("calendar.create", {})).ok is False


def test_for_files_the_very_file_its_directory_and_the_tool_are_offered(saving: Saving) -> None:
    scene = saving.scene(tools=[Calendar()])
    scene.go(scene.call("calendar.create", {"path": f"{WORKSPACE}/notes/a.md"}))
    assert offered(scene) == [
        ApprovedExecpolicyAmendment((), rule=ToolRule("calendar.create", paths=(f"{WORKSPACE}/notes/a.md",))),
        ApprovedExecpolicyAmendment((), rule=ToolRule("calendar.create", paths=(f"{WORKSPACE}/notes",))),
        ApprovedExecpolicyAmendment((), rule=ToolRule("calendar.create")),
    ]


@pytest.mark.parametrize(
    "path", [f"{WORKSPACE}/.git/hooks/x", f"{WORKSPACE}/.env", f"{WORKSPACE}/*", f"{WORKSPACE}/[a]"]
)
def test_what_is_always_asked_about_or_would_reach_further_is_not_offered(path: str, saving: Saving) -> None:
    scene = saving.scene(tools=[Calendar()])
    scene.go(scene.call("calendar.create", {"path": path}))
    assert [
        one
        for one in offered(scene)
        if isinstance(one, ApprovedExecpolicyAmendment) and one.rule != ToolRule("calendar.create")
    ] == []


@pytest.mark.parametrize("name", ["*", "calendar.*", "c*"])
def test_a_tool_whose_name_is_a_pattern_gets_no_rule(name: str, saving: Saving) -> None:
    class Greedy(Calendar):
        pass

    Greedy.name = name
    answer = ApprovedExecpolicyAmendment((), rule=ToolRule(name))
    scene = saving.scene(answer, tools=[Greedy()])
    assert scene.go(scene.call(name, {})).ok  # approved once
    assert offered(scene) == []
    assert "is not kept" in scene.shown(Warned)[0].message
    assert kept(saving.places) == []


def test_a_rule_of_one_kind_is_not_kept_for_the_other(saving: Saving) -> None:
    answers = ApprovedExecpolicyAmendment((), rule=ToolRule("calendar.create")), ApprovedExecpolicyAmendment(("make",))
    scene = saving.scene(*answers, tools=[Calendar()])
    assert scene.run("make x").ok
    assert scene.go(scene.call("calendar.create", {})).ok
    assert kept(saving.places) == []


def test_with_judging_off_everything_is_allowed_and_the_record_says_why(saving: Saving) -> None:
    rules = SessionRules(RuleBook(saving.places), Context(workspace=WORKSPACE), audit=Audit.OFF)
    verdict, needed = rules.judge(argv_intent(("rm", "-rf", "/"), cwd=WORKSPACE, home=HOME))
    assert (verdict.winner.rule_id if verdict.winner else None, needed) == ("policy.off", Skip())
    assert rules.judge(Intent("x", Action.NET))[1] == Skip()


def test_a_verdict_that_is_remembered_changes_with_everything_it_was_made_of(saving: Saving) -> None:
    intent = argv_intent(("make", "test"), cwd=WORKSPACE, home=HOME)
    files = RuleBook(saving.places, clock=itertools.count(1).__next__)
    context = Context(workspace=WORKSPACE, home=HOME, approval=ApprovalPolicy.UNTRUSTED)
    rules = SessionRules(files, context, clock=lambda: saving.now)

    def said() -> Decision:
        return rules.judge(intent)[0].decision

    first = rules.judge(intent)
    assert rules.judge(argv_intent(("make", "test"), cwd=WORKSPACE, home=HOME)) == first
    assert said() is Decision.ASK
    rules.save(msgspec.structs.replace(YES, scope=Scope.SESSION))
    assert said() is Decision.ALLOW
    saving.saved.parent.mkdir(parents=True)
    saving.saved.write_text(LINE.replace("allow", "forbidden"), encoding="utf-8")
    assert said() is Decision.DENY
    saving.saved.unlink()
    assert said() is Decision.ALLOW

    written = Intent("apply_patch", Action.WRITE, (FileWrite("/elsewhere/a"),))
    assert rules.judge(written)[0] != rules.judge(written, ("/elsewhere",))[0] != rules.judge(written)[0]


def test_a_verdict_by_a_rule_for_a_while_ends_with_the_rule(saving: Saving) -> None:
    intent = argv_intent(("make", "test"), cwd=WORKSPACE, home=HOME)
    context = Context(workspace=WORKSPACE, home=HOME, approval=ApprovalPolicy.UNTRUSTED)
    files = RuleBook(saving.places, clock=itertools.count(1).__next__)
    rules = SessionRules(files, context, clock=lambda: saving.now)
    assert rules.judge(intent)[0].decision is Decision.ASK
    rules.save(msgspec.structs.replace(YES, scope=Scope.USER, expires_in_ms=60_000))
    assert rules.judge(intent)[0].decision is Decision.ALLOW
    saving.now += 61
    assert rules.judge(intent)[0].decision is Decision.ASK


def test_setting_the_clock_back_makes_a_yes_for_a_while_last_no_longer() -> None:
    day = {"today": 1_000.0, "steady": 50.0}
    clock = never_back(lambda: day["today"], lambda: day["steady"])
    assert clock() == 1_000
    day |= {"today": 400.0, "steady": 60.0}
    assert clock() == 1_010
    day |= {"today": 5_000.0}  # set forward: it ends at once
    assert clock() == 5_000
