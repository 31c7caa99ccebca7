"""A session from the inside of one process: what a command gets, what comes back, and what happens when things go wrong."""

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from signoff.domain.errors import ChildFailed, ChildLost, NotEnforceable, UsageError
from signoff.domain.settings import Network, Reads, SandboxMode
from signoff.sandbox.inside.serve import descendants
from signoff.sandbox.outcome import Backend, Outcome, Request, Strength
from signoff.sandbox.profile import Limits, Profile
from signoff.sandbox.session import Session
from tests.clauses import requirement

QUICK = Limits(timeout_ms=120_000, grace_ms=2_000)


@pytest.fixture
def workspace(tmp_path: pathlib.Path, home: pathlib.Path) -> pathlib.Path:
    directory = tmp_path / "ws"
    directory.mkdir()
    return directory


@pytest.fixture
def session(workspace: pathlib.Path) -> Iterator[Session]:
    with Session(Profile(workspace=str(workspace), limits=QUICK), os.environ) as opened:
        yield opened


def sh(session: Session, script: str, **request: object) -> Outcome:
    return session.run(Request(("sh", "-c", script), **request))  # type: ignore[arg-type]


@requirement("CLU-025")
def test_a_command_runs_in_the_workspace_unless_told_otherwise(session: Session, workspace: pathlib.Path) -> None:
    (workspace / "sub").mkdir()
    assert sh(session, "pwd").stdout.text() == f"{workspace}\n"
    assert sh(session, "pwd", cwd="sub").stdout.text() == f"{workspace}/sub\n"
    assert sh(session, "pwd", cwd="/usr").stdout.text() == "/usr\n"


def test_status_streams_and_strength_come_back(session: Session) -> None:
    outcome = sh(session, "echo out; echo err >&2; exit 7")
    assert (outcome.exit_code, outcome.signal, outcome.timed_out, outcome.leftovers) == (7, None, False, 0)
    assert (outcome.stdout.data, outcome.stderr.data) == (b"out\n", b"err\n")
    assert (outcome.backend, outcome.strength) == (Backend.NAMESPACES, Strength.FULL)
    assert sh(session, "kill -TERM $$").signal == signal.SIGTERM


@pytest.mark.parametrize("size", [0, 1, 65_536, 3_000_000])
def test_standard_input_arrives_whole(session: Session, size: int) -> None:
    data = os.urandom(size)
    outcome = session.run(Request(("cat",), stdin=data, max_output_bytes=size + 1))
    assert outcome.stdout.data == data


def test_standard_input_may_come_from_a_descriptor(session: Session, workspace: pathlib.Path) -> None:
    (workspace / "data").write_bytes(b"x" * 300_000)
    with open(workspace / "data", "rb") as file:
        assert sh(session, "wc -c", stdin=file.fileno()).stdout.text().strip() == "300000"


def test_a_command_that_does_not_read_its_input_does_not_stop_us(session: Session) -> None:
    assert sh(session, "exit 3", stdin=b"x" * 1_000_000).exit_code == 3


@requirement("CLU-027")
def test_time_is_limited_and_the_whole_family_is_ended(session: Session) -> None:
    outcome = sh(session, "trap '' TERM; (trap '' TERM; sleep 60) & sleep 60", timeout_ms=2_000)
    assert (outcome.timed_out, outcome.status, outcome.signal) == (True, 124, signal.SIGKILL)
    assert sh(session, "ls /proc | grep -c '^[0-9]'").stdout.text().strip() <= "4"
    assert Limits().timeout_ms == 300_000


def test_a_command_that_heeds_sigterm_may_say_goodbye(workspace: pathlib.Path) -> None:
    limits = Limits(timeout_ms=3_000, grace_ms=120_000)
    with Session(Profile(workspace=str(workspace), limits=limits), os.environ) as session:
        outcome = sh(session, "trap 'echo bye; exit 0' TERM; while :; do sleep 0.05; done")
    assert (outcome.timed_out, outcome.stdout.data) == (True, b"bye\n")


@requirement("CLU-028")
def test_only_the_tail_of_a_flood_is_kept(session: Session) -> None:
    outcome = sh(session, "yes | head -c 50000000; echo; echo the end", max_output_bytes=1_000)
    assert outcome.stdout.data.endswith(b"the end\n")
    assert (len(outcome.stdout.data), outcome.stdout.omitted) == (1_000, 50_000_000 + 9 - 1_000)
    assert Limits().max_output_bytes == 1_048_576


