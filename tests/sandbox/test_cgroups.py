"""Where control groups are found, on machines made of files; and, where this machine lets us, what they do."""

import os
import pathlib
import signal
import subprocess
import sys

import pytest

from signoff.domain.errors import NotEnforceable
from signoff.sandbox import cgroups
from signoff.sandbox.cgroups import MEMORY, PIDS, Facts, Group, Place, facts
from signoff.sandbox.outcome import Cause, Denial, Request
from signoff.sandbox.profile import Limits, Profile
from signoff.sandbox.session import Session

V2 = "30 20 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = (
    "31 20 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "32 20 0:28 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
)


def machine(tmp_path: pathlib.Path, mountinfo: str, own: str, groups: dict[str, str]) -> Facts:
    """`groups`: directory below the mount -> what it gives to groups below it."""
    (tmp_path / "mountinfo").write_text(f"20 1 8:1 / / rw - ext4 /dev/sda rw\n{mountinfo}", encoding="utf-8")
    (tmp_path / "cgroup").write_text(own, encoding="utf-8")
    for name, given in groups.items():
        directory = tmp_path / name.lstrip("/")
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "cgroup.subtree_control").write_text(given + "\n", encoding="utf-8")
        (directory / "cgroup.procs").write_text("", encoding="utf-8")
    return facts(proc=str(tmp_path), root=str(tmp_path))


def test_version_2_uses_the_nearest_group_above_us_that_gives_the_resource(tmp_path: pathlib.Path) -> None:
    base = "/sys/fs/cgroup/user.slice/app.slice"
    found = machine(
        tmp_path, V2, "0::/user.slice/app.slice/term.scope\n", {base: "memory pids", f"{base}/term.scope": ""}
    )
    directory = f"{tmp_path}{base}"
    assert found == Facts((Place(MEMORY, 2, directory), Place(PIDS, 2, directory)), ())


def test_version_1_makes_groups_below_our_own(tmp_path: pathlib.Path) -> None:
    groups = {"/sys/fs/cgroup/memory/a/b": "", "/sys/fs/cgroup/pids": ""}
    found = machine(tmp_path, V1, "2:memory:/a/b\n1:pids:/\n0::/\n", groups)
    memory, pids = f"{tmp_path}/sys/fs/cgroup/memory/a/b", f"{tmp_path}/sys/fs/cgroup/pids"
    assert found == Facts((Place(MEMORY, 1, memory), Place(PIDS, 1, pids)), ())


@pytest.mark.parametrize(
    ("mountinfo", "own"),
    [
        ("", ""),
        (V2, "0::/\n"),
        (V1, "0::/\n"),
        ("30 20 0:26 /docker/x /sys/fs/cgroup ro - cgroup2 cgroup2 ro\n", "0::/elsewhere\n"),
    ],
)
def test_what_cannot_be_limited_is_said(tmp_path: pathlib.Path, mountinfo: str, own: str) -> None:
    found = machine(tmp_path, mountinfo, own, {"/sys/fs/cgroup": ""})
    assert found.places == ()
    assert "there is no writable memory control group" in found.unlimited[0]


def test_limits_are_written_and_taken_back(tmp_path: pathlib.Path) -> None:
    with pytest.raises(NotEnforceable, match="cannot be set up"):
        Group((Place(MEMORY, 2, str(tmp_path / "absent")),), memory_bytes=1, processes=1).__enter__()
    assert Group((), memory_bytes=1, processes=1).exhausted() is None


