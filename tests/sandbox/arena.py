"""A place to attack from: a workspace, a world outside it, a victim process, listeners, and a way to run commands through
the real program as root and as an ordinary user. Everything is judged from out here."""

import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator

import msgspec
import pytest

NOBODY = 65534
SOURCE = pathlib.Path(__file__).parents[2]
CANARY = "CANARY-7d1c"
SECRET_ENVIRONMENT = {
    "FAKE_API_TOKEN": CANARY,
    "AWS_SECRET_ACCESS_KEY": CANARY,
    "LD_PRELOAD": "",
    "BASH_ENV": "/nonexistent/rc",
    "PYTHONSTARTUP": "/nonexistent/start.py",
    "SSH_AUTH_SOCK": "/nonexistent/agent",
    "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent/bus",
    "DISPLAY": ":0",
}
VICTIM = """
import os, signal, sys, time
def note(number, frame): open(sys.argv[1], "a").write(f"{number}\\n")
for number in (1, 2, 10, 12, 15): signal.signal(number, note)
print("ready", flush=True)
while os.getppid() == int(sys.argv[2]): time.sleep(0.2)
"""


class Arm(msgspec.Struct, frozen=True):
    """Who runs signoff, and with which interpreter."""

    name: str
    user: int
    python: str

    def popen(self, words: list[str], **options: object) -> "subprocess.Popen[bytes]":
        if self.user != os.geteuid():
            options |= {"user": self.user, "group": self.user, "extra_groups": []}
        return subprocess.Popen(words, **options)  # type: ignore[call-overload, no-any-return]


class Ran(msgspec.Struct, frozen=True):
    status: int
    stdout: str
    stderr: str


def arms() -> list[Arm]:
    """Root and nobody when we are root, else only ourselves."""
    mine = Arm("root" if os.geteuid() == 0 else "user", os.geteuid(), sys.executable)
    if os.geteuid() != 0:
        return [mine]
    return [mine, Arm("nobody", NOBODY, "/usr/bin/python3")]


def usable(arm: Arm) -> Arm:
    """Another user may not reach our interpreter; the system's will do if it can load the same packages."""
    if arm.user == os.geteuid():
        return arm
    probe = "import sys, msgspec, click; sys.exit(sys.version_info[:2] != tuple(map(int, sys.argv[1].split('.'))))"
    version = ".".join(map(str, sys.version_info[:2]))
    for python in filter(os.path.exists, (arm.python, sys.executable)):
        words = ["/usr/bin/env", python, "-c", probe, version]
        if arm.popen(words, env=environment("/"), stderr=subprocess.DEVNULL).wait(60) == 0:
            return msgspec.structs.replace(arm, python=python)
    pytest.skip(f"no interpreter that uid {arm.user} can use with our packages")


