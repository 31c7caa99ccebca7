"""A repository obeys more than its own directory: submodules, their repositories, hooks and includes elsewhere."""

import os
import pathlib
import subprocess

import pytest

from signoff.domain.errors import NotEnforceable
from signoff.sandbox.outcome import Cause, Request
from signoff.sandbox.profile import Profile
from signoff.sandbox.repository import links, obeyed
from signoff.sandbox.session import Session

GIT = ["git", "-c", "init.defaultBranch=main", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "safe.directory=*",
       "-c", "protocol.file.allow=always"]  # fmt: skip
EVIL = (
    "git init -q {0} && git -C {0} config core.fsmonitor 'touch {1}; false' && git -C {0} commit -q --allow-empty -m x"
)
AS_ANYONE = "export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@t; "


def git(directory: pathlib.Path, *words: str) -> str:
    environ = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    done = subprocess.run([*GIT, *words], cwd=directory, check=True, capture_output=True, env=environ, timeout=60)
    return done.stdout.decode()


@pytest.fixture
def workspace(tmp_path: pathlib.Path, home: pathlib.Path) -> pathlib.Path:
    """With a submodule that has one of its own, one that is not there, and one whose directory is not there either."""
    for name in ("inner", "outer", "ws"):
        (tmp_path / name).mkdir()
        git(tmp_path / name, "init", "-q")
    git(tmp_path / "inner", "commit", "-q", "--allow-empty", "-m", "x")
    git(tmp_path / "outer", "submodule", "add", "-q", "../inner", "deep/est")
    git(tmp_path / "outer", "commit", "-q", "-m", "x")
    for name in ("sub", "empty", "not/here"):
        git(tmp_path / "ws", "submodule", "add", "-q", "../outer", name)
    git(tmp_path / "ws", "commit", "-q", "-m", "x")
    git(tmp_path / "ws", "submodule", "update", "-q", "--init", "--recursive")
    git(tmp_path / "ws", "submodule", "deinit", "-q", "-f", "empty", "not/here")
    os.rmdir(tmp_path / "ws" / "not" / "here")
    os.rmdir(tmp_path / "ws" / "not")
    return tmp_path / "ws"


def test_submodules_are_found_at_every_depth_present_or_not(workspace: pathlib.Path) -> None:
    found = [os.path.relpath(path, workspace) for path in obeyed(str(workspace), [str(workspace / ".git")])]
    assert found == ["empty", "not", "not/here", "sub/.git", "sub/deep/est/.git"]


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_every_version_of_the_index_is_read(workspace: pathlib.Path, version: str) -> None:
    names = [f"file-{'x' * number}" for number in range(40)]
    for name in names:
        (workspace / name).touch()
    git(workspace, "add", "--", *names)
    if version == "3":
        (workspace / "wanted").touch()
        git(workspace, "add", "--intent-to-add", "wanted")
    git(workspace, "update-index", "--index-version", version)
    assert links(str(workspace / ".git")) == ["empty", "not/here", "sub"]


@pytest.mark.parametrize("place", ["sub", "empty", "not/here", "sub/deep/est"])
@pytest.mark.parametrize(
    "before", ["rm -rf {0}", "rm -rf {0}/.git", "mv {0} away; mkdir -p {0}", "mkdir -p {0}", "mv sub gone"]
)
def test_no_command_can_plant_a_repository_where_git_will_look(
    workspace: pathlib.Path, tmp_path: pathlib.Path, place: str, before: str
) -> None:
    mark = tmp_path / "ran"
    script = f"{AS_ANYONE}{before.format(place)}; {EVIL.format(place, mark)} || echo 'gitdir: ../e' > {place}/.git"
    with Session(Profile(workspace=str(workspace)), os.environ) as session:
        session.run(Request(("sh", "-c", script)))
        git(workspace, "status")
    git(workspace, "status")
    assert not mark.exists()
    assert not (workspace / place / ".git").is_dir()


def test_the_places_of_missing_submodules_are_given_back(workspace: pathlib.Path) -> None:
    before = git(workspace, "status", "--porcelain")
    with Session(Profile(workspace=str(workspace)), os.environ) as session:
        assert session.run(Request(("git", "status", "--porcelain"))).status == 0
        assert (workspace / "not" / "here").is_dir()
    assert not (workspace / "not").exists()
    assert git(workspace, "status", "--porcelain") == before


