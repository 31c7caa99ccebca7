"""Protected paths: never created, never replaced, never left behind, never lost when the host replaces them."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from signoff.domain.errors import NotEnforceable
from signoff.sandbox import credentials, launch, placeholders, protected
from signoff.sandbox.ground import journals
from signoff.sandbox.outcome import Request
from signoff.sandbox.profile import Profile
from signoff.sandbox.session import Session
from tests.sandbox.arena import NOBODY, arena, arms, through_a_session, usable

GIT = ["git", "-c", "init.defaultBranch=main", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "safe.directory=*"]


@pytest.fixture
def workspace(tmp_path: pathlib.Path, home: pathlib.Path) -> pathlib.Path:
    directory = tmp_path / "ws"
    directory.mkdir()
    return directory


@pytest.fixture
def session(workspace: pathlib.Path) -> Iterator[Session]:
    with Session(Profile(workspace=str(workspace)), os.environ) as opened:
        yield opened


def git(directory: pathlib.Path, *words: str) -> None:
    subprocess.run([*GIT, *words], cwd=directory, check=True, capture_output=True)


def run(session: Session, script: str) -> int:
    return session.run(Request(("sh", "-c", script))).status


def test_placeholders_exist_during_a_session_only(workspace: pathlib.Path, home: pathlib.Path) -> None:
    with Session(Profile(workspace=str(workspace)), os.environ):
        assert {path.name for path in workspace.iterdir()} == set(protected.NAMES)
    assert list(workspace.iterdir()) == []
    assert os.listdir(journals(os.environ)) == ["guard"]


def test_git_does_not_show_them(workspace: pathlib.Path) -> None:
    git(workspace, "init")
    with Session(Profile(workspace=str(workspace)), os.environ) as session:
        outcome = session.run(Request(("git", "status", "--porcelain", "--ignored")))
        assert (outcome.exit_code, outcome.stdout.data) == (0, b"")


@pytest.mark.parametrize("name", protected.NAMES)
def test_no_name_can_be_made_moved_or_removed(session: Session, name: str) -> None:
    scripts = (
        f"echo x > {name}",
        f"mkdir {name}/x",
        f"rm -r {name}",
        f"mv {name} y",
        f"mkdir -p z; mv -T z {name}",
        f"ln -s q {name}/l",
    )
    assert [script for script in scripts if run(session, script) == 0] == []


def test_the_next_start_takes_away_what_a_crash_left(workspace: pathlib.Path) -> None:
    script = f"""
import os, signal
from signoff.sandbox.profile import Profile
from signoff.sandbox.session import Session
with Session(Profile(workspace={str(workspace)!r}), os.environ): os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", script], timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(list(workspace.iterdir())) == len(protected.NAMES)
    (workspace / ".vscode" / "settings.json").write_text("the user's own by now")
    assert placeholders.sweep(journals(os.environ)) == 1
    assert [path.name for path in workspace.iterdir()] == [".vscode"]


def test_two_processes_share_placeholders_and_the_last_takes_them_away(workspace: pathlib.Path) -> None:
    first = Session(Profile(workspace=str(workspace)), os.environ)
    first.__enter__()
    with Session(Profile(workspace=str(workspace)), os.environ) as second:
        first.__exit__(None, None, None)
        assert (workspace / ".codex").is_dir()
        assert run(second, "mkdir .codex/x") != 0
    assert list(workspace.iterdir()) == []


def test_what_the_user_made_meanwhile_is_not_taken_away(workspace: pathlib.Path) -> None:
    with Session(Profile(workspace=str(workspace)), os.environ):
        (workspace / ".codex").rmdir()
        (workspace / ".codex").mkdir()
        (workspace / ".codex" / "config.toml").write_text("mine")
        (workspace / ".mcp.json").rmdir()
        (workspace / ".mcp.json").write_text("{}")
    assert sorted(path.name for path in workspace.iterdir()) == [".codex", ".mcp.json"]


