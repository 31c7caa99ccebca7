"""The strongest backend is chosen and named; a weaker one never by surprise. Filter and rules by level and machine."""

import os
import pathlib
import re
import shutil
import struct

import pytest

from signoff.domain.errors import NotEnforceable
from signoff.domain.settings import Network, SandboxMode
from signoff.sandbox import identity, seccomp
from signoff.sandbox.ground import candidates
from signoff.sandbox.inside import landlock
from signoff.sandbox.inside.architecture import TABLES
from signoff.sandbox.outcome import Backend, Request, Strength
from signoff.sandbox.profile import Profile
from signoff.sandbox.session import Session
from tests.sandbox import attacks
from tests.sandbox.arena import NOBODY, arena, arms, through_a_session, usable

HERE = Profile(workspace="/work")


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
def test_every_attack_is_stopped_inside_bubblewrap() -> None:
    arm = usable(next((arm for arm in arms() if arm.user == NOBODY), arms()[0]))
    # Process 1 can be seen there, though not looked into; a fork bomb is held by the same limit as elsewhere.
    chosen = [one for one in attacks.ALL if one.name not in ("see the zygote", "memory bomb", "fill private /tmp")]
    with arena(arm) as place:
        before = place.photograph()
        results = through_a_session(
            place, [place.with_facts(one.language, one.code) for one in chosen], only="bubblewrap"
        )
        through = [
            one.name
            for one, result in zip(chosen, results, strict=True)
            if one.judge == "both" and result["status"] == 0
        ]
        assert through == []
        assert place.photograph() == before
        assert {result["backend"] for result in results} == {"bubblewrap"}


# Landlock alone has no mounts: what it leaves open is known, and said by `doctor`.
OPEN_ON_THE_FLOOR = {
    "capabilities to come",
    "git hook", "git config", "git config by rename", "git renamed away", "git exchanged", "git over-linked", "git hard-linked",
    "git alternate path", "git made writable", "create .codex", "create .claude", "create .gemini", "create .agents",
    "create .signoff", "create .vscode", "create .idea", "create .mcp.json", "create .bashrc", "create .zshenv",
    "create .profile", "placeholder renamed", "placeholder exchanged", "environment file", "environment file by link", "environment file by parent",
    "see host processes", "see the zygote", "memory of a host process", "processors of the zygote", "priority of all",
    "key ring by /proc", "environment of the supervisor", "fork bomb", "descriptors of the zygote", "kernel memory and log",
}  # fmt: skip


def test_what_landlock_alone_leaves_open_is_known() -> None:
    arm = usable(next((arm for arm in arms() if arm.user == NOBODY), arms()[0]))
    unsafe = ("signal every process", "memory bomb", "fill private /tmp", "fork bomb", "priority of all")
    chosen = [one for one in attacks.ALL if one.name not in unsafe]
    with arena(arm) as place:
        before = place.photograph()
        results = through_a_session(
            place, [place.with_facts(one.language, one.code) for one in chosen], only="landlock"
        )
        through = {
            one.name
            for one, result in zip(chosen, results, strict=True)
            if one.judge == "both" and result["status"] == 0
        }
        assert through <= OPEN_ON_THE_FLOOR, through - OPEN_ON_THE_FLOOR
        after = place.photograph()
    before.pop("out"), after.pop("out")  # modes and times of files outside are not Landlock's
    assert {name for name in after if after[name] != before[name]} <= {"git", "protected"}


def test_a_command_on_the_floor_leaves_nothing_running() -> None:
    arm = usable(next((arm for arm in arms() if arm.user == NOBODY), arms()[0]))
    with arena(arm) as place:
        commands = [place.with_facts(one.language, one.code) for one in attacks.LATE]
        results = through_a_session(place, commands, only="landlock")
    assert [result["leftovers"] for result in results if not result["leftovers"]] == []


