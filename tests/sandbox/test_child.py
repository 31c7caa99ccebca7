"""Real programs, started, spoken to, and ended with everything they left behind."""

import os
import pathlib
import select
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from signoff.domain.errors import ChildFailed
from signoff.sandbox import child

ENVIRON = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
LIMIT = 120.0


@pytest.fixture
def cwd(tmp_path: pathlib.Path) -> Iterator[str]:
    before = set(os.listdir("/proc/self/fd"))
    yield str(tmp_path)
    assert set(os.listdir("/proc/self/fd")) <= before  # fewer where an earlier test left something to be collected


def everything(descriptor: int | None) -> bytes:
    assert descriptor is not None
    parts = []
    while part := os.read(descriptor, 65_536):
        parts.append(part)
    return b"".join(parts)


def line(descriptor: int | None) -> bytes:
    assert descriptor is not None
    parts = b""
    while not parts.endswith(b"\n"):
        part = os.read(descriptor, 1)
        assert part, parts
        parts += part
    return parts


def gone(pid: int) -> bool:
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], LIMIT)[0])
    finally:
        os.close(descriptor)


def sh(script: str, cwd: str) -> child.Child:
    return child.start(["sh", "-c", script], environ=ENVIRON, cwd=cwd)


def test_a_child_is_spoken_to_over_pipes_in_its_directory(cwd: str) -> None:
    with sh("pwd; cat; echo oops >&2; exit 7", cwd) as program:
        assert program.stdin is not None
        os.write(program.stdin, b"hello\n")
        program.close_stdin()
        assert everything(program.stdout) == f"{os.path.realpath(cwd)}\nhello\n".encode()
        assert everything(program.stderr) == b"oops\n"
        assert program.wait(LIMIT) == 7
        assert program.wait(0) == 7


def test_a_child_gets_exactly_the_environment_it_was_given(cwd: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "secret")
    with child.start(["env"], environ=ENVIRON, cwd=cwd) as program:
        names = {entry.partition(b"=")[0] for entry in everything(program.stdout).splitlines()}
    assert names == {b"PATH", b"LANG", b"SIGNOFF_CHILD"}


def test_a_child_inherits_no_descriptor_but_those_named(cwd: str) -> None:
    kept, closed = os.pipe(), os.pipe()
    for descriptor in (*kept, *closed):
        os.set_inheritable(descriptor, True)
    script = "import os; print([d for d in range(3, 1024) if os.path.exists(f'/proc/self/fd/{d}')])"
    with child.start([sys.executable, "-c", script], environ=ENVIRON, cwd=cwd, pass_descriptors=[kept[1]]) as program:
        assert everything(program.stdout) == f"{[kept[1]]}\n".encode()
    for descriptor in (*kept, *closed):
        os.close(descriptor)


@pytest.mark.parametrize("script", ["kill -TERM $$", "trap '' TERM; kill -KILL $$"])
def test_death_by_signal_is_told_as_a_negative_number(cwd: str, script: str) -> None:
    with sh(script, cwd) as program:
        assert program.wait(LIMIT) in (-signal.SIGTERM, -signal.SIGKILL)


def test_waiting_has_a_limit_and_the_descriptor_tells_a_loop(cwd: str) -> None:
    with sh("read word", cwd) as program:
        assert program.wait(0.01) is None
        assert select.select([program.ended], [], [], 0)[0] == []
        program.close_stdin()
        assert select.select([program.ended], [], [], LIMIT)[0] == [program.ended]
        assert program.wait(0) == 1


def test_sigterm_comes_first_and_its_handler_may_finish(cwd: str) -> None:
    with sh("trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.05; done", cwd) as program:
        assert line(program.stdout) == b"ready\n"
        assert program.stop(LIMIT) == 3
        assert everything(program.stdout) == b"bye\n"


FAMILIES = {
    "a background job": "sleep 1000 & echo $!; read word",
    "a grandchild that ignores SIGTERM": "sh -c 'trap \"\" TERM HUP; echo $$; while :; do sleep 1; done' & read word",
    "one in another process group": "set -m; sleep 1000 & echo $!; read word",
    "a daemon": "setsid sh -c 'echo $$; exec sleep 1000' & sleep 0.2; exit 0",
    "a daemon forked twice": "(setsid sh -c 'echo $$; exec sleep 1000' &) ; read word",
}


