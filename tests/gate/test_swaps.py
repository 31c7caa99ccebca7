"""What an attacker may change between the question and the run, or between one yes and the next."""

import pathlib

import msgspec

from signoff.approvals.request import ReviewRequest
from signoff.approvals.review import Reviewer
from signoff.approvals.rulebook import SessionRules
from signoff.domain.context import Context
from signoff.domain.intent import Action, FileDelete, FileWrite, Intent
from signoff.domain.review import Approved, ApprovedForSession, ReviewDecision
from signoff.domain.settings import ApprovalPolicy
from signoff.tools.changing import FileKey
from signoff.tools.delete_file import DeleteFile
from signoff.tools.tool import Attempt, Done, Place, Tool
from signoff.tools.write_file import WriteFile
from tests.gate.scene import MemoryFiles, Scene


class PathArguments(msgspec.Struct, frozen=True):
    path: str


class Touch(Tool[PathArguments]):
    name, version, description, arguments = "touch", "1", "for this test", PathArguments

    def intent(self, arguments: PathArguments, place: Place) -> Intent:
        return Intent(self.name, Action.WRITE, (FileWrite(arguments.path),))

    def approval_keys(self, arguments: PathArguments, place: Place) -> tuple[FileKey, ...]:
        return (FileKey(arguments.path),)

    async def run(self, arguments: PathArguments, attempt: Attempt) -> Done:
        pathlib.Path(arguments.path).write_text("touched", encoding="utf-8")
        return Done(payload={})


class Swapping:
    """Says yes, and while it thinks the file becomes a link to another one."""

    name, is_person = "swapping", True

    def __init__(self, link: pathlib.Path, target: pathlib.Path) -> None:
        self._link, self._target = link, target

    async def review(self, request: ReviewRequest) -> ReviewDecision:
        self._link.unlink(missing_ok=True)
        self._link.symlink_to(self._target)
        return Approved()


def scene_in(directory: pathlib.Path, *answers: ReviewDecision, reviewer: Reviewer | None = None) -> Scene:
    untrusted = ApprovalPolicy.UNTRUSTED
    place = Place(workspace=str(directory), home=str(directory))
    rules = SessionRules(MemoryFiles(), Context(workspace=place.workspace, home=place.home, approval=untrusted))
    runs = directory / "runs"
    return Scene(
        runs, approval=untrusted, rulebook=rules, place=place, tools=[Touch()], answers=answers, reviewer=reviewer
    )


def test_a_file_that_became_a_link_while_the_person_thought_is_not_written(tmp_path: pathlib.Path) -> None:
    harmless, precious = tmp_path / "harmless", tmp_path / "precious"
    precious.write_text("five years of work", encoding="utf-8")
    harmless.write_text("", encoding="utf-8")
    scene = scene_in(tmp_path, reviewer=Swapping(harmless, precious))
    result = scene.go(scene.call("touch", {"path": str(harmless)}))
    assert result.error is not None
    assert "has changed since the question" in result.error.message
    assert precious.read_text(encoding="utf-8") == "five years of work"


def test_a_yes_for_the_session_is_not_for_where_a_link_leads_later(tmp_path: pathlib.Path) -> None:
    harmless, precious = tmp_path / "harmless", tmp_path / "precious"
    precious.write_text("five years of work", encoding="utf-8")
    scene = scene_in(tmp_path, ApprovedForSession())
    assert [scene.go(scene.call("touch", {"path": str(harmless)})).ok for _ in range(2)] == [True, True]
    assert len(scene.person.asked) == 1
    harmless.unlink()
    harmless.symlink_to(precious)
    assert scene.go(scene.call("touch", {"path": str(harmless)})).ok is False
    assert len(scene.person.asked) == 2
    assert precious.read_text(encoding="utf-8") == "five years of work"


def test_a_yes_to_changing_a_file_is_none_to_deleting_it() -> None:
    place = Place(workspace="/data/space", home="/home/ada")
    write, delete = WriteFile(), DeleteFile()
    writes = write.approval_keys(msgspec.convert({"path": "a", "content": ""}, write.arguments), place)
    deletes = delete.approval_keys(msgspec.convert({"path": "a"}, delete.arguments), place)
    assert not set(writes) & set(deletes)
    assert isinstance(delete.intent(msgspec.convert({"path": "a"}, delete.arguments), place).aspects[0], FileDelete)
