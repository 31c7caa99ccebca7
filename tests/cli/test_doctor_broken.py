"""signoff doctor against things broken on purpose: each is named by its code, says what to do, and ends as it should."""

import fcntl
import json
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from signoff.cli import checks_access, checks_files, checks_programs
from signoff.cli.checks import CHECKS
from signoff.cli.doctor import looked
from signoff.cli.finding import Finding, Status, Surroundings
from signoff.sandbox import placeholders
from tests.cli.program import PROGRAM, signoff

ROOT = Path(__file__).parents[2]
STATE, DATA, CONFIG = ".local/state/signoff", ".local/share/signoff", ".config/signoff"


def put(path: Path, text: str = "", mode: int = 0o600) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path


def recorded(home: Path) -> Path:
    """The ledger of a run that really was."""
    assert signoff("exec", "--", "true", cwd=home).status == 0
    (path,) = (home / STATE / "runs").glob("*.jsonl")
    return path


def edited(home: Path) -> None:
    path = recorded(home)
    path.write_bytes(path.read_bytes().replace(b'"true"', b'"frue"', 1))


def record_missing(home: Path) -> None:
    path = recorded(home)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:1] + lines[2:]))


def reordered(home: Path) -> None:
    path = recorded(home)
    first, second, third, *rest = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([first, third, second, *rest]))


def torn(home: Path) -> None:
    path = recorded(home)
    path.write_bytes(path.read_bytes()[:-20])


def tail_lost(home: Path) -> None:
    path = recorded(home)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))


def sealed_tail_lost(home: Path) -> None:
    path = recorded(home)
    assert signoff("audit", "sign", "last", "--anchor", f"{path}.sig").status == 0
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))


def memory_damaged(home: Path) -> None:
    assert signoff("memory", "add", "How?", "So.", cwd=home).status == 0
    path = home / DATA / "memory.db"
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    path.write_bytes(path.read_bytes()[:4096] + os.urandom(path.stat().st_size - 4096))


def placeholder_left(home: Path) -> None:
    """As a killed process leaves it: written down and made, held by nobody."""
    folder, root = str(home / STATE / "sandbox"), str(home)
    held = placeholders.hold(folder, root)
    held.add([f"{root}/.codex"])
    os.close(held._journal)  # what the kernel does when the process is killed


def session_recorded(home: Path) -> Path:
    assert signoff("run", "-m", "echo/echo", "hello", cwd=home).status == 0
    (path,) = (home / STATE / "sessions").glob("*.jsonl")
    return path


def beginning_lost(home: Path) -> None:
    path = session_recorded(home)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[1:]))


def copy_damaged(home: Path) -> None:
    put(home / "ws/notes", "old")
    assert (
        signoff("tools", "call", "write_file", "--args", '{"path": "notes", "content": "new"}', cwd=home / "ws").status
        == 0
    )
    (copy,) = (
        path for path in (home / STATE / "undo/objects").rglob("*") if path.is_file() and path.read_text() == "old"
    )
    copy.write_text("bad", encoding="utf-8")


def key_replaced(home: Path) -> None:
    recorded(home)
    key = put(home / STATE / "ledger.key", "k" * 32)
    later = time.time() + 3_600
    os.utime(key, (later, later))