def test_a_path_replaced_on_the_host_is_protected_again(workspace: pathlib.Path) -> None:
    git(workspace, "init")
    with Session(Profile(workspace=str(workspace)), os.environ) as session:
        assert run(session, "touch .git/x") != 0
        shutil.rmtree(workspace / ".git")
        git(workspace, "init")
        assert run(session, "touch .git/x") != 0
        (workspace / ".codex").rmdir()
        assert run(session, "mkdir -p .codex/x") != 0
        (workspace / ".env").write_text("TOKEN=1")
        assert run(session, "grep TOKEN .env") == 0  # new in this session
        (workspace / "sub").mkdir()
        shutil.rmtree(workspace)
        workspace.mkdir()
        (workspace / "fresh").write_text("")
        assert run(session, "test -e fresh && ! mkdir .codex/x") == 0


def test_environment_files_are_masked_deep_down_and_among_many_others(workspace: pathlib.Path) -> None:
    places = [workspace, workspace / "packages" / "apps" / "web" / "server", workspace / "node_modules" / "one"]
    for place in places:
        place.mkdir(parents=True, exist_ok=True)
        (place / ".env").write_text("TOKEN=1")
    for number in range(5_000):
        (workspace / f"f{number}").touch()
    with Session(Profile(workspace=str(workspace)), os.environ) as session:
        assert run(session, "grep -r TOKEN . ") != 0


def test_environment_files_are_masked_behind_thousands_of_directories(workspace: pathlib.Path) -> None:
    for number in range(3_000):
        (workspace / f"a{number}").mkdir()
    last = workspace / "a7" / "b" / "c"
    last.mkdir(parents=True)
    (last / ".env").write_text("TOKEN=1")
    (last / "settings").write_text("TOKEN=2")
    (workspace / ".env.shared").symlink_to(last / "settings")
    with Session(Profile(workspace=str(workspace)), os.environ) as session:
        assert run(session, "grep -r TOKEN .") != 0


def test_environment_files_are_masked_under_every_name_and_in_directories_of_such_a_name(
    workspace: pathlib.Path,
) -> None:
    (workspace / ".env").write_text("TOKEN=1")
    (workspace / "sub").mkdir()
    (workspace / "sub" / "plain.txt").hardlink_to(workspace / ".env")
    for name in (".env.d", ".envs"):
        (workspace / name / "deep").mkdir(parents=True)
        (workspace / name / "deep" / "production").write_text("TOKEN=2")
    environment = workspace / "project" / ".env"  # what many call a virtual environment
    environment.mkdir(parents=True)
    (environment / "pyvenv.cfg").write_text("home = /usr/bin")
    with Session(Profile(workspace=str(workspace)), os.environ) as session:
        assert run(session, "grep -r TOKEN .") != 0
        assert run(session, "cat project/.env/pyvenv.cfg") == 0
        assert run(session, "mv .env.d seen; mv sub other; grep -r TOKEN .") != 0


@pytest.mark.parametrize("limit", ["_MOST_DIRECTORIES", "_MOST_FILES"])
def test_more_than_can_be_searched_or_hidden_is_refused(
    workspace: pathlib.Path, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credentials, limit, 5)
    for number in range(6):
        (workspace / f"d{number}").mkdir()
        (workspace / f"d{number}" / ".env").touch()
    with pytest.raises(NotEnforceable, match="cannot all be hidden"):
        Session(Profile(workspace=str(workspace)), os.environ).__enter__()


LOCK = """
import os
os.mkdir("locked"); os.rename("one", "locked/one"); os.chmod("locked", 0)
top = os.open(".", os.O_RDONLY)
for _ in range(60):
    os.mkdir("x" * 200); os.chdir("x" * 200)
os.rename("two", "two", src_dir_fd=top)
"""
UNLOCK = """
import os, sys
found = ""
try:
    os.chmod("locked", 0o700)
    found += open("locked/one/.env").read()
except OSError: pass
try:
    for _ in range(60): os.chdir("x" * 200)
    found += open("two/.env").read()
except OSError: pass
sys.exit("TOKEN" not in found)
"""


