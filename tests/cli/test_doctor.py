"""signoff doctor: every finding from surroundings made for it, and the whole command on this machine."""

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from signoff.cli import checks, checks_files
from signoff.cli.checks import CHECKS
from signoff.cli.doctor import document, worst
from signoff.cli.finding import Finding, Status, Surroundings
from signoff.files import beneath
from tests.cli.program import signoff

OPEN = {
    "proc/self/ns/user": "",
    "proc/sys/user/max_user_namespaces": "63000\n",
    "proc/sys/kernel/seccomp/actions_avail": "kill_process errno user_notif\n",
    "proc/self/cgroup": "0::/user.slice\n",
    "proc/self/mountinfo": "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
    "sys/fs/cgroup/user.slice/cgroup.subtree_control": "memory pids\n",
    "sys/fs/cgroup/user.slice/cgroup.procs": "",
}


def machine(root: Path, files: dict[str, str], **changes: str) -> Surroundings:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content, encoding="utf-8")
    environ = {"HOME": str(root / "home"), "PATH": str(root / "bin")}
    return Surroundings(
        environ, root / "ws", root=root, **{"system": "Linux", "release": "6.8.0-41", "machine": "x86_64"} | changes
    )


def test_a_machine_with_everything_has_nothing_to_mend(tmp_path: Path) -> None:
    here = machine(tmp_path, OPEN | {"bin/bash": "", "bin/git": "#!/bin/sh\necho git version 2.50.0\n"})
    for program in (tmp_path / "bin").iterdir():
        program.chmod(0o755)
    looked = {name: CHECKS[name](here).status for name in CHECKS if name not in ("landlock", "cgroups")}
    assert looked == dict.fromkeys(looked, Status.OK)


@pytest.mark.parametrize(
    ("check", "files", "changes", "status", "summary"),
    [
        ("kernel", {}, {"release": "5.10.0"}, Status.WARN, "Linux 5.10.0 is older than 5.13"),
        ("kernel", {}, {"release": "6.1-custom"}, Status.OK, "Linux 6.1-custom"),
        ("kernel", {}, {"system": "Darwin"}, Status.WARN, "Darwin has no sandbox here"),
        ("architecture", {}, {"machine": "riscv64"}, Status.WARN, "riscv64 has no system-call filter here"),
        ("landlock", {}, {"system": "Darwin"}, Status.WARN, "Landlock is not available"),
        ("user-namespaces", {}, {}, Status.WARN, "user namespaces are not available"),
        ("user-namespaces", OPEN | {"proc/sys/user/max_user_namespaces": "0"}, {}, Status.WARN, "user namespaces are restricted"),
        ("user-namespaces", OPEN | {"proc/sys/kernel/unprivileged_userns_clone": "0"}, {}, Status.WARN, "user namespaces are restricted"),
        ("user-namespaces", OPEN | {"proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1"}, {}, Status.WARN, "user namespaces are restricted"),
        ("seccomp", {}, {}, Status.WARN, "system calls cannot be filtered"),
        ("seccomp", {"proc/sys/kernel/seccomp/actions_avail": "errno"}, {}, Status.WARN, "system calls cannot be filtered"),
        ("bubblewrap", {}, {}, Status.WARN, "bubblewrap is not installed"),
        ("bubblewrap", OPEN, {}, Status.OK, "bubblewrap is not installed and not needed here"),
        ("cgroups", {}, {}, Status.WARN, "not every limit can be enforced"),
        ("cgroups", OPEN | {"proc/self/cgroup": "0::/elsewhere\n"}, {}, Status.WARN, "not every limit can be enforced"),
        ("cgroups", OPEN, {}, Status.WARN, "not every limit can be enforced"),  # files that are no control group
        ("config", {"home/.config/signoff/config.toml": "aproval = 1"}, {}, Status.FAIL, "the configuration cannot be used"),
        ("config", {".signoff/config.toml": "approval = 'never'"}, {}, Status.WARN, "not all of the configuration is in force"),
        ("directories", {"home": "a file"}, {}, Status.FAIL, "not every directory can be written"),
        ("rules", {"home/.config/signoff/rules/a.rules": "# none"}, {}, Status.OK, "rule files: 1"),
        ("rules", {"home/.config/signoff/rules/a.rules": "prefix_rule("}, {}, Status.FAIL, "the rules cannot be used"),
        ("rules", {".signoff/rules/b.rules": "# none"}, {}, Status.WARN, "not all rules are in force"),
    ],
)  # fmt: skip
def test_what_is_missing_is_found(
    tmp_path: Path, check: str, files: dict[str, str], changes: dict[str, str], status: Status, summary: str
) -> None:
    finding = CHECKS[check](machine(tmp_path, files, **changes))
    assert (finding.status, finding.summary) == (status, summary)


def test_directories_others_can_write_into_are_named_with_the_command_that_mends_it(tmp_path: Path) -> None:
    here = machine(tmp_path, OPEN)
    state = tmp_path / "home/.local/state/signoff"
    state.mkdir(parents=True)
    state.chmod(0o777)
    assert checks_files.directories(here).fix == f"chmod go-w {state}"


def test_toolchains_are_listed_with_what_stays_hidden_in_them(tmp_path: Path) -> None:
    here = msgspec.structs.replace(machine(tmp_path, {"home/.cargo/credentials": ""}), directory=tmp_path / "project")
    cargo = tmp_path / "home/.cargo"
    assert f"cargo: {cargo} (without {cargo}/credentials)" in str(checks.toolchains(here).detail).splitlines()


def test_a_system_without_openat2_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beneath, "_OPENAT2", 1_000_000)
    assert checks.file_tools(machine(tmp_path, {})).status is Status.FAIL


def test_the_whole_is_as_bad_as_its_worst_part() -> None:
    findings = {
        name: Finding(status, "") for name, status in (("a", Status.OK), ("b", Status.FAIL), ("c", Status.WARN))
    }
    assert worst(findings) is Status.FAIL
    assert worst({"a": findings["a"], "c": findings["c"]}) is Status.WARN


def test_golden_document_shape(golden: Callable[[str, str], None]) -> None:
    findings = {
        "kernel": Finding(Status.OK, "Linux 6.8.0"),
        "config": Finding(
            Status.FAIL,
            "the configuration cannot be used",
            "config.toml:3: …",
            "Did you mean approval?",
            "config.invalid",
        ),
    }
    golden("cli/doctor.json", json.dumps(document(findings), indent=2, ensure_ascii=False) + "\n")


def test_doctor_on_this_machine_reports_every_check_once(home: Path) -> None:
    ended = signoff("doctor", "--json")
    report = json.loads(ended.out)
    assert [check["id"] for check in report["checks"]] == list(CHECKS)
    assert ended.status == (1 if report["status"] == "fail" else 0)
    assert all(check["summary"] for check in report["checks"])


def test_a_failed_check_is_shown_with_its_remedy_and_exits_1(home: Path) -> None:
    ended = signoff("doctor", SIGNOFF_APROVAL="never")
    assert ended.status == 1
    assert "fail  config" in ended.out
    assert "→ Did you mean SIGNOFF_APPROVAL?" in ended.out