BROKEN: dict[str, tuple[Callable[[Path], object], int]] = {
    "config.invalid": (lambda home: put(home / CONFIG / "config.toml", "approval = ["), 1),
    "config.project": (lambda home: put(home / ".signoff/config.toml", "approval = 'never'"), 0),
    "rules.invalid": (lambda home: put(home / CONFIG / "rules/a.rules", "prefix_rule("), 1),
    "rules.project": (lambda home: put(home / ".signoff/rules/a.rules", "# none"), 0),
    "keys.unreadable": (lambda home: put(home / CONFIG / "config.toml", '[model]\nkey_file = "/no/such/key"'), 1),
    "tool-servers.invalid": (lambda home: put(home / CONFIG / "mcp.json", "{nope"), 1),
    "tool-servers.skipped": (lambda home: put(home / CONFIG / "mcp.json", '{"mcpServers": {"x": {}}}'), 0),
    "tool-servers.forgotten": (lambda home: put(home / STATE / "known-tools.json", "{nope"), 0),
    "trust.damaged": (lambda home: put(home / STATE / "trust.json", "{nope"), 1),
    "permissions.writable": (lambda home: put(home / CONFIG / "rules/a.rules", "# none", 0o666), 1),
    "permissions.loose": (lambda home: recorded(home).chmod(0o644), 0),
    "sessions.index": (lambda home: put(home / STATE / "sessions/index.db", "no database, or not any more"), 0),
    "sessions.damaged": (beginning_lost, 0),
    "sessions.unreadable": (lambda home: put(home / STATE / "sessions", "a file in its place"), 1),
    "undo.damaged": (copy_damaged, 0),
    "undo.unreadable": (lambda home: put(home / STATE / "undo/calls", "a file in its place"), 0),
    "ledger.key_replaced": (key_replaced, 0),
    "ledger.head": (lambda home: put(Path(f"{recorded(home)}.sig"), "no head"), 1),
    "directories.closed": (lambda home: put(home / STATE, "a file in its place"), 1),
    "directories.exposed": (lambda home: (home / STATE).mkdir(parents=True) or (home / STATE).chmod(0o777), 0),
    "ledger.key": (lambda home: put(home / STATE / "ledger.key", "short"), 1),
    "ledger.key_exposed": (lambda home: put(home / STATE / "ledger.key", "k" * 32, 0o644), 0),
    "ledger.unreadable": (lambda home: put(home / STATE / "runs", "a file in its place"), 1),
    "ledger.edited": (edited, 1),
    "ledger.missing": (record_missing, 1),
    "ledger.reordered": (reordered, 1),
    "ledger.torn": (torn, 0),
    "ledger.unfinished": (tail_lost, 0),
    "memory.damaged": (memory_damaged, 1),
    "memory.unreadable": (lambda home: (home / DATA / "memory.db").mkdir(parents=True), 1),
    "placeholders.left": (placeholder_left, 0),
}  # fmt: skip


def found(report: str) -> dict[str, Any]:
    """What is wrong, by code."""
    return {check["code"]: check for check in json.loads(report)["checks"] if check["code"] is not None}


def assert_named(ended_with: int, report: str, code: str, status: int) -> None:
    wrong = found(report)
    assert code in wrong, wrong
    assert (ended_with, wrong[code]["status"]) == (status, "fail" if status else "warn")
    assert wrong[code]["id"] == code.partition(".")[0]
    assert wrong[code]["fix"]


@pytest.mark.parametrize("code", BROKEN)
def test_what_was_broken_is_found(code: str, home: Path) -> None:
    damage, status = BROKEN[code]
    damage(home)
    ended = signoff("doctor", "--json", cwd=home)
    assert_named(ended.status, ended.out, code, status)


def test_a_lost_tail_is_missing_where_a_head_was_kept(home: Path) -> None:
    sealed_tail_lost(home)
    ended = signoff("doctor", "--json", cwd=home)
    assert_named(ended.status, ended.out, "ledger.missing", 1)


def test_runs_signed_with_different_keys_and_signatures_that_do_not_fit_are_found(home: Path) -> None:
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    for name in ("old", "new"):
        assert signoff("exec", "--", "true", cwd=home).status == 0
        key = ed25519.Ed25519PrivateKey.generate().private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        path = put(home / name, key.decode())
        newest = max((home / STATE / "runs").glob("*.jsonl"))
        assert signoff("audit", "sign", "last", "--key", str(path), "--anchor", f"{newest}.sig").status == 0
    ended = signoff("doctor", "--json", cwd=home)
    assert_named(ended.status, ended.out, "ledger.signers", 0)
    one, other = (Path(f"{run}.sig") for run in (home / STATE / "runs").glob("*.jsonl"))
    heads = [json.loads(file.read_text(encoding="utf-8")) for file in (one, other)]
    put(one, json.dumps(heads[0] | {"signature": heads[1]["signature"]}))
    ended = signoff("doctor", "--json", cwd=home)
    assert_named(ended.status, ended.out, "ledger.head", 1)


