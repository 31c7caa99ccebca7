"""Everyday programs work inside: a sandbox that gets in the way is switched off."""

import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest

from signoff.sandbox.outcome import Request
from signoff.sandbox.profile import Limits, Profile
from signoff.sandbox.session import Session

PYTHON = "/usr/bin/python3"
PROGRAM = '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n'
SETUP = {
    "hello.c": PROGRAM,
    "Makefile": "hello: hello.c\n\t$(CC) -o hello hello.c\n",
    "index.js": "console.log('hello')\n",
    "package.json": '{"name": "x", "version": "1.0.0", "scripts": {"hi": "node index.js"}}\n',
    "test_it.py": "def test_it(): assert 1 + 1 == 2\n",
    "Cargo.toml": '[package]\nname = "x"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/main.rs": 'fn main() { println!("hello"); }\n',
    "Hello.java": 'public class Hello { public static void main(String[] a) { System.out.println("hello"); } }\n',
}

# name: program that must be installed, script
EVERYDAY: dict[str, tuple[str, str]] = {
    "git status": ("git", "git status --short | grep hello.c"),
    "git log": ("git", "git log --oneline | grep one"),
    "git diff": ("git", "echo >> index.js; git diff --stat; git diff | grep '^+'"),
    "git grep and blame": ("git", "git grep -q hello && git blame index.js | grep hello"),
    "git init elsewhere": ("git", "mkdir sub && cd sub && git init -q && git -c user.name=t -c user.email=t@t commit --allow-empty -q -m x"),
    "git clone": ("git", "git clone -q . /tmp/copy && test -e /tmp/copy/index.js"),
    "make and gcc": ("gcc", "make && ./hello | grep hello"),
    "g++": ("g++", "printf '#include <iostream>\\nint main(){std::cout<<1;}' > a.cc && g++ -o a a.cc && ./a"),
    "node": ("node", "node index.js"),
    "node workers": ("node", "node -e \"new (require('worker_threads').Worker)('1', {eval: true}).on('exit', c => process.exit(c))\""),
    "node fork": ("node", "node -e \"require('child_process').fork('index.js').on('exit', c => process.exit(c))\""),
    "node os": ("node", "node -e \"const o=require('os'); o.userInfo(); o.cpus(); o.hostname(); o.tmpdir()\""),
    "npm": ("npm", "npm run hi && npm ls && npm pkg get name"),
    "python": ("python3", f"{PYTHON} -c 'import ssl, sqlite3, json, ctypes, getpass; getpass.getuser()'"),
    "unittest": ("python3", f"{PYTHON} -m unittest -q 2>&1 | grep -E 'OK|Ran'"),
    "venv": ("python3", f"{PYTHON} -m venv --without-pip v && v/bin/python -c 'import sys; assert sys.prefix.endswith(\"v\")'"),
    "multiprocessing pool": ("python3", f"{PYTHON} -c 'import multiprocessing as m; assert m.Pool(2).map(abs, [-1, 2]) == [1, 2]'"),
    "forkserver": ("python3", f"{PYTHON} -c 'import multiprocessing as m; c = m.get_context(\"forkserver\"); p = c.Process(target=print); p.start(); p.join(); assert p.exitcode == 0'"),
    "shared memory": ("python3", f"{PYTHON} -c 'from multiprocessing import shared_memory as s; b = s.SharedMemory(create=True, size=9); b.close(); b.unlink()'"),
    "asyncio subprocess": ("python3", f"{PYTHON} -c 'import asyncio; asyncio.run(asyncio.create_subprocess_exec(\"true\"))'"),
    "local socket": ("python3", f"{PYTHON} -c 'import socket as s; a = s.socket(s.AF_UNIX); a.bind(\"/tmp/s\"); a.listen(); b = s.socket(s.AF_UNIX); b.connect(\"/tmp/s\")'"),
    "pseudo terminal": ("python3", f"{PYTHON} -c 'import pty; raise SystemExit(pty.spawn([\"tty\"]))'"),
    "script": ("script", "script -qec 'test -t 0 && echo tty' /dev/null | grep tty"),
    "threads": ("python3", f"{PYTHON} -c 'import threading as t; x = [t.Thread(target=lambda: None) for _ in range(100)]; [y.start() for y in x]; [y.join() for y in x]'"),
    "cargo": ("cargo", "cargo build --offline -q && ./target/debug/x"),
    "java": ("javac", "javac Hello.java && java Hello"),
    "sqlite": ("sqlite3", "sqlite3 db 'pragma journal_mode=wal; create table t(x); insert into t values(1); select * from t' | grep 1"),
    "tar": ("tar", "tar czf a.tgz index.js && mkdir x && tar xzf a.tgz -C x && cmp index.js x/index.js"),
    "tar with other owners": ("tar", "tar --owner=1234 --group=1234 -cf o.tar index.js && mkdir o && tar xf o.tar -C o"),
    "copies and links": ("cp", "cp -a index.js c && ln c h && ln -s c s && mv c d && chmod 755 d && touch -d 2020-01-01 d"),
    "rsync": ("rsync", "mkdir r && rsync -a index.js hello.c r/ && ls r"),
    "zip": ("unzip", f"{PYTHON} -m zipfile -c z.zip index.js && unzip -o -q z.zip -d z"),
    "redirections": ("bash", "bash -c 'echo x > /dev/stdout; echo y > /dev/stderr; cat <(echo z); cat <<< w; echo v | tee /dev/null >/dev/fd/1'"),
    "here documents": ("bash", "bash -c \"cat <<E\n$(head -c 70000 /dev/zero | tr '\\0' x)\nE\" | wc -c | grep 70001"),
    "process list": ("ps", "ps aux && pgrep -f sh"),
    "machine": ("lscpu", "lscpu && nproc && free && df . && uname -a && hostname && id && whoami"),
    "temporary files": ("mktemp", "mktemp && mktemp -d && test -w $TMPDIR"),
    "find and xargs": ("find", "find . -name '*.js' -print0 | xargs -0 -P 4 -n 1 wc -l"),
    "many processes": ("seq", "for i in $(seq 300); do /bin/true; done"),
    "awk and sed": ("awk", "seq 9 | awk '{s+=$1} END {print s}' | sed s/45/ok/ | grep ok"),
    "perl": ("perl", "perl -MCwd -e 'print getcwd'"),
    "openssl": ("openssl", "openssl rand -hex 4 && openssl version"),
    "timeout and nice": ("timeout", "timeout 5 nice -n 5 true && setsid true && nohup true"),
    "core limit": ("bash", "bash -ec 'ulimit -c 0; ulimit -n 100; ulimit -n'"),
    "file watching": ("python3", f"{PYTHON} -c 'import ctypes; assert ctypes.CDLL(None).inotify_init1(0) >= 0'"),
}  # fmt: skip


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    workspace = tmp_path_factory.mktemp("everyday")
    for name, text in SETUP.items():
        (workspace / name).parent.mkdir(exist_ok=True)
        (workspace / name).write_text(text)
    for words in (
        ["init", "-q"],
        ["add", "index.js"],
        ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "one"],
    ):
        subprocess.run(["git", *words], cwd=workspace, check=True)
    environ = {**os.environ, "VIRTUAL_ENV": sys.prefix}
    with Session(Profile(workspace=str(workspace), limits=Limits(timeout_ms=60_000)), environ) as opened:
        yield opened


@pytest.mark.parametrize("name", EVERYDAY)
def test_it_works_inside(session: Session, name: str) -> None:
    program, script = EVERYDAY[name]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    outcome = session.run(Request(("sh", "-c", script)))
    assert outcome.exit_code == 0, outcome.stderr.text()


def test_pytest_runs_inside_from_a_virtual_environment(session: Session) -> None:
    outcome = session.run(Request((sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py")))
    assert outcome.exit_code == 0, outcome.stdout.text() + outcome.stderr.text()


def test_what_is_made_belongs_to_whoever_runs_us(session: Session, tmp_path_factory: pytest.TempPathFactory) -> None:
    outcome = session.run(Request(("sh", "-c", "touch mine && mkdir dir && pwd")))
    made = pathlib.Path(outcome.stdout.text().strip())
    assert {(path.stat().st_uid, path.stat().st_gid) for path in (made / "mine", made / "dir")} == {
        (os.geteuid(), os.getegid())
    }