def test_a_gigabyte_of_output_costs_no_memory(workspace: pathlib.Path) -> None:
    script = f"""
import os, resource
from signoff.sandbox.profile import Profile
from signoff.sandbox.session import Session
from signoff.sandbox.outcome import Request
with Session(Profile(workspace={str(workspace)!r}), os.environ) as session:
    session.run(Request(("true",)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    outcome = session.run(Request(("head", "-c", "1000000000", "/dev/zero")))
    print(outcome.stdout.omitted, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)
    omitted, grown = map(int, done.stdout.split())
    assert omitted == 1_000_000_000 - 1_048_576
    assert grown < 32_000


def test_output_is_passed_on_while_the_command_runs(session: Session, workspace: pathlib.Path) -> None:
    """The command goes on only when its first word has been heard."""
    heard: list[tuple[int, bytes]] = []

    def hear(stream: int, data: bytes) -> None:
        heard.append((stream, data))
        (workspace / "heard").touch()

    script = "echo one; until [ -e heard ]; do sleep 0.01; done; echo two >&2"
    session.run(Request(("sh", "-c", script)), on_output=hear)
    assert heard == [(1, b"one\n"), (2, b"two\n")]


def test_a_listener_that_fails_ends_the_command_and_not_the_session(session: Session, workspace: pathlib.Path) -> None:
    def fail(stream: int, data: bytes) -> None:
        raise RuntimeError("full")

    with pytest.raises(RuntimeError, match="full"):
        session.run(Request(("sh", "-c", "echo x; sleep 30; touch survived")), on_output=fail)
    assert sh(session, "echo fine").stdout.data == b"fine\n"


@pytest.mark.parametrize(
    ("request_", "error", "words"),
    [
        (Request(("no-such-program",)), ChildFailed, "no-such-program cannot be started"),
        (Request(("./no-such-file",)), ChildFailed, "No such file"),
        (Request(("true",), cwd="nowhere"), ChildFailed, "nowhere cannot be entered"),
        (Request(("/etc/passwd",)), ChildFailed, "Permission denied"),
        (Request(()), UsageError, "no program"),
        (Request(("a\0b",)), UsageError, "NUL"),
        (Request(("true", "x" * 200_000)), ChildFailed, "Argument list too long"),
    ],
)
def test_bad_input_is_named(session: Session, request_: Request, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        session.run(request_)
    assert sh(session, "true").exit_code == 0


def test_many_long_words_arrive(session: Session) -> None:
    words = tuple("x" * 90_000 for _ in range(4))
    assert session.run(Request(("sh", "-c", "echo $# ${#4}", "sh", *words))).stdout.data == b"4 90000\n"


def test_several_threads_run_at_once(session: Session) -> None:
    """Each waits for all the others inside: one after the other they would never end."""
    barrier = threading.Barrier(4, timeout=120)
    results: list[int | None] = []

    def one() -> None:
        outcome = session.run(Request(("sh", "-c", "echo; cat")), on_output=lambda *_: barrier.wait())
        results.append(outcome.exit_code)

    threads = [threading.Thread(target=one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(240)
    assert results == [0, 0, 0, 0]


def inner(session: Session) -> int:
    return descendants(session._idle[0].process)[0]


def test_a_killed_zygote_is_reported_and_replaced(session: Session) -> None:
    zygote = inner(session)
    killer = threading.Timer(0.3, os.kill, (zygote, signal.SIGKILL))
    killer.start()
    with pytest.raises(ChildLost):
        sh(session, "sleep 30")
    killer.join()
    assert sh(session, "echo again").stdout.data == b"again\n"


def test_a_zygote_killed_between_commands_costs_one_command_at_most(session: Session) -> None:
    os.kill(inner(session), signal.SIGKILL)
    with pytest.raises(ChildLost):
        sh(session, "true")
    assert sh(session, "echo again").stdout.data == b"again\n"


def test_nothing_inside_survives_a_killed_parent(workspace: pathlib.Path) -> None:
    script = f"""
import os
from signoff.sandbox.profile import Profile
from signoff.sandbox.session import Session
from signoff.sandbox.outcome import Request
with Session(Profile(workspace={str(workspace)!r}), os.environ) as session:
    session.run(Request(("sh", "-c", "setsid sleep 300 & echo started; sleep 300")), on_output=lambda *_: print("up", flush=True))
