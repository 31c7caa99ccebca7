"""A real login shell with a profile made for the occasion."""

import asyncio
import pathlib

import pytest

from signoff.sandbox.login import Snapshot, joined, parse, snapshot
from signoff.sandbox.outcome import Allowance, Request
from signoff.sandbox.profile import Profile
from signoff.sandbox.sessions import Sessions


def given(home: pathlib.Path, profile: str, shell: str = "/bin/sh") -> dict[str, str]:
    (home / ".profile").write_text(profile, encoding="utf-8")
    return {"HOME": str(home), "SHELL": shell, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "MY_TOKEN": "secret"}


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
def test_what_the_profile_exports_is_taken_and_filtered(tmp_path: pathlib.Path, shell: str) -> None:
    profile = """
    echo "noise on stdout"; echo "noise on stderr" >&2
    export PATH="$HOME/tools:$PATH" CARGO_HOME="$HOME/ca rgo
with a line break" API_KEY=secret BASH_ENV=/evil LD_PRELOAD=/evil.so LC_TIME=C
    NOT_EXPORTED=1
    """
    taken = snapshot(given(tmp_path, profile, shell), seconds=120)
    assert taken.note is None
    assert taken.environ["PATH"].split(":")[0] == f"{tmp_path}/tools"
    assert taken.environ["CARGO_HOME"] == f"{tmp_path}/ca rgo\nwith a line break"
    assert taken.environ["LANG"] == "C.UTF-8"
    assert not {"API_KEY", "MY_TOKEN", "BASH_ENV", "LD_PRELOAD", "NOT_EXPORTED", "SIGNOFF_CHILD"} & set(taken.environ)


OWN = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}


@pytest.mark.parametrize(
    ("profile", "says"),
    [
        ("exit 3", "gave no answer within"),
        ("sleep 1000", "gave no answer within 0.5 s"),
        ("while :; do printf '%01000d' 0; done", "gave no answer within"),
        ("kill -9 $$", "gave no answer within"),
        ("( sleep 1000 & ) ; exec 1>&-", "gave no answer within"),
    ],
)
def test_a_profile_that_fails_hangs_or_floods_degrades_with_a_note(
    tmp_path: pathlib.Path, profile: str, says: str
) -> None:
    environ = given(tmp_path, profile)
    taken = snapshot(environ, seconds=0.5)
    assert says in (taken.note or "")
    assert taken.environ == OWN | {"HOME": str(tmp_path), "SHELL": "/bin/sh"}


@pytest.mark.parametrize(
    ("shell", "says"),
    [
        ("/usr/bin/tcsh", "is not a shell we know"),
        ("/no/such/bash", "cannot start /no/such/bash"),
    ],
)
def test_a_shell_that_cannot_be_asked_degrades_with_a_note(tmp_path: pathlib.Path, shell: str, says: str) -> None:
    taken = snapshot(given(tmp_path, "", shell))
    assert says in (taken.note or "")
    assert taken.environ["PATH"] == "/usr/bin:/bin"


def test_an_account_that_nobody_logs_in_with_has_nothing_to_read_and_nothing_to_say(tmp_path: pathlib.Path) -> None:
    taken = snapshot(given(tmp_path, "", "/usr/sbin/nologin"))
    assert taken.note is None
    assert taken.environ["PATH"] == "/usr/bin:/bin"


def test_an_entry_that_was_cut_off_is_dropped() -> None:
    assert parse(b"PATH=/bin\0HOME=/h\0LANG=C") == {"PATH": "/bin", "HOME": "/h"}
    assert parse(b"") == {}
    assert Snapshot({}).note is None


def test_what_we_were_given_wins_and_programs_are_found_as_in_the_persons_shell() -> None:
    own = {"PATH": "/venv/bin:/usr/bin:/bin", "LANG": "C", "CARGO_HOME": "/given"}
    exported = {
        "PATH": "/home/ada/.pyenv/shims:/usr/bin:/bin",
        "LANG": "de_DE",
        "CARGO_HOME": "/login",
        "GOPATH": "/go",
    }
    assert joined(own, exported) == {
        "PATH": "/venv/bin:/home/ada/.pyenv/shims:/usr/bin:/bin",
        "LANG": "C",
        "CARGO_HOME": "/given",
        "GOPATH": "/go",
    }


@pytest.mark.parametrize(("from_a_shell", "times"), [(False, 1), (True, 0)])
def test_a_session_that_no_shell_started_asks_a_login_shell_once(
    tmp_path: pathlib.Path, from_a_shell: bool, times: int
) -> None:
    (tmp_path / "ws").mkdir()
    profile = 'echo asked >> "$HOME/asked"; export GOPATH="$HOME/go" API_KEY=secret PATH=/opt/x/bin:/usr/bin:/bin'
    environ = given(tmp_path, profile) | ({"SHLVL": "1"} if from_a_shell else {})
    script = "echo $GOPATH; echo $PATH; echo $API_KEY"
    notes: list[str] = []

    async def run() -> list[str]:
        with Sessions(Profile(workspace=str(tmp_path / "ws")), environ, say=notes.append) as sessions:
            request = Request(("sh", "-c", script))
            outcomes = [await sessions.start(request, Allowance(git_write=wide)) for wide in (False, True, False)]
            return [outcome.stdout.text() for outcome in outcomes]

    expected = "\n/usr/bin:/bin\n\n" if from_a_shell else f"{tmp_path}/go\n/opt/x/bin:/usr/bin:/bin\n\n"
    assert (asyncio.run(run()), notes) == ([expected] * 3, [])
    asked = tmp_path / "asked"
    assert (len(asked.read_text().split()) if asked.exists() else 0) == times
