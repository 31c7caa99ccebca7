"""signoff sandbox: the command's streams and status are passed through, ours are the ones of the table."""

import json
import os
import pathlib
import re
import signal
import subprocess
from collections.abc import Callable

import pexpect
import pytest

from tests.cli.program import PROGRAM, signoff


@pytest.fixture
def workspace(tmp_path: pathlib.Path, home: pathlib.Path) -> pathlib.Path:
    directory = tmp_path / "ws"
    directory.mkdir()
    return directory


@pytest.mark.parametrize(
    ("words", "status", "out", "err"),
    [
        (["sh", "-c", "echo out; echo err >&2; exit 7"], 7, "out\n", "err\n"),
        (["sh", "-c", "kill -9 $$"], 137, "", ""),
        (["cat"], 0, "fed", ""),
        (["no-such-program"], 20, "", "signoff: no-such-program cannot be started inside the sandbox: No such file or directory\n  Check the name, or give its full path.\n"),
        (["true", "--json"], 0, "", ""),  # options behind the command are the command's
    ],
)  # fmt: skip
def test_streams_and_status_are_the_commands(
    workspace: pathlib.Path, words: list[str], status: int, out: str, err: str
) -> None:
    assert signoff("sandbox", "--", *words, cwd=workspace, stdin="fed") == (status, out, err)


def test_a_command_on_a_terminal_of_its_own(workspace: pathlib.Path) -> None:
    script = "test -t 0 && test -t 1 && test -t 2 && echo here; cat; exit 7"
    ended = signoff("sandbox", "--tty", "--", "sh", "-c", script, cwd=workspace, stdin="typed\n")
    assert (ended.status, ended.err) == (7, "")
    assert ended.out.endswith("here\r\ntyped\r\n")
    refused = signoff("sandbox", "--tty", "--json", "--", "true", cwd=workspace)
    assert (refused.status, refused.out) == (2, "")


@pytest.mark.parametrize("script", ["sleep 60 & read x", "stty raw; head -c 1 >/dev/null", "bash --norc -i"])
def test_where_nobody_types_a_program_on_a_terminal_ends(workspace: pathlib.Path, script: str) -> None:
    assert signoff("sandbox", "--tty", "--", "sh", "-c", script, cwd=workspace, stdin="").status in (0, 1)


def test_a_person_works_in_the_sandbox_with_a_keyboard(workspace: pathlib.Path) -> None:
    arguments = ["sandbox", "--tty", "--", "sh", "-i"]
    with pexpect.spawn(PROGRAM, arguments, cwd=str(workspace), timeout=180) as terminal:
        terminal.expect(r"[$#] ")
        terminal.sendline("cat > long")
        for number in range(2_000):
            terminal.sendline(f"line {number}")
        terminal.sendline("\x04wc -l < long")
        terminal.expect("2000\r\n")
        terminal.sendline("sleep 60; echo ended with $?")
        terminal.expect(r"\$\?\r\n")
        terminal.sendintr()
        terminal.expect(r"[$#] ")
        terminal.sendline("exit 5")
        terminal.expect(pexpect.EOF)
        terminal.wait()
    assert terminal.exitstatus == 5


@pytest.mark.parametrize(
    ("content", "mode", "words"),
    [
        ("#!/bin/sh\n", 0o644, "chmod +x"),
        ("no program", 0o755, "names its interpreter in the first line"),
        ("#!/no/such/interpreter\n", 0o755, "the interpreter it names cannot be seen inside"),
    ],
)
def test_a_program_that_cannot_be_started_comes_with_advice(
    workspace: pathlib.Path, content: str, mode: int, words: str
) -> None:
    (workspace / "tool").write_text(content)
    (workspace / "tool").chmod(mode)
    ended = signoff("sandbox", "--", "./tool", cwd=workspace)
    assert (ended.status, ended.out) == (20, "")
    assert words in ended.err


GONE = (
    "sandbox -- true",
    "exec -- true",
    "doctor",
    "why -- ls",
    "policy list",
    "undo",
    "sessions list",
    "run -m echo/echo x",
)


@pytest.mark.parametrize("command", [words.split() for words in GONE], ids=GONE)
def test_a_directory_that_is_gone_is_named(workspace: pathlib.Path, command: list[str]) -> None:
    script = 'cd "$0" && rmdir "$0" && exec "$@"'
    ended = subprocess.run(["sh", "-c", script, str(workspace), PROGRAM, *command], capture_output=True, timeout=60)
    assert ended.returncode == 2
    assert b"the current directory is gone" in ended.stderr