"""
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    family = [os.pidfd_open(one) for one in descendants(process.pid)]
    assert len(family) >= 4  # guard, zygote, shell, two sleepers
    process.kill()
    process.wait()
    process.stdout.close()
    for watched in family:
        assert _ended(watched, 120_000)
        os.close(watched)


def _ended(watched: int, timeout_ms: int) -> bool:
    import select

    poll = select.poll()
    poll.register(watched, select.POLLIN)
    return bool(poll.poll(timeout_ms))


def open_descriptors(zygote: int) -> int:
    return len(os.listdir("/proc/self/fd")) + len(os.listdir(f"/proc/{zygote}/fd"))


def test_ten_thousand_commands_leave_no_descriptor_and_no_zombie(session: Session) -> None:
    request = Request(("true",))
    session.run(request)
    zygote = inner(session)
    before = open_descriptors(zygote)
    for _ in range(10_000):
        assert session.run(request).exit_code == 0
    assert open_descriptors(zygote) < before + 10  # what the last command held may still be closing
    assert descendants(zygote) == []
    assert inner(session) == zygote


@pytest.mark.parametrize(
    "script",
    [
        "import os\nfor i in range(6):\n    if os.fork() == 0:\n        a = bytearray(600 << 20)\n        import time; time.sleep(300)\nos.wait()",
        "import mmap\na = mmap.mmap(-1, 3500 << 20)\nfor i in range(0, len(a), 4096): a[i] = 1\nimport time; time.sleep(300)",
    ],
    ids=["many processes", "shared memory"],
)
def test_the_memory_of_the_whole_family_is_limited(workspace: pathlib.Path, script: str) -> None:
    limits = Limits(timeout_ms=120_000, max_memory_bytes=1 << 30)
    with Session(Profile(workspace=str(workspace), limits=limits), os.environ) as session:
        outcome = session.run(Request(("/usr/bin/python3", "-c", script)))
    assert not outcome.timed_out
    assert outcome.exhausted == "memory" or outcome.exit_code != 0


def test_read_only_changes_nothing(workspace: pathlib.Path) -> None:
    profile = Profile(workspace=str(workspace), mode=SandboxMode.READ_ONLY, limits=QUICK)
    with Session(profile, os.environ) as session:
        outcome = sh(session, "echo x > f; mkdir d; ls -A")
        assert outcome.stdout.data == b""
    assert list(workspace.iterdir()) == []


@requirement("APR-037")
@pytest.mark.parametrize("mode", [SandboxMode.DANGER_FULL_ACCESS, SandboxMode.EXTERNAL_SANDBOX])
def test_without_a_sandbox_limits_environment_and_reaping_remain(
    workspace: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, mode: SandboxMode
) -> None:
    monkeypatch.setenv("MY_SECRET_TOKEN", "x")
    with Session(Profile(workspace=str(workspace), mode=mode, limits=QUICK), os.environ) as session:
        outcome = sh(session, f"echo x > {tmp_path}/outside; env; setsid sleep 60 & (sleep 60 &) ; ulimit -n")
        assert b"MY_SECRET_TOKEN" not in outcome.stdout.data
        assert outcome.stdout.data.endswith(b"2048\n")
        assert (outcome.backend, outcome.leftovers) == (Backend.NONE, 2)
    assert (tmp_path / "outside").exists()
    with pytest.raises(NotEnforceable):
        Session(Profile(workspace=str(workspace), mode=mode), os.environ, require=Strength.PARTIAL)


def test_all_reads_show_the_machine_but_no_credentials(
    workspace: pathlib.Path, tmp_path: pathlib.Path, home: pathlib.Path
) -> None:
    (home / ".aws").mkdir()
    (home / ".aws" / "credentials").write_text("secret")
    outside = pathlib.Path("/var/log")
    with Session(Profile(workspace=str(workspace), reads=Reads.ALL, limits=QUICK), os.environ) as session:
        outcome = sh(
            session,
            f"ls -d {outside} /root /home; cat {home}/.aws/credentials; ls -A /run; echo x > /usr/x; touch made; echo done",
        )
    assert outcome.stdout.text().splitlines() == ["/home", "/root", str(outside), "done"]
    assert (workspace / "made").exists()


def test_scratch_space_is_private_and_can_be_denied(workspace: pathlib.Path) -> None:
    with Session(Profile(workspace=str(workspace), limits=QUICK), os.environ) as session:
        assert sh(session, "echo x > /tmp/signoff-scratch && echo x > /dev/shm/signoff-scratch").exit_code == 0
        assert sh(session, "cat /tmp/signoff-scratch").exit_code == 0  # kept for the session
    assert not os.path.exists("/tmp/signoff-scratch")
    assert not os.path.exists("/dev/shm/signoff-scratch")
    with Session(Profile(workspace=str(workspace), exclude_slash_tmp=True, limits=QUICK), os.environ) as session:
        assert sh(session, "echo x > /tmp/x").exit_code != 0
        assert sh(session, "echo x > here").exit_code == 0


def test_another_writable_root_may_be_changed_and_is_protected_too(
    workspace: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with Session(Profile(workspace=str(workspace), writable=(str(other),), limits=QUICK), os.environ) as session:
        assert sh(session, f"echo x > {other}/f").exit_code == 0
        assert sh(session, f"mkdir {other}/.vscode/x").exit_code != 0
    assert sorted(path.name for path in other.iterdir()) == ["f"]


@pytest.mark.parametrize("root", ["/", "/etc", "/proc/self", "/usr"])
def test_the_system_is_no_workspace(home: pathlib.Path, root: str) -> None:
    with pytest.raises(UsageError, match="cannot be a workspace"):
        Session(Profile(workspace=root), os.environ)


def test_the_hosts_devices_are_left_alone(session: Session) -> None:
    before = [os.stat(f"/dev/{name}") for name in ("null", "zero", "tty", "urandom")]
    sh(session, "chmod 600 /dev/null; chown 1000 /dev/zero; rm /dev/tty; echo x > /dev/null")
    assert [(one.st_uid, one.st_mode) for one in before] == [
        (one.st_uid, one.st_mode) for one in (os.stat(f"/dev/{name}") for name in ("null", "zero", "tty", "urandom"))
    ]


def test_a_private_network_has_its_own_loopback_only_when_limited(workspace: pathlib.Path) -> None:
    code = "import socket; s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname()); print('ok')"
    with Session(Profile(workspace=str(workspace), network=Network.LIMITED, limits=QUICK), os.environ) as session:
        assert session.run(Request(("/usr/bin/python3", "-c", code))).stdout.data == b"ok\n"


def test_time_passes_only_while_a_command_runs(session: Session) -> None:
    began = time.monotonic()
    outcome = sh(session, "true")
    assert 0 < outcome.duration_ms <= (time.monotonic() - began) * 1000


CHANGED_PIPES = """
import fcntl, os
for pipe in (1, 2):
    fcntl.fcntl(pipe, fcntl.F_SETFL, os.O_NONBLOCK | os.O_ASYNC | os.O_APPEND)
    fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, {size})
    os.write(pipe, b"x")
    os.fchmod(pipe, 0)