def test_neither_a_closed_directory_nor_a_long_path_hides_a_file_from_the_search() -> None:
    """As an ordinary user: root would see into the directory anyway."""
    with arena(usable(next((arm for arm in arms() if arm.user == NOBODY), arms()[0]))) as place:
        for name in ("one", "two"):
            (place.workspace / name).mkdir()
            (place.workspace / name / ".env").write_text("TOKEN=1")
            os.chown(place.workspace / name, place.arm.user, place.arm.user)
        locked = through_a_session(place, [["/usr/bin/python3", "-c", LOCK]])
        assert locked[0]["status"] == 0, locked
        read = through_a_session(place, [["/usr/bin/python3", "-c", UNLOCK]])
        control = through_a_session(place, [["/usr/bin/python3", "-c", UNLOCK]], mode="danger-full-access")
        subprocess.run(["rm", "-rf", str(place.workspace / ("x" * 200))], check=True)
        assert (read[0]["status"], control[0]["status"]) == (1, 0)


@pytest.mark.parametrize(
    ("mode", "owner", "words"),
    [(0o000, 0, "cannot be read"), (0o755, 0, "cannot be protected"), (0o755, NOBODY, "is a symbolic link")],
)
def test_a_root_that_cannot_be_protected_is_refused_and_no_weaker_sandbox_taken(
    mode: int, owner: int, words: str
) -> None:
    """As an ordinary user, for whom there would be one."""
    if os.geteuid() != 0:
        pytest.skip("only root can make directories of others")
    with arena(usable(next(arm for arm in arms() if arm.user == NOBODY))) as place:
        root = place.base / "root"
        root.mkdir()
        (root / ".codex").symlink_to("elsewhere") if owner else None
        os.chown(root, owner, owner)
        root.chmod(mode)
        ran = place.run("true", options=("--writable", str(root)))
        assert (ran.status, ran.stdout) == (44, ""), ran
        assert words in ran.stderr


def test_a_path_that_is_exchanged_while_the_sandbox_starts_is_refused(workspace: pathlib.Path) -> None:
    """Between planning and mounting, as if by another process; no weaker sandbox is tried instead."""
    planned: list[launch.Planned] = []

    def start(plan: launch.Planned) -> launch.Zygote:
        planned.append(plan)
        (workspace / ".codex").rename(workspace / "gone")
        (workspace / ".codex").mkdir()
        return launch.spawn(plan)

    with pytest.raises(protected.Unprotectable, match="was replaced while the sandbox was being set up"):
        Session(Profile(workspace=str(workspace)), os.environ, start=start).__enter__()
    assert len(planned) == 1


def test_a_masked_file_saved_anew_is_masked_again(workspace: pathlib.Path) -> None:
    (workspace / "app").mkdir()
    for path in (workspace / ".env", workspace / "app" / ".env.local"):
        path.write_text("TOKEN=1")
    with Session(Profile(workspace=str(workspace)), os.environ) as session:
        assert run(session, "grep -r TOKEN . ") != 0
        for path in (workspace / ".env", workspace / "app" / ".env.local"):
            (workspace / "new").write_text("TOKEN=2")
            os.rename(workspace / "new", path)
            assert run(session, "grep -r TOKEN .") != 0
    (workspace / ".env.example").write_text("TOKEN=")
    opened = Profile(workspace=str(workspace), unmasked=(str(workspace / ".env"),))
    with Session(opened, os.environ) as session:
        assert session.run(Request(("sh", "-c", "grep -rl TOKEN . | sort"))).stdout.text().split() == [
            "./.env",
            "./.env.example",
        ]


def test_a_masked_file_stays_masked_wherever_a_command_moves_it(workspace: pathlib.Path) -> None:
    (workspace / "app").mkdir()
    (workspace / "app" / ".env").write_text("TOKEN=1")
    with Session(Profile(workspace=str(workspace)), os.environ) as session:
        assert run(session, "mv app node_modules") == 0
        assert run(session, "grep -r TOKEN .") != 0
        assert run(session, "mkdir -p a/b/c/d && mv node_modules a/b/c/d/") == 0
        assert run(session, "grep -r TOKEN .") != 0