def test_time_limit(workspace: pathlib.Path) -> None:
    assert signoff("sandbox", "--timeout-ms", "200", "--", "sleep", "60", cwd=workspace).status == 124


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        (["--writable", "nowhere"], 2, "writable root"),
        (["--mode", "yolo"], 2, "yolo"),
        (["--require", "partial", "--mode", "danger-full-access"], 44, "without our sandbox"),
        (["--timeout-ms", "0"], 2, "timeout"),
        (["--env", "LD_PRELOAD=/tmp/x.so"], 2, "LD_PRELOAD"),
        (["--env", "X"], 2, "NAME=VALUE"),
        (["--network", "limited", "--allow-host", "a:b"], 2, "HOST:PORT"),
        (["--allow-host", "example.org"], 2, "--network limited"),
    ],
)
def test_bad_input_is_one_sentence(workspace: pathlib.Path, options: list[str], status: int, words: str) -> None:
    ended = signoff("sandbox", *options, "--", "true", cwd=workspace)
    assert (ended.status, ended.out) == (status, "")
    assert words in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("mode", ["workspace-write", "danger-full-access"])
def test_a_variable_given_by_name_reaches_the_command(workspace: pathlib.Path, mode: str) -> None:
    given = ["--env", "X=1=2", "--env", "DEPLOY_TOKEN=t", "--env", "TMPDIR=/var/tmp"]
    shown = ["sh", "-c", 'echo "$X $DEPLOY_TOKEN $TMPDIR ${OTHER_TOKEN-unset}"']
    ended = signoff("sandbox", "--mode", mode, *given, "--", *shown, cwd=workspace, OTHER_TOKEN="o")
    assert (ended.status, ended.out) == (0, "1=2 t /var/tmp unset\n")


def test_json_golden(workspace: pathlib.Path, golden: Callable[[str, str], None]) -> None:
    ended = signoff("sandbox", "--json", "--", "sh", "-c", "echo hello; exit 3", cwd=workspace)
    assert (ended.status, ended.err) == (3, "")
    golden("cli/sandbox.json", re.sub(r'"duration_ms": [0-9.]+', '"duration_ms": 1.0', ended.out))


def test_json_tells_a_denial(workspace: pathlib.Path) -> None:
    ended = signoff("sandbox", "--json", "--", "sh", "-c", "echo x > .git", cwd=workspace)
    assert json.loads(ended.out)["denial"]["cause"] == "protected"


@pytest.mark.parametrize(
    ("mode", "inside", "outside"),
    [("read-only", False, False), ("workspace-write", True, False), ("danger-full-access", True, True)],
)
def test_what_each_mode_lets_change(
    workspace: pathlib.Path, tmp_path: pathlib.Path, mode: str, inside: bool, outside: bool
) -> None:
    signoff("sandbox", "--mode", mode, "--", "sh", "-c", f"echo x > in; echo x > {tmp_path}/out", cwd=workspace)
    assert ((workspace / "in").exists(), (tmp_path / "out").exists()) == (inside, outside)


def test_the_network_is_limited_to_what_was_named(workspace: pathlib.Path) -> None:
    script = "import urllib.request; urllib.request.urlopen('http://nowhere.invalid/', timeout=5)"
    ended = signoff("sandbox", "--network", "limited", "--json", "--", "/usr/bin/python3", "-c", script, cwd=workspace)
    assert json.loads(ended.out)["denial"] == {
        "cause": "network",
        "target": "nowhere.invalid:80",
        "permission": "network nowhere.invalid:80",
        "certain": True,
    }


def test_every_connection_is_told(workspace: pathlib.Path) -> None:
    script = (
        "import urllib.request, contextlib\nwith contextlib.suppress(OSError):\n"
        "    urllib.request.urlopen('http://nowhere.invalid/', timeout=5)"
    )
    words = ["--", "/usr/bin/python3", "-c", script]
    ended = signoff("sandbox", "--network", "limited", *words, cwd=workspace)
    assert ended == (0, "", "signoff: warning: nowhere.invalid:80 is not permitted\n")
    ended = signoff("sandbox", "--network", "limited", "--json", *words, cwd=workspace)
    (one,) = json.loads(ended.out)["connections"]
    assert (one["host"], one["port"], one["refused"]) == ("nowhere.invalid", 80, "nowhere.invalid:80 is not permitted")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_leaves_nothing_behind(workspace: pathlib.Path, number: signal.Signals) -> None:
    words = [PROGRAM, "sandbox", "--", "sh", "-c", "echo up; sleep 60"]
    process = subprocess.Popen(words, cwd=workspace, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=os.environ)
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(number)
    assert process.wait(60) == 128 + number
    process.stdout.close()
    assert list(workspace.iterdir()) == []