"""


@pytest.mark.parametrize("size", [4_096, 1_048_576])
def test_a_command_cannot_change_the_streams_of_the_next(session: Session, size: int) -> None:
    changed = session.run(Request(("/usr/bin/python3", "-c", CHANGED_PIPES.format(size=size))))
    assert (changed.status, changed.stdout.data, changed.stderr.data) == (0, b"x", b"x"), changed
    flags = "import fcntl, os; print([(oct(fcntl.fcntl(n, fcntl.F_GETFL) & ~0o100000), oct(os.fstat(n).st_mode)) for n in (1, 2)])"
    assert session.run(Request(("/usr/bin/python3", "-c", flags))).stdout.text() == f"{[('0o1', '0o10600')] * 2}\n"
    flood = sh(session, "head -c 3000000 /dev/zero | tee /dev/stderr")
    assert (flood.status, len(flood.stdout.data), flood.stdout.omitted) == (0, 1_048_576, 3_000_000 - 1_048_576)


@pytest.mark.parametrize("mode", [SandboxMode.WORKSPACE_WRITE, SandboxMode.DANGER_FULL_ACCESS])
def test_what_one_command_says_never_shows_in_the_next(workspace: pathlib.Path, mode: SandboxMode) -> None:
    with Session(Profile(workspace=str(workspace), mode=mode, limits=QUICK), os.environ) as session:
        for turn in range(20):
            words = f"head -c 70000 /dev/zero | tr '\\0' '{turn % 10}'; (sleep 60; echo late) & echo {turn} >&2"
            outcome = sh(session, words)
            assert (set(outcome.stdout.text()), outcome.stderr.text()) == ({str(turn % 10)}, f"{turn}\n")
            assert sh(session, ":").stdout.data == b""