@pytest.mark.parametrize(
    ("profile", "require", "user", "expected"),
    [
        (HERE, Strength.PARTIAL, 1000, [Backend.NAMESPACES, Backend.BUBBLEWRAP, Backend.LANDLOCK]),
        (HERE, Strength.FULL, 1000, [Backend.NAMESPACES, Backend.BUBBLEWRAP]),
        (HERE, Strength.NONE, 1000, [Backend.NAMESPACES, Backend.BUBBLEWRAP, Backend.LANDLOCK, Backend.NONE]),
        (HERE, Strength.PARTIAL, 0, [Backend.NAMESPACES]),
        (
            Profile(workspace="/work", network=Network.LIMITED),
            Strength.PARTIAL,
            1000,
            [Backend.NAMESPACES, Backend.BUBBLEWRAP],
        ),
        (Profile(workspace="/work", mode=SandboxMode.EXTERNAL_SANDBOX), Strength.NONE, 1000, [Backend.NONE]),
    ],
)
def test_what_is_tried_and_in_which_order(
    profile: Profile, require: Strength, user: int, expected: list[Backend], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert candidates(profile, require, None) == expected


def test_a_machine_without_a_table_is_refused() -> None:
    with pytest.raises(NotEnforceable, match="no system call table for riscv64"):
        seccomp.compile_filter((1,), set_group_id=False, architecture="riscv64")


ALLOW, KILL, EPERM, ENOSYS, PRETEND = 0x7FFF0000, 0x80000000, 0x50001, 0x50026, 0x50000


def verdict(program: bytes, number: int, *arguments: int, architecture: int = 0xC000003E) -> int:
    """What the kernel would answer: the filter run by hand."""
    data = struct.pack("<iIQ6Q", number, architecture, 0, *arguments, *[0] * (6 - len(arguments)))
    place, value = 0, 0
    while True:
        code, yes, no, operand = struct.unpack_from("<HBBI", program, place * 8)
        place += 1
        match code:
            case 0x20:
                value = struct.unpack_from("<I", data, operand)[0]
            case 0x54:
                value &= operand
            case 0x05:
                place += operand
            case 0x06:
                return operand
            case 0x15 | 0x35 | 0x45:
                met = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}[code]
                place += yes if met else no
            case _:
                raise AssertionError(f"unknown instruction {code:#x}")


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ((39,), ALLOW),  # getpid
        ((101,), EPERM),  # ptrace
        ((425,), ENOSYS),  # io_uring_setup
        ((463,), ENOSYS),  # newer than the table
        ((0x40000027,), ENOSYS),  # x32
        ((56, 17), ALLOW),  # clone: a plain child
        ((56, 0x10000011), EPERM),
        ((56, 0x110000011), EPERM),  # with a bit above
        ((41, 1, 1), ALLOW),  # local sockets
        ((41, 2, 1), EPERM),
        ((41, 1 << 32 | 2, 1), EPERM),
        ((41, 1, 3), EPERM),  # raw
        ((53, 1), ALLOW),
        ((53, 2), EPERM),
        ((16, 0, 0x5401), ALLOW),
        ((16, 0, 0x5412), EPERM),
        ((16, 0, 1 << 32 | 0x5412), EPERM),
        ((90, 0, 0o755), ALLOW),
        ((90, 0, 0o4755), EPERM),
        ((90, 0, 0o2755), EPERM),
        ((257, 0, 0, 0o100, 0o4755), EPERM),  # openat creating
        ((257, 0, 0, 0, 0o4755), ALLOW),  # not creating: the mode is whatever was in the register
        ((135, 0xFFFFFFFF), ALLOW),
        ((135, 0x0400000), EPERM),
        ((302, 0, 4, 1), PRETEND),  # a core limit is never changed
        ((302, 0, 4, 1 << 32), PRETEND),
        ((302, 0, 4, 0), ALLOW),
        ((302, 0, 7, 1), ALLOW),
        ((302, 1, 7, 1), EPERM),  # the zygote's
        ((160, 4), PRETEND),
        ((141, 0, 1), EPERM),
        ((141, 0, 5), ALLOW),
        ((141, 2, 0), EPERM),
        ((203, 1), EPERM),
    ],
)  # fmt: skip
def test_the_filter_answers(call: tuple[int, ...], expected: int) -> None:
    assert verdict(seccomp.compile_filter((1,), set_group_id=False, architecture="x86_64"), *call) == expected


SAME_MEANING = [
    # name, arguments, expected: whatever the machine, the same call gets the same answer
    ("ptrace", (), EPERM), ("io_uring_setup", (), ENOSYS), ("clone3", (), ENOSYS), ("openat2", (), ENOSYS),
    ("clone", (17,), ALLOW), ("clone", (0x10000011,), EPERM), ("clone", (0x110000011,), EPERM),
    ("socket", (1, 1), ALLOW), ("socket", (2, 1), EPERM), ("socket", (1, 3), EPERM), ("socketpair", (2,), EPERM),
    ("ioctl", (0, 0x5401), ALLOW), ("ioctl", (0, 0x5412), EPERM), ("ioctl", (0, 1 << 32 | 0x5412), EPERM),
    ("fchmodat", (0, 0, 0o755), ALLOW), ("fchmodat", (0, 0, 0o4755), EPERM), ("fchmodat2", (0, 0, 0o4755), EPERM),
    ("openat", (0, 0, 0o100, 0o4755), EPERM), ("openat", (0, 0, 0, 0o4755), ALLOW),
    ("prlimit64", (0, 4, 1), PRETEND), ("prlimit64", (1, 7, 1), EPERM), ("setpriority", (0, 1), EPERM),
    ("mount", (), EPERM), ("unshare", (), EPERM), ("setns", (), EPERM), ("bpf", (), ENOSYS), ("keyctl", (), ENOSYS),
    ("process_vm_readv", (), EPERM), ("open_by_handle_at", (), EPERM), ("memfd_secret", (), ENOSYS),
    ("personality", (0x0400000,), EPERM), ("perf_event_open", (), ENOSYS), ("userfaultfd", (), ENOSYS),
]  # fmt: skip


