"""What counts as stopped by the sandbox, and everything that only looks like it."""

import pathlib
import signal
import subprocess
from collections.abc import Iterator

import pytest

from signoff.domain.settings import Network
from signoff.sandbox.denial import Evidence, Host, Reach, explain
from signoff.sandbox.notices import Refusal
from signoff.sandbox.outcome import Cause, Denial, Request
from signoff.sandbox.profile import Profile
from signoff.sandbox.session import Session

WS = "/ws/app"
REACH = Reach(
    writable=(WS,),
    private=("/tmp",),
    protected=(f"{WS}/.git", f"{WS}/.vscode", f"{WS}/.bashrc"),
    readable=("/usr", "/etc", "/proc", "/dev", "/home/ada/.cargo"),
    network=Network.OFF,
)


class Machine:
    """Outside, everything may be done but below these paths."""

    def __init__(self, *forbidden: str, absent: tuple[str, ...] = ()) -> None:
        self.forbidden, self.absent = forbidden, absent

    def can_read(self, path: str) -> bool:
        return path.startswith("/") and not path.startswith((*self.forbidden, *self.absent))

    def can_write(self, path: str) -> bool:
        return not path.startswith(self.forbidden)


def judge(
    stderr: str = "",
    *,
    argv: tuple[str, ...] = ("make",),
    status: int | None = 1,
    reach: Reach = REACH,
    machine: Machine | None = None,
    **facts: object,
) -> Denial | None:
    evidence = Evidence(argv, WS, status, stderr=stderr, **{"signal": None, **facts})  # type: ignore[arg-type]
    return explain(evidence, reach, machine or Machine())


WRITES = [
    ("bash: line 1: /etc/hosts: Read-only file system", "/etc/hosts"),
    ("touch: cannot touch '/etc/x': Permission denied", "/etc/x"),
    ("mkdir: cannot create directory ‘/srv/data/new’: Read-only file system", "/srv/data/new"),
    ("rm: cannot remove '../other/file': Read-only file system", "/ws/other/file"),
    ("cp: cannot create regular file '/opt/x': Permission denied", "/opt/x"),
    ("tee: /etc/hosts: Permission denied", "/etc/hosts"),
    ("OSError: [Errno 30] Read-only file system: '/home/ada/.config/tool'", "/home/ada/.config/tool"),
    ("PermissionError: [Errno 13] Permission denied: '/var/lib/x'", "/var/lib/x"),
    ("Error: EROFS: read-only file system, open '/home/ada/.npmrc'", "/home/ada/.npmrc"),
    ("npm error EACCES: permission denied, mkdir '/usr/lib/node_modules/x'", "/usr/lib/node_modules/x"),
    ("open /etc/app.conf: read-only file system", "/etc/app.conf"),
    ("error: failed to write `/home/ada/.cargo/x`: Read-only file system (os error 30)", "/home/ada/.cargo/x"),
    ("chmod: changing permissions of '/etc/passwd': Read-only file system", "/etc/passwd"),
    ("ln: failed to create symbolic link '/usr/bin/x': Read-only file system", "/usr/bin/x"),
]


@pytest.mark.parametrize(("line", "path"), WRITES)
def test_a_write_outside_the_roots_names_the_path_and_the_root_that_would_open_it(line: str, path: str) -> None:
    directory = path.rpartition("/")[0]
    expected = Denial(Cause.WRITE, path, f"writable root {directory}", certain=False)
    assert judge(f"some talk\n{line}\nmake: *** [all] Error 1\n") == expected


@pytest.mark.parametrize(("line", "path"), WRITES)
def test_a_write_the_person_could_not_do_outside_either_is_no_denial(line: str, path: str) -> None:
    assert judge(line, machine=Machine("/")) is None