def test_an_allowed_git_write_adds_no_repository_that_git_will_look_into(
    workspace: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    mark = tmp_path / "ran"
    script = f"{AS_ANYONE}{EVIL.format('new', mark)} && git add new 2>/dev/null; exit 0"
    with Session(Profile(workspace=str(workspace), git_write=True), os.environ) as session:
        outcome = session.run(Request(("sh", "-c", script)))
    assert outcome.denial is not None
    assert (outcome.denial.cause, outcome.denial.target) == (Cause.PROTECTED, str(workspace / "new" / ".git"))
    mark.unlink(missing_ok=True)
    git(workspace, "status")
    assert not mark.exists()


@pytest.mark.parametrize(
    ("setting", "made", "attack"),
    [
        ("[core]\n\thooksPath = .husky/_\n", ".husky/_", "echo x > .husky/pre-commit"),
        ("[core]\n\tHooksPath = \"tools/hooks\" ; ours\n", "tools/hooks", "echo x > tools/hooks/pre-commit"),
        ("[core]\n\thooksPath = tools/hooks\n", "tools/hooks", "mv tools t2 && mkdir -p tools/hooks"),
        ("[core]\n\thooksPath = .missing\n", None, "mkdir .missing; echo x > .missing/pre-commit"),
        ("[core]\n\thooksPath = not/there\n", None, "mkdir -p not/there; echo x > not/there/pre-commit"),
        ("[include]\n\tpath = ../shared.config\n", "shared.config", "echo '[core]' > shared.config || mv -f x shared.config"),
        ("[include] path = ../shared.config\n", "shared.config", "echo x > shared.config"),
    ],
)  # fmt: skip
def test_hooks_and_configuration_elsewhere_are_protected_too(
    tmp_path: pathlib.Path, home: pathlib.Path, setting: str, made: str | None, attack: str
) -> None:
    workspace = tmp_path / "ws"
    workspace.mkdir()
    git(workspace, "init", "-q")
    if made is not None and made.endswith(".config"):
        (workspace / made).touch()
    elif made is not None:
        (workspace / made).mkdir(parents=True)
    with open(workspace / ".git" / "config", "a", encoding="utf-8") as file:
        file.write(setting)
    with Session(Profile(workspace=str(workspace)), os.environ) as session:
        assert session.run(Request(("sh", "-c", attack))).status != 0
        assert session.run(Request(("git", "status"))).status == 0


@pytest.mark.parametrize("link", ["ln/x", "ln", "a/ln/b/c"])
def test_nothing_is_made_or_moved_behind_a_link(workspace: pathlib.Path, tmp_path: pathlib.Path, link: str) -> None:
    """An index that a command wrote names places; one of them leads out."""
    outside = tmp_path / "outside"
    (outside / "x" / ".git").mkdir(parents=True)
    (outside / "b").mkdir()
    before = sorted(map(str, tmp_path.glob("outside/**/*")))
    add = f"git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),{link}"
    place = f"mkdir -p a; ln -s {outside} {'a/ln' if link.startswith('a') else 'ln'}"
    with Session(Profile(workspace=str(workspace), git_write=True), os.environ) as session:
        outcome = session.run(Request(("sh", "-c", f"{add} && {place}")))
        assert outcome.status == 0, outcome
    with pytest.raises(NotEnforceable, match="ln is a symbolic link and cannot be protected"):
        Session(Profile(workspace=str(workspace)), os.environ).__enter__()
    assert sorted(map(str, tmp_path.glob("outside/**/*"))) == before


def test_no_repository_is_made_from_its_parts_where_there_was_none(tmp_path: pathlib.Path, home: pathlib.Path) -> None:
    workspace = tmp_path / "ws"
    workspace.mkdir()
    parts = f"git init -q --bare . && git config core.worktree . && git config core.bare false && git config core.fsmonitor 'touch {tmp_path}/ran; false'"
    with Session(Profile(workspace=str(workspace)), os.environ) as session:
        outcome = session.run(Request(("sh", "-c", parts)))
        assert outcome.denial is not None
        assert (outcome.denial.cause, outcome.denial.target) == (Cause.PROTECTED, str(workspace / "HEAD"))
    words = [*GIT, "status"]
    environ = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CEILING_DIRECTORIES": str(tmp_path)}
    assert subprocess.run(words, cwd=workspace, env=environ, capture_output=True, timeout=60).returncode == 128
    assert not (tmp_path / "ran").exists()


def test_a_pipe_in_the_place_of_a_setting_holds_nobody_up(workspace: pathlib.Path) -> None:
    (workspace / ".git" / "config").unlink()
    os.mkfifo(workspace / ".git" / "config")
    assert str(workspace / ".git") not in obeyed(str(workspace), [str(workspace / ".git")])