@pytest.mark.parametrize("machine", TABLES)
@pytest.mark.parametrize(("name", "arguments", "expected"), SAME_MEANING)
def test_the_filter_means_the_same_on_every_machine(
    machine: str, name: str, arguments: tuple[int, ...], expected: int
) -> None:
    audit, newest, numbers = TABLES[machine]
    program = seccomp.compile_filter((1,), set_group_id=False, architecture=machine)
    assert verdict(program, numbers[name], *arguments, architecture=audit) == expected
    assert verdict(program, newest, architecture=audit) == ENOSYS
    assert {verdict(program, numbers[name], architecture=other) for other in (0x40000028, 0x40000003)} == {KILL}


@pytest.mark.parametrize("machine", TABLES)
def test_no_call_gets_another_calls_answer(machine: str) -> None:
    """The search by halves finds exactly the calls that have a rule: every other number passes."""
    audit, newest, numbers = TABLES[machine]
    program = seccomp.compile_filter((), set_group_id=False, architecture=machine)
    refused = {number for number in range(newest) if verdict(program, number, architecture=audit) != ALLOW}
    assert refused <= set(numbers.values())
    always = [*seccomp.REFUSED, *seccomp.ABSENT, "socket"]
    assert refused >= {numbers[name] for name in always if name in numbers}


HEADERS = pathlib.Path("/usr/include/asm-generic/unistd.h")


@pytest.mark.skipif(not HEADERS.exists(), reason="the kernel's headers are not installed")
def test_the_numbers_are_the_kernels() -> None:
    """The generic header is that of aarch64; from 424 on every machine has the same numbers."""
    known = {name: int(number) for name, number in re.findall(r"#define __NR_(\w+)\s+(\d+)\n", HEADERS.read_text())}
    wrong = {name: number for name, number in TABLES["aarch64"][2].items() if known.get(name, number) != number}
    assert wrong == {}
    assert set(TABLES["aarch64"][2]) - set(known) <= {"fchmodat2"}  # newer than some headers
    shared = {name: number for name, number in TABLES["x86_64"][2].items() if number >= 424}
    assert shared == {name: number for name, number in TABLES["aarch64"][2].items() if number >= 424}


def test_the_filter_knows_its_settings() -> None:
    open_network = seccomp.compile_filter(
        seccomp.families(Network.ON, local=True), set_group_id=True, architecture="x86_64"
    )
    assert [verdict(open_network, 41, family, 1) for family in (1, 2, 10, 16, 17, 40)] == [ALLOW] * 3 + [EPERM] * 3
    assert verdict(open_network, 90, 0, 0o2755) == ALLOW
    none = seccomp.compile_filter(seccomp.families(Network.OFF, local=False), set_group_id=False, architecture="x86_64")
    assert [verdict(none, 41, family, 1) for family in (1, 2, 10)] == [EPERM] * 3
    assert verdict(none, 39, architecture=0x40000003) == KILL  # int 0x80


@pytest.mark.parametrize(("level", "bits"), [(1, 13), (2, 14), (3, 15), (4, 15), (5, 16), (7, 16)])
def test_landlock_asks_only_for_what_its_level_knows(level: int, bits: int) -> None:
    assert landlock.handled(level) == (1 << bits) - 1
    assert landlock.rights(landlock.CHANGING, level) & (1 << 6 | 1 << 11) == 0  # no device nodes
    assert landlock.rights(landlock.READING, level) == 0b1101
    assert len(landlock.missing(level)) == max(0, 6 - max(level, 1))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has another identity to take")
def test_root_keeps_no_rights_of_root_even_where_owners_cannot_be_mapped(
    tmp_path: pathlib.Path, home: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose = identity.choose
    monkeypatch.setattr(identity, "choose", lambda workspace, mappable=True: choose(workspace, mappable=False))
    (tmp_path / "ws").mkdir()
    with Session(Profile(workspace=str(tmp_path / "ws")), os.environ) as session:
        outcome = session.run(
            Request(
                (
                    "sh",
                    "-c",
                    "id -u; touch f; cat /etc/shadow; grep CapEff /proc/self/status; echo x > /proc/sys/kernel/core_pattern",
                )
            )
        )
    assert outcome.stdout.text().split() == ["1000", "CapEff:", "0000000000000000"]
    assert (tmp_path / "ws" / "f").stat().st_uid == 0
    other = tmp_path / "other"
    other.mkdir()
    os.chown(other, NOBODY, NOBODY)
    with Session(Profile(workspace=str(other)), os.environ) as session:
        assert session.run(Request(("sh", "-c", "id -u; touch f"))).stdout.data == b"65534\n"
    assert (other / "f").stat().st_uid == NOBODY


@pytest.mark.skipif(os.geteuid() != 0, reason="only root meets workspaces of others")
def test_files_in_somebodys_workspace_belong_to_them(tmp_path: pathlib.Path, home: pathlib.Path) -> None:
    workspace = tmp_path / "ws"
    workspace.mkdir()
    os.chown(workspace, 1234, 1235)
    with Session(Profile(workspace=str(workspace)), os.environ) as session:
        session.run(Request(("sh", "-c", "touch f; mkdir d")))
    assert {(path.stat().st_uid, path.stat().st_gid) for path in workspace.iterdir()} == {(1234, 1235)}