@pytest.mark.parametrize(
    ("line", "path", "permission"),
    [
        (
            "fatal: Unable to create '/ws/app/.git/index.lock': Read-only file system",
            f"{WS}/.git/index.lock",
            "git.write",
        ),
        (
            "error: could not lock config file .git/config: Read-only file system",
            f"{WS}/.git/config",
            f"protected path {WS}/.git",
        ),
        ("mv: cannot move '.git' to 'gone': Device or resource busy", f"{WS}/.git", f"protected path {WS}/.git"),
        (
            "sh: 1: cannot create .git/hooks/pre-commit: Read-only file system",
            f"{WS}/.git/hooks/pre-commit",
            f"protected path {WS}/.git",
        ),
        ("bash: .vscode/tasks.json: Read-only file system", f"{WS}/.vscode/tasks.json", f"protected path {WS}/.vscode"),
        ("bash: .bashrc: Is a directory", f"{WS}/.bashrc", f"protected path {WS}/.bashrc"),
    ],
)
def test_a_protected_path_is_its_own_cause(line: str, path: str, permission: str) -> None:
    assert judge(line) == Denial(Cause.PROTECTED, path, permission, certain=False)


@pytest.mark.parametrize(
    "line",
    [
        "cat: /home/ada/notes.txt: No such file or directory",
        "FileNotFoundError: [Errno 2] No such file or directory: '/home/ada/notes.txt'",
        "ls: cannot access '/home/ada/notes.txt': No such file or directory",
        "Error: ENOENT: no such file or directory, open '/home/ada/notes.txt'",
    ],
)
def test_a_file_that_is_hidden_inside_and_there_outside_is_a_denied_read(line: str) -> None:
    path = "/home/ada/notes.txt"
    assert judge(line) == Denial(Cause.READ, path, f"readable root {path}", certain=False)
    assert judge(line, machine=Machine(absent=(path,))) is None
    assert judge(line, reach=Reach((WS,), (), None, Network.OFF)) is None


@pytest.mark.parametrize(
    ("line", "host"),
    [
        ("curl: (6) Could not resolve host: example.org", "example.org"),
        ("fatal: unable to access 'https://github.com/x/y/': Could not resolve host: github.com", "github.com"),
        ("ssh: Could not resolve hostname example.org: Temporary failure in name resolution", "example.org"),
        ("wget: unable to resolve host address ‘example.org’", "example.org"),
        ("npm error request failed, reason: getaddrinfo EAI_AGAIN registry.npmjs.org", "registry.npmjs.org"),
        ("go: dial tcp: lookup proxy.golang.org: connection refused", "proxy.golang.org"),
        ("W: Failed to fetch  Temporary failure resolving 'deb.debian.org'", "deb.debian.org"),
        ("  [6] Could not resolve host name (Could not resolve host: index.crates.io)", "index.crates.io"),
        ("urllib3.exceptions.NameResolutionError: Failed to resolve 'pypi.org' ([Errno -3] …)", "pypi.org"),
        ("socket.gaierror: [Errno -3] Temporary failure in name resolution", None),
        ("ping: socket: Operation not permitted", None),
        (
            "    _socket.socket.__init__(self, 2)\n     ^^^^^^^\nPermissionError: [Errno 1] Operation not permitted",
            None,
        ),
        ("connect: Network is unreachable", None),
    ],
)
def test_no_network_names_the_host_where_it_was_named(line: str, host: str | None) -> None:
    assert judge(line) == Denial(Cause.NETWORK, host, f"network {host or 'access'}", certain=False)
    open_network = Reach(REACH.writable, REACH.protected, REACH.readable, Network.ON)
    assert judge(line, reach=open_network) is None