def test_version_2_is_written_as_its_files_want_it(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a tree of files: machines that give both resources in version 2 are not those this is developed on."""
    monkeypatch.setattr(os, "urandom", bytes)
    monkeypatch.setattr(cgroups, "_REMOVAL_SECONDS", 0)
    group = tmp_path / f"signoff-{os.getpid()}-{bytes(8).hex()}"
    group.mkdir()
    for name in ("memory.max", "memory.swap.max", "pids.max", "cgroup.procs"):
        (group / name).touch()
    (group / "memory.events").write_text("low 0\nhigh 0\nmax 3\noom 0\noom_kill 0\noom_group_kill 0\n")
    (group / "pids.events").write_text("max 0\n")
    places = (Place(MEMORY, 2, str(tmp_path)), Place(PIDS, 2, str(tmp_path)))
    with Group(places, memory_bytes=1 << 30, processes=40) as made:
        made.take_in(4711)
        assert made.exhausted() is None
        (group / "pids.events").write_text("max 2\n")
        assert (made.exhausted(), made.exhausted()) == (PIDS, None)
        (group / "memory.events").write_text("low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\noom_group_kill 0\n")
        assert (made.exhausted(), made.exhausted()) == (MEMORY, None)
    written = {
        name: (group / name).read_text() for name in ("memory.max", "memory.swap.max", "pids.max", "cgroup.procs")
    }
    assert written == {
        "memory.max": str(1 << 30), "memory.swap.max": "0", "pids.max": "40", "cgroup.procs": "4711",
    }  # fmt: skip


@pytest.fixture
def memory_place() -> Place:
    for place in facts().places:
        if place.resource == MEMORY:
            return place
    pytest.skip("no writable memory control group here")


GREEDY = "import os; fd = os.memfd_create('x'); input()\nwhile True: os.write(fd, b'x' * (1 << 20))"
FORKING = "read go; for i in 1 2 3 4 5 6 7 8; do sleep 30 2>/dev/null & done; wait"


def test_memory_that_nobody_maps_is_limited_too(memory_place: Place) -> None:
    """Writing into a file in memory without mapping it escapes every per-process limit."""
    dead = pathlib.Path(memory_place.directory) / f"signoff-{_dead_pid()}-x"
    dead.mkdir()
    with (
        Group((memory_place,), memory_bytes=64 << 20, processes=10) as group,
        subprocess.Popen([sys.executable, "-c", GREEDY], stdin=subprocess.PIPE) as greedy,
    ):
        assert not dead.exists()
        group.take_in(greedy.pid)
        assert group.exhausted() is None
        greedy.communicate(b"\n", timeout=60)
        assert greedy.returncode == -signal.SIGKILL
        assert (group.exhausted(), group.exhausted()) == (MEMORY, None)
    assert not [name for name in os.listdir(memory_place.directory) if name.startswith(f"signoff-{os.getpid()}-")]


def test_too_many_processes_are_refused() -> None:
    places = tuple(place for place in facts().places if place.resource == PIDS)
    if not places:
        pytest.skip("no writable pids control group here")
    with (
        Group(places, memory_bytes=1, processes=4) as group,
        subprocess.Popen(
            ["sh", "-c", FORKING], stdin=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        ) as bomb,
    ):
        group.take_in(bomb.pid)
        _, said = bomb.communicate(b"\n", timeout=180)
        os.killpg(bomb.pid, signal.SIGKILL)  # those it had started
        assert b"fork" in said
        assert group.exhausted() == PIDS


def _dead_pid() -> int:
    with subprocess.Popen(["true"]) as gone:
        gone.wait(30)
    return gone.pid


HOARDING = """
import os
held = [os.memfd_create("x") for _ in range(8)]
while True:
    for one in held: os.write(one, b"x" * (1 << 20))
"""


def test_a_sandboxed_command_that_hoards_unmapped_memory_is_stopped_and_the_next_one_works(
    tmp_path: pathlib.Path, memory_place: Place
) -> None:
    profile = Profile(os.path.realpath(tmp_path), limits=Limits(max_memory_bytes=128 << 20, timeout_ms=60_000))
    with Session(profile, {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}) as session:
        outcome = session.run(Request(("/usr/bin/env", "python3", "-c", HOARDING)))
        assert (outcome.signal, outcome.exhausted) == (signal.SIGKILL, "memory")
        assert outcome.denial == Denial(Cause.MEMORY, None, "a higher memory limit", certain=True)
        following = session.run(Request(("sh", "-c", "exit 3")))
        assert (following.exit_code, following.exhausted, following.denial) == (3, None, None)
    assert not [name for name in os.listdir(memory_place.directory) if name.startswith(f"signoff-{os.getpid()}-")]