def test_placeholders_go_even_if_a_command_locks_the_workspace(workspace: pathlib.Path) -> None:
    with Session(Profile(workspace=str(workspace)), os.environ) as session:
        run(session, "touch f; chmod 555 .")
    assert [path.name for path in workspace.iterdir()] == ["f"]
    assert workspace.stat().st_mode & 0o777 == 0o555


def test_a_link_cannot_be_protected_and_is_refused(workspace: pathlib.Path) -> None:
    (workspace / ".vscode").symlink_to("/nowhere")
    with pytest.raises(NotEnforceable, match="symbolic link"), Session(Profile(workspace=str(workspace)), os.environ):
        pass
    assert [path.name for path in workspace.iterdir()] == [".vscode"]


def test_an_allowed_git_write_opens_the_gitdir_but_for_what_is_run(workspace: pathlib.Path) -> None:
    git(workspace, "init")
    (workspace / "f").write_text("x")
    with Session(Profile(workspace=str(workspace), git_write=True), os.environ) as session:
        assert run(session, "git add f && git -c user.name=t -c user.email=t@t commit -q -m one && git branch b") == 0
        for attack in (
            "git config core.pager x",
            "echo x > .git/hooks/post-commit",
            "mv .git/hooks .git/h2",
            "mv .git g2",
            "printf x > .git/info/attributes",
            "rm -rf .git/config",
            "mv -f f .git/config",
        ):
            assert run(session, attack) != 0, attack
        denial = session.run(Request(("sh", "-c", "echo ../evil > .git/commondir"))).denial
        assert denial is not None
        assert denial.target == f"{workspace}/.git/commondir"
    assert not (workspace / ".git" / "commondir").exists()
    git(workspace, "log")


def test_a_worktree_reads_its_repository_and_cannot_change_it(tmp_path: pathlib.Path, home: pathlib.Path) -> None:
    main = tmp_path / "main"
    main.mkdir()
    git(main, "init")
    git(main, "commit", "--allow-empty", "-m", "one")
    git(main, "worktree", "add", str(tmp_path / "ws"))
    with Session(Profile(workspace=str(tmp_path / "ws")), os.environ) as session:
        assert session.run(Request(("git", "log", "--format=%s"))).stdout.data == b"one\n"
        assert run(session, f"touch {main}/.git/x || git config core.pager x") != 0


def test_a_pointer_file_that_names_no_repository_opens_nothing(workspace: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "diary").write_text("secret")
    (workspace / ".git").write_text(f"gitdir: {tmp_path}/private\n")
    with Session(Profile(workspace=str(workspace)), os.environ) as session:
        assert run(session, f"cat {tmp_path}/private/diary") != 0


def test_a_gitdir_deep_inside_the_workspace_cannot_be_moved_away(workspace: pathlib.Path) -> None:
    (workspace / "store" / "git").mkdir(parents=True)
    git(workspace / "store" / "git", "init", "--bare")
    (workspace / ".git").write_text("gitdir: store/git\n")
    with Session(Profile(workspace=str(workspace)), os.environ) as session:
        for attack in ("touch store/git/x", "mv store s2", "mv store/git store/g2", "rm -rf store/git/hooks"):
            assert run(session, attack) != 0


def test_a_home_as_workspace_keeps_its_keys(home: pathlib.Path) -> None:
    (home / ".ssh").mkdir()
    (home / ".ssh" / "id_ed25519").write_text("PRIVATE")
    with Session(Profile(workspace=str(home)), os.environ) as session:
        assert run(session, "cat .ssh/id_ed25519 | grep PRIVATE") != 0
        for attack in (
            "echo k > .ssh/authorized_keys",
            "echo x >> .bashrc",
            "mkdir .config/autostart",
            "echo x > .gitconfig",
        ):
            assert run(session, attack) != 0
        assert run(session, "echo x > notes && cat notes") == 0