def test_a_host_the_proxy_refused_is_certain() -> None:
    assert judge("anything", refused_hosts=("example.org:443",)) == Denial(
        Cause.NETWORK, "example.org:443", "network example.org:443", certain=True
    )


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"signal": signal.SIGSYS}, Denial(Cause.SYSCALL, None, "running outside the sandbox", certain=True)),
        ({"status": 128 + signal.SIGSYS}, Denial(Cause.SYSCALL, None, "running outside the sandbox", certain=False)),
        ({"signal": signal.SIGXFSZ}, Denial(Cause.FILE_SIZE, None, "a higher file size limit", certain=True)),
        (
            {"signal": signal.SIGKILL, "exhausted": "memory"},
            Denial(Cause.MEMORY, None, "a higher memory limit", certain=True),
        ),
        (
            {"status": 1, "exhausted": "processes"},
            Denial(Cause.PROCESSES, None, "a higher process limit", certain=True),
        ),
        ({"signal": signal.SIGKILL}, None),
        ({"signal": signal.SIGSEGV}, None),
        ({"status": 137}, None),
    ],
)
def test_signals_and_limits_are_facts(facts: dict[str, object], expected: Denial | None) -> None:
    assert judge(**{"status": None, **facts}) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("unshare: unshare failed: Operation not permitted", Cause.SYSCALL),
        ("mount: /mnt: mount failed: Operation not permitted.", Cause.SYSCALL),
        ("strace: ptrace(PTRACE_TRACEME, ...): Operation not permitted", Cause.SYSCALL),
        ("bash: fork: retry: Resource temporarily unavailable", Cause.PROCESSES),
        ("RuntimeError: can't start new thread", Cause.PROCESSES),
        ("MemoryError", Cause.MEMORY),
        ("dd: error writing 'big': File too large", Cause.FILE_SIZE),
    ],
)
def test_calls_and_limits_are_recognised(line: str, cause: Cause) -> None:
    denial = judge(line)
    assert denial is not None
    assert (denial.cause, denial.certain) == (cause, False)


NOISE = "bash: /home/ada/.pyenv/shims/.pyenv-shim: Permission denied"

FALSE_FRIENDS: dict[str, tuple[tuple[str, ...], int, str]] = {
    "success": (("make",), 0, "touch: cannot touch '/etc/x': Permission denied"),
    "rg without a match": (("rg", "foo"), 1, NOISE),
    "rg without a match, in a shell": (("bash", "-lc", "cd src && rg foo"), 1, NOISE),
    "grep at the end of a pipe": (("sh", "-c", "cat log | LC_ALL=C grep -i denied"), 1, NOISE),
    "git grep without a match": (("git", "grep", "foo"), 1, NOISE),
    "diff that found a difference": (("diff", "a", "b"), 1, NOISE),
    "program not found": (("sh", "-c", "frobnicate"), 127, "sh: 1: frobnicate: not found"),
    "running a file that is no program": (("sh", "-c", "/etc/passwd"), 126, "sh: 1: /etc/passwd: Permission denied"),
    "a missing file of the workspace": (("cat", "x"), 1, "cat: x: No such file or directory"),
    "a missing system file": (("cat", "/etc/nope"), 1, "cat: /etc/nope: No such file or directory"),
    "a locked file of the workspace": (("cat", "x"), 1, "cat: x: Permission denied"),
    "a compiler error about the words": (("gcc", "a.c"), 1, "a.c:3:9: error: 'permission denied' undeclared (first use)"),
    "a compiler error about a sandbox": (("gcc", "a.c"), 1, "a.c:1:10: fatal error: sandbox.h: No such file or directory"),
    "a test that expects a denial": (("pytest",), 1, "E   AssertionError: expected 'Permission denied' but got 'ok'"),
    "a log line about somebody else": (("app",), 1, "2026-01-01 user bob: permission denied while logging in to /admin"),
    "a server's answer": (("curl", "-f", "x"), 22, "curl: (22) The requested URL returned error: 403 Forbidden: seccomp"),
    "git's credentials": (("git", "push"), 128, "git@github.com: Permission denied (publickey)."),
    "a local server that is down": (("curl", "localhost:1"), 7, "curl: (7) Failed to connect to localhost port 1: Connection refused"),
    "an ordinary failure": (("make",), 2, "make: *** [Makefile:3: all] Error 1"),
    "node's own heap limit": (("node", "a.js"), 134, "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory"),
    "words about mounting": (("app",), 1, "cannot mount the volume: not found"),
    "a directory instead of a file": (("cat", "src"), 1, "cat: src: Is a directory"),
}  # fmt: skip


@pytest.mark.parametrize(("argv", "status", "line"), FALSE_FRIENDS.values(), ids=FALSE_FRIENDS.keys())
def test_false_friends_are_not_denials(argv: tuple[str, ...], status: int, line: str) -> None:
    assert judge(line, argv=argv, status=status, machine=Machine(absent=("/ws/app", "/etc/nope"))) is None