@pytest.mark.parametrize(
    ("limit", "code", "status"),
    [("-f 0", "limits.file_size", 1), ("-f 102400", "limits.file_size", 0), ("-n 200", "limits.descriptors", 0)],
)
def test_limits_that_are_too_tight_are_found(limit: str, code: str, status: int, home: Path) -> None:
    script = f"ulimit {limit} && exec {PROGRAM} doctor --json"
    ended = subprocess.run(["bash", "-c", script], cwd=home, capture_output=True, text=True, timeout=60, check=False)
    assert_named(ended.returncode, ended.stdout, code, status)


def test_a_token_among_the_settings_that_others_can_read_is_found(home: Path) -> None:
    token = put(home / CONFIG / "acp.token", "secret", 0o644)
    finding = checks_access.permissions(Surroundings({"HOME": str(home)}, home))
    assert (finding.code, finding.fix) == ("permissions.loose", f"chmod go-rwx {token}")


def test_a_port_that_another_program_has_is_named_with_its_holder() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        finding = checks_access.listened({"acp serve": port})
        assert (finding.code, finding.status) == ("ports.taken", Status.WARN)
        assert f"process {os.getpid()}" in str(finding.detail)
    assert checks_access.listened({"acp serve": port}).code is None


def test_keys_that_others_can_read_are_found_wherever_they_are(home: Path) -> None:
    key = put(home / "key", "ANTHROPIC_API_KEY=sk-1", 0o644)
    settings = put(home / CONFIG / "config.toml", f'[model]\nkey_file = "{key}"')
    ended = signoff("doctor", "--json", cwd=home)
    assert_named(ended.status, ended.out, "keys.exposed", 1)
    put(settings, '[model]\nprovider = "openai"\nkey = "sk-1"', 0o644)
    ended = signoff("doctor", "--json", cwd=home)
    assert_named(ended.status, ended.out, "keys.exposed", 0)
    assert "sk-1" not in ended.out


def test_a_clock_that_stands_before_the_last_run_is_found(home: Path) -> None:
    tomorrow = f"{time.time_ns() // 1_000_000 + 86_400_000:012x}"
    put(home / STATE / f"runs/{tomorrow[:8]}-{tomorrow[8:]}-7000-8000-000000000000.jsonl")
    finding = CHECKS["clock"](Surroundings({"HOME": str(home)}, home))
    assert (finding.code, finding.status) == ("clock.behind", Status.WARN)


def test_a_list_of_placeholders_that_cannot_be_read_stops_nothing(home: Path) -> None:
    put(home / STATE / "sandbox/1-2", "no list\n")
    assert signoff("sandbox", "--", "true", cwd=home).status == 0
    assert not (home / STATE / "sandbox/1-2").exists()


def test_a_lock_that_somebody_keeps_is_named_with_its_holder(home: Path) -> None:
    path = put(home / STATE / "trust.json.lock")
    with path.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        finding = checks_files.locks(Surroundings({"HOME": str(home)}, home))
    assert (finding.code, finding.status) == ("locks.held", Status.WARN)
    assert f"process {os.getpid()}" in str(finding.detail)


@pytest.mark.parametrize(
    ("check", "programs", "code", "status"),
    [
        ("path", {}, "path.no_shell", Status.FAIL),
        ("path", {"bash": "", "path": ":relative/bin"}, "path.relative", Status.WARN),
        ("path", {"bash": ""}, None, Status.OK),
        ("git", {}, "git.missing", Status.WARN),
        ("git", {"git": "echo git version 2.20.1"}, "git.old", Status.WARN),
        ("git", {"git": "exit 3"}, "git.broken", Status.WARN),
        ("git", {"git": "echo git version 2.53.0.windows.1"}, None, Status.OK),
        ("search", {}, "search.missing", Status.WARN),
        ("search", {"rg": "echo ripgrep 12.1.1"}, "search.old", Status.WARN),
        ("search", {"rg": "exit 1"}, "search.broken", Status.WARN),
    ],
)
def test_programs_that_are_missing_old_or_broken_are_found(
    check: str, programs: dict[str, str], code: str | None, status: Status, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks_programs.ripgrep, "bundled", lambda: None)
    for name, script in programs.items():
        put(home / "bin" / name, f"#!/bin/sh\n{script}\n", 0o755)
    here = Surroundings({"HOME": str(home), "PATH": str(home / "bin") + programs.get("path", "")}, home / "ws")
    finding = CHECKS[check](here)
    assert (finding.code, finding.status) == (code, status)