def environment(home: str) -> dict[str, str]:
    packages = [path for path in sys.path if path.endswith("site-packages")]
    path = "/usr/local/bin:/usr/bin:/bin" if os.geteuid() == 0 else os.environ["PATH"]
    return {
        "HOME": home,
        "PATH": path,
        "LANG": "C.UTF-8",
        "PYTHONPATH": ":".join([str(SOURCE / "src"), str(SOURCE), *packages]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


class Arena:
    def __init__(self, arm: Arm, base: pathlib.Path) -> None:
        self.arm = arm
        self.base = base
        self.workspace = base / "ws"
        self.out = base / "out"
        self.home = base / "home"
        self.contacts: list[str] = []
        self.facts: dict[str, str] = {}

    def run(self, *command: str, options: tuple[str, ...] = (), stdin: bytes | None = None, wait: float = 300) -> Ran:
        """Through the command line."""
        words = [
            self.arm.python,
            "-c",
            "from signoff.cli.main import main; main()",
            "sandbox",
            *options,
            "--",
            *command,
        ]
        environ = environment(str(self.home)) | SECRET_ENVIRONMENT
        leak = os.open(self.out / "secret.key", os.O_RDWR)
        process = self.arm.popen(
            words,
            cwd=self.workspace,
            env=environ,
            stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[leak],
        )
        os.close(leak)
        try:
            out, err = process.communicate(stdin, timeout=wait)
        except BaseException:
            process.kill()
            process.wait()
            raise
        return Ran(process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))

    def with_facts(self, language: str, code: str) -> list[str]:
        """A probe's command line: variables do not pass the environment filter, so they are set inside."""
        program = ["/usr/bin/python3", "-c"] if language == "py" else ["sh", "-c"]
        return ["env", *(f"{name}={value}" for name, value in self.facts.items()), *program, code]

    def photograph(self) -> dict[str, object]:
        """Everything outside that a command could have changed."""
        return {
            "out": tree(self.out),
            "home": {name: value for name, value in tree(self.home).items() if not name.startswith(".local")},
            "git": tree(self.workspace / ".git"),
            "protected": sorted(path.name for path in self.workspace.iterdir() if path.name in PROTECTED),
            "signals": (self.base / "signals").read_text() if (self.base / "signals").exists() else "",
            "contacts": list(self.contacts),
        }


PROTECTED = (".git", ".codex", ".vscode", ".claude", ".mcp.json", ".bashrc", ".signoff", ".agents", ".idea", ".gemini")


def tree(root: pathlib.Path) -> dict[str, tuple[int, int, int, str]]:
    found: dict[str, tuple[int, int, int, str]] = {}
    if not root.exists():
        return found
    for path in [root, *sorted(root.rglob("*"))]:
        status = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
        when = status.st_mtime_ns if not stat.S_ISDIR(status.st_mode) else 0
        found[str(path.relative_to(root))] = (status.st_mode, status.st_uid, when, hashlib.sha256(content).hexdigest())
    return found


@contextlib.contextmanager
def arena(arm: Arm) -> Iterator[Arena]:
    base = pathlib.Path(tempfile.mkdtemp(prefix="arena-", dir="/tmp"))
    place = Arena(arm, base)
    try:
        with contextlib.ExitStack() as stack:
            _furnish(place)
            _listeners(place, stack)
            _victim(place, stack)
            yield place
    finally:
        shutil.rmtree(base, ignore_errors=True)


def _furnish(place: Arena) -> None:
    for directory in (place.workspace, place.out, place.home, place.home / ".ssh"):
        directory.mkdir()
    (place.out / "victim.txt").write_text("precious\n")
    (place.out / "secret.key").write_text(f"{CANARY}\n")
    (place.home / ".ssh" / "id_ed25519").write_text(f"{CANARY}\n")
    (place.home / ".netrc").write_text(f"{CANARY}\n")
    (place.workspace / ".env").write_text(f"TOKEN={CANARY}\n")
    (place.workspace / ".env.example").write_text("TOKEN=\n")
    (place.workspace / "file.txt").write_text("text\n")
    git = [
        "git",
        "-c",
        "init.defaultBranch=main",
        "-c",
        "safe.directory=*",
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@t",
    ]
    for words in (["init", "-q"], ["add", "file.txt"], ["commit", "-q", "-m", "one"]):
        subprocess.run(
            [*git, *words], cwd=place.workspace, check=True, env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
        )
    place.base.chmod(0o755)
    for path in [place.base, *place.base.rglob("*")]:
        os.lchown(path, place.arm.user, place.arm.user)
    place.facts |= {"OUT": str(place.out), "HOMEDIR": str(place.home), "CANARY": CANARY}


def _listeners(place: Arena, stack: contextlib.ExitStack) -> None:
    abstract = f"\0arena-{os.getpid()}-{time.monotonic_ns()}"
    sockets = {
        "TCPPORT": (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
        "UDPPORT": (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
        "USOCK": (socket.AF_UNIX, socket.SOCK_STREAM, str(place.out / "service.sock")),
        "ABS": (socket.AF_UNIX, socket.SOCK_STREAM, abstract),
    }
    for name, (family, kind, address) in sockets.items():
        sock = stack.enter_context(socket.socket(family, kind))
        sock.bind(address)  # type: ignore[arg-type]
        if kind == socket.SOCK_STREAM:
            sock.listen()
        if family == socket.AF_UNIX and name == "USOCK":
            os.chmod(str(address), 0o666)
        place.facts[name] = str(sock.getsockname()[1]) if family == socket.AF_INET else str(address).lstrip("\0")
        threading.Thread(target=_answer, args=(place, name, sock), daemon=True).start()


def _answer(place: Arena, name: str, sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while True:
            if sock.type == socket.SOCK_STREAM:
                sock.accept()[0].close()
            else:
                _, peer = sock.recvfrom(100)
                sock.sendto(b"hello", peer)
            place.contacts.append(name)


def _victim(place: Arena, stack: contextlib.ExitStack) -> None:
    words = ["/usr/bin/python3", "-c", VICTIM, str(place.base / "signals"), str(os.getpid())]
    environ = {"FAKE_API_TOKEN": CANARY, "PATH": "/usr/bin:/bin"}
    process = place.arm.popen(words, env=environ, stdout=subprocess.PIPE, cwd="/")
    assert process.stdout is not None
    process.stdout.readline()
    stack.callback(process.stdout.close)
    stack.callback(process.wait)
    stack.callback(process.kill)
    place.facts["VICTIM"] = str(process.pid)


def through_a_session(place: Arena, commands: list[list[str]], **profile: object) -> list[dict[str, object]]:
    """Run commands one after the other in one warm session of the arm's user."""
    task = json.dumps({"workspace": str(place.workspace), "commands": commands, "profile": profile})
    words = [place.arm.python, "-m", "tests.sandbox.warm"]
    environ = environment(str(place.home)) | SECRET_ENVIRONMENT
    process = place.arm.popen(
        words, cwd="/", env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        out, err = process.communicate(task.encode(), timeout=900)
    except BaseException:
        process.kill()
        process.wait()
        raise
    assert process.returncode == 0, err.decode()
    return [json.loads(line) for line in out.splitlines()]