def test_what_the_host_has_in_a_private_directory_is_out_of_sight() -> None:
    line = "cat: /tmp/upload.log: No such file or directory"
    assert judge(line) == Denial(Cause.READ, "/tmp/upload.log", "readable root /tmp/upload.log", certain=False)
    assert judge(line, machine=Machine(absent=("/tmp",))) is None
    assert judge("touch: cannot touch '/tmp/x/y': Permission denied") is None


def test_standard_output_counts_only_where_nothing_was_said_on_standard_error() -> None:
    line = "touch: cannot touch '/etc/x': Permission denied"
    assert judge(stdout=line) is not None
    assert judge("make: *** [all] Error 1", stdout=line) is None


def test_only_the_end_of_what_was_said_is_looked_at() -> None:
    assert judge("touch: cannot touch '/etc/x': Permission denied\n" + "fine\n" * 50) is None


def test_in_read_only_mode_the_workspace_is_what_would_have_to_be_opened() -> None:
    reach = Reach((), (), ("/usr", WS), Network.OFF)
    assert judge("sh: 1: cannot create out.txt: Read-only file system", reach=reach) == Denial(
        Cause.WRITE, f"{WS}/out.txt", f"writable root {WS}", certain=False
    )


def test_the_machine_is_asked_about_the_nearest_directory(tmp_path: pathlib.Path) -> None:
    host = Host()
    assert host.can_write(str(tmp_path / "a" / "b"))
    assert host.can_read(str(tmp_path))
    assert not host.can_read(str(tmp_path / "absent"))


@pytest.mark.parametrize(
    "text", ["'" * 5_000, "x: " * 5_000 + "Permission denied", "‘" * 9_999, "\0\x1b[31m: Permission denied"]
)
def test_odd_text_is_harmless(text: str) -> None:
    judge(text, argv=("bash", "-c", "'unclosed"))


NO_HOST = "curl: (6) Could not resolve host: example.org"
TOLD = (Cause.NETWORK, Cause.SYSCALL)  # by the kernel itself


@pytest.mark.parametrize(
    ("line", "told", "expected"),
    [
        ("curl: (6) Could not resolve host: a.org", (Refusal("socket", 2),), Denial(Cause.NETWORK, "a.org", "network a.org", True)),
        ("curl: (6) Could not resolve host: a.org", (), None),
        ("curl: (6) Could not resolve host: a.org", (Refusal("socket", 17), Refusal("mount", 0)), None),
        ("x: Operation not permitted", (Refusal("ptrace", 0),), Denial(Cause.SYSCALL, "ptrace", "running outside the sandbox", True)),
        ("1 test failed", (Refusal("ptrace", 0), Refusal("socket", 10)), None),
        ("ptrace: Operation not permitted", (), None),
        ("keyctl: Function not implemented", (), Denial(Cause.SYSCALL, "keyctl", "running outside the sandbox", False)),
    ],
)  # fmt: skip
def test_the_kernels_word_decides_where_it_is_known(
    line: str, told: tuple[Refusal, ...], expected: Denial | None
) -> None:
    assert judge(line, refused_calls=told) == expected


def test_what_one_command_was_refused_is_not_held_against_the_next(confined: tuple[Session, dict[str, str]]) -> None:
    session, _ = confined
    assert session.run(Request(("sh", "-c", "curl -s http://example.invalid; exit 0"))).denial is None
    assert session.run(Request(("sh", "-c", f"echo '{NO_HOST}' >&2; exit 6"))).denial is None


def test_refused_calls_by_the_thousand_do_no_harm(confined: tuple[Session, dict[str, str]]) -> None:
    many = "import os\nfor _ in range(3000):\n    try: os.chroot('/tmp')\n    except PermissionError: pass\nelse: print('end')"
    outcome = confined[0].run(Request(("python3", "-c", many)))
    assert (outcome.status, outcome.stdout.text(), outcome.denial) == (0, "end\n", None)