@pytest.mark.parametrize("script", FAMILIES.values(), ids=FAMILIES.keys())
def test_nothing_of_the_family_survives(cwd: str, script: str) -> None:
    with sh(script, cwd) as program:
        pid = int(line(program.stdout))
        assert os.path.exists(f"/proc/{pid}")
        program.stop(grace=0.05)
        assert gone(pid)


def test_a_stranger_is_left_alone(cwd: str) -> None:
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as stranger:
        with sh("sleep 1000 & wait", cwd) as program:
            program.stop(grace=0.05)
        assert stranger.poll() is None
        stranger.kill()


def test_leaving_ends_the_program(cwd: str) -> None:
    with sh("echo $$; exec sleep 1000", cwd) as program:
        pid = int(line(program.stdout))
    assert gone(pid)
    program.close()


def test_a_program_on_a_terminal_owns_it(cwd: str) -> None:
    script = "import os; print(os.isatty(0), os.isatty(2), os.tcgetpgrp(0) == os.getpgrp()); open('/dev/tty').close(); input()"
    with child.start_on_terminal([sys.executable, "-c", script], environ=ENVIRON, cwd=cwd) as program:
        assert line(program.terminal) == b"True True True\r\n"
        assert program.terminal is not None
        os.write(program.terminal, b"\x03")  # Ctrl-C reaches it through its own terminal
        assert program.wait(LIMIT) in (-signal.SIGINT, 130, 1)


def test_a_program_in_the_foreground_shares_our_session_and_is_ended_alone(cwd: str) -> None:
    script = "import os; print(os.getsid(0)); input()"
    with child.start([sys.executable, "-c", script], environ=ENVIRON, cwd=cwd, group=child.Group.FOREGROUND) as program:
        assert line(program.stdout) == f"{os.getsid(0)}\n".encode()
        assert program.stop() == -signal.SIGTERM


def test_streams_can_be_given_discarded_or_inherited(cwd: str) -> None:
    reading, writing = os.pipe()
    program = child.start(
        ["sh", "-c", "cat; echo given; echo lost >&2"],
        environ=ENVIRON,
        cwd=cwd,
        stdin=child.Stream.NULL,
        stdout=writing,
        stderr=child.Stream.NULL,
    )
    os.close(writing)
    with program:
        assert (program.stdin, program.stdout, program.stderr) == (None, None, None)
        assert everything(reading) == b"given\n"
    os.close(reading)


@pytest.mark.parametrize(
    ("argv", "directory", "says"),
    [
        (["no-such-program"], ".", "no-such-program: not found in PATH"),
        (["/no/such/program"], ".", "/no/such/program: No such file"),
        (["/etc/passwd"], ".", "Permission denied"),
        (["true"], "missing", "no such directory"),
        ([], ".", "no program"),
        (["true", "a\0b"], ".", "null byte"),
    ],
)
def test_what_cannot_be_started_is_told_in_one_sentence(cwd: str, argv: list[str], directory: str, says: str) -> None:
    for start in (child.start, child.start_on_terminal):
        if start is child.start_on_terminal and argv[:1] in (["/no/such/program"], ["/etc/passwd"]):
            continue  # the shell that opens the terminal answers with 127 or 126
        with pytest.raises(ChildFailed, match=says):
            start(argv, environ=ENVIRON, cwd=os.path.join(cwd, directory))


def test_a_hundred_children_leave_no_zombie_and_no_descriptor(cwd: str) -> None:
    pids = []
    for _ in range(100):
        with child.start(["true"], environ=ENVIRON, cwd=cwd) as program:
            pids.append(program.pid)
            program.wait(LIMIT)
    with pytest.raises(ChildProcessError):
        os.waitpid(pids[0], os.WNOHANG)
    assert not [pid for pid in pids if os.path.exists(f"/proc/{pid}")]