def test_a_program_in_the_project_is_not_started(home: Path) -> None:
    put(home / "ws/bin/git", f"#!/bin/sh\ntouch {home}/started\necho git version 2.53.0\n", 0o755)
    finding = CHECKS["git"](Surroundings({"HOME": str(home), "PATH": f"{home}/ws/bin:bin"}, home / "ws"))
    assert (finding.code, (home / "started").exists()) == ("git.missing", False)


def test_a_full_disk_fails_and_a_nearly_full_one_warns() -> None:
    def space(blocks: int, files: int) -> Finding:
        room = os.statvfs_result((4096, 4096, 1 << 20, blocks, blocks, 1 << 20, files, files, 0, 255))
        return checks_files.space({Path("/state"): room})

    assert [space(10, 10).code, space(1 << 19, 0).code, space(1 << 10, 10).code, space(1 << 19, 10).code] == [
        "disk.full",
        "disk.full",
        "disk.low",
        None,
    ]


def in_private_mounts(home: Path, preparation: str) -> subprocess.CompletedProcess[str]:
    """doctor where mounts are as the preparation makes them, seen by nobody else."""
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-rm", "true"], check=False).returncode != 0:
        pytest.skip("no private mounts here: unshare -rm does not work")
    script = f"{preparation} && exec {PROGRAM} doctor --json"
    return subprocess.run(
        ["unshare", "-rm", "sh", "-c", script], cwd=home, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize(
    ("preparation", "code"),
    [
        ("mount --bind {state} {state} && mount -o remount,ro,bind {state}", "directories.closed"),
        ("mount -t tmpfs -o size=64k t {state} && {{ head -c 1M /dev/zero > {state}/full; true; }} 2>&-", "disk.full"),
    ],
)
def test_a_state_directory_that_takes_nothing_fails(preparation: str, code: str, home: Path) -> None:
    (home / STATE).mkdir(parents=True)
    ended = in_private_mounts(home, preparation.format(state=home / STATE))
    assert_named(ended.returncode, ended.stdout, code, 1)


def test_a_machine_that_cannot_make_namespaces_is_named(home: Path) -> None:
    ended = in_private_mounts(home, "echo 0 > /proc/sys/user/max_user_namespaces")
    wrong = found(ended.stdout)
    assert wrong["user-namespaces.restricted"]["fix"]
    assert {"sandbox.impossible", "sandbox.partial"} & set(wrong) or ended.returncode == 0


def test_a_check_that_breaks_hides_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(_: Surroundings) -> Finding:
        raise OSError("gone")

    monkeypatch.setattr("signoff.cli.doctor.CHECKS", {**CHECKS, "kernel": breaks})
    here = Surroundings({"HOME": str(home)}, home)
    assert (looked("kernel", here, debug=False).code, looked("python", here, debug=False).code) == (
        "kernel.broken",
        None,
    )


def test_the_page_about_doctor_lists_every_code() -> None:
    sources = [*(ROOT / "src/signoff/cli").glob("checks*.py")]
    used = {
        code for file in sources for code in re.findall(r'"([a-z-]+\.[a-z_]+)", ', file.read_text(encoding="utf-8"))
    }
    listed = set(re.findall(r"^\| `([a-z-]+\.[a-z_]+)`", (ROOT / "docs/doctor.md").read_text(encoding="utf-8"), re.M))
    assert used - listed == set()
    assert {code for code in listed if code.partition(".")[0] not in CHECKS} == set()