def test_a_command_that_waits_for_an_answer_dies_with_the_time_limit(confined: tuple[Session, dict[str, str]]) -> None:
    forever = "import os\nwhile True:\n    try: os.chroot('/tmp')\n    except PermissionError: pass"
    assert confined[0].run(Request(("python3", "-c", forever), timeout_ms=300)).timed_out


@pytest.mark.parametrize(
    ("command", "cause", "target", "permission"),
    [
        ("echo x > /etc/motd", Cause.WRITE, "/etc/motd", "writable root /etc"),
        ("mkdir /opt/new", Cause.WRITE, "/opt/new", "writable root /opt"),
        ("touch ~/.bashrc", Cause.WRITE, "{home}/.bashrc", "writable root {home}"),
        ('python3 -c \'open("/usr/x", "w")\'', Cause.WRITE, "/usr/x", "writable root /usr"),
        ("git add .", Cause.PROTECTED, "{ws}/.git/index.lock", "git.write"),
        ("echo x > .git/config", Cause.PROTECTED, "{ws}/.git/config", "protected path {ws}/.git"),
        ("mkdir .vscode/x", Cause.PROTECTED, "{ws}/.vscode/x", "protected path {ws}/.vscode"),
        ("cat {other}/notes", Cause.READ, "{other}/notes", "readable root {other}/notes"),
        ("python3 -c 'import socket; socket.socket()'", Cause.NETWORK, None, "network access"),
        ("curl -sS http://example.invalid", Cause.NETWORK, "example.invalid", "network example.invalid"),
        ("unshare -U true", Cause.SYSCALL, "unshare", "running outside the sandbox"),
        ("cp /bin/true t && chmod 4755 t", Cause.SYSCALL, "fchmodat", "running outside the sandbox"),
        ("python3 -c 'import os; os.chroot(\"/tmp\")'", Cause.SYSCALL, "chroot", "running outside the sandbox"),
        (
            "python3 -c 'import socket; socket.sethostname(\"x\")'",
            Cause.SYSCALL,
            "sethostname",
            "running outside the sandbox",
        ),
    ],
)
def test_a_real_sandbox_is_explained(
    confined: tuple[Session, dict[str, str]], command: str, cause: Cause, target: str | None, permission: str
) -> None:
    session, places = confined
    outcome = session.run(Request(("sh", "-c", command.replace("{other}", places["other"]))))
    expected = Denial(cause, target and target.format(**places), permission.format(**places), cause in TOLD)
    if cause is Cause.WRITE and not Host().can_write(expected.target or ""):
        assert outcome.denial is None  # an ordinary user could not have done it outside either
    else:
        assert outcome.denial == expected


PROBES = "import socket, sys\ntry: socket.socket(socket.AF_INET6)\nexcept OSError: pass\nsys.exit('1 test failed')"


@pytest.mark.parametrize(
    "command",
    [
        "cat absent", "false", "ls /nowhere", "grep x /etc/hostname; exit 1", "exit 126",
        f"echo '{NO_HOST}' >&2; exit 6",  # quoted from a log: no socket was asked for
        "echo 'unshare: unshare failed: Operation not permitted' >&2; exit 1",
        "echo 'ptrace: Operation not permitted' >&2; exit 1",
        f'python3 -c "{PROBES}"',  # refused a socket, and failed for another reason
    ],
)  # fmt: skip
def test_an_ordinary_failure_in_a_real_sandbox_is_none(confined: tuple[Session, dict[str, str]], command: str) -> None:
    assert confined[0].run(Request(("sh", "-c", command))).denial is None


@pytest.fixture(scope="module")
def confined(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Session, dict[str, str]]]:
    base = tmp_path_factory.mktemp("denial").resolve()
    for name in ("ws", "home", "other"):
        (base / name).mkdir()
    (base / "other" / "notes").write_text("private", encoding="utf-8")
    (base / "ws" / "file").write_text("x", encoding="utf-8")
    subprocess.run(["git", "init", "-q", str(base / "ws")], check=True, timeout=30)
    environ = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(base / "home")}
    with Session(Profile(str(base / "ws")), environ) as session:
        yield session, {name: str(base / name) for name in ("ws", "home", "other")}
