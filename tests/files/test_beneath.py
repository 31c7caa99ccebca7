"""File access that cannot leave a directory, attacked while it runs."""

import contextlib
import os
import pathlib
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from signoff.domain.errors import FileRefused, NotEnforceable, NotFound
from signoff.files import beneath
from tests.clauses import requirement

SECRET = b"outside the root"


@pytest.fixture
def outside(tmp_path: pathlib.Path) -> pathlib.Path:
    directory = tmp_path / "outside"
    directory.mkdir()
    (directory / "file").write_bytes(SECRET)
    return directory


@pytest.fixture
def workspace(tmp_path: pathlib.Path) -> pathlib.Path:
    directory = tmp_path / "ws"
    (directory / "sub").mkdir(parents=True)
    (directory / "sub" / "file").write_bytes(b"inside")
    return directory


@pytest.fixture
def root(workspace: pathlib.Path) -> Iterator[beneath.Root]:
    with beneath.Root(str(workspace)) as opened:
        yield opened


@requirement("CLU-022")
def test_relative_paths_resolve_below_the_root_whatever_the_current_directory_is(
    root: beneath.Root, workspace: pathlib.Path, outside: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(outside)
    assert beneath.read(root, "sub/file") == b"inside"
    assert beneath.read(root, "sub/../sub/./file", offset=2, limit=3) == b"sid"
    beneath.write(root, "new", b"x")
    assert (workspace / "new").read_bytes() == b"x"


ESCAPES = ["../outside/file", "sub/../../outside/file", "link/file", "absolute", "magic/file", "sub/up/outside/file"]


@requirement("CLU-023")
@pytest.mark.parametrize("path", ESCAPES)
@pytest.mark.parametrize(
    "operation",
    [
        beneath.read,
        lambda root, path: beneath.write(root, path, b"pwned"),
        beneath.status,
        lambda root, path: beneath.make_directory(root, path + "/made"),
        lambda root, path: beneath.rename(root, "sub/file", path + "/moved"),
        lambda root, path: beneath.entries(root, path.removesuffix("/file")),
    ],
    ids=["read", "write", "status", "make_directory", "rename", "entries"],
)
def test_dots_and_links_that_lead_outside_are_refused(
    root: beneath.Root,
    workspace: pathlib.Path,
    outside: pathlib.Path,
    path: str,
    operation: Callable[[beneath.Root, str], object],
) -> None:
    (workspace / "link").symlink_to("../outside")
    (workspace / "absolute").symlink_to(outside / "file")
    (workspace / "magic").symlink_to("/proc/self/cwd")
    (workspace / "sub" / "up").symlink_to("../..")
    with pytest.raises(FileRefused, match=r"leads outside|may not be followed"):
        operation(root, path)
    assert {entry.name: entry.read_bytes() for entry in outside.iterdir()} == {"file": SECRET}


@pytest.mark.parametrize("path", ["/etc/passwd", "a\0b", "a\ud800b"])
def test_a_path_that_is_not_relative_is_refused(root: beneath.Root, path: str) -> None:
    for operation in (beneath.read, beneath.status, beneath.remove, lambda r, p: beneath.write(r, p, b"")):
        with pytest.raises(FileRefused):
            operation(root, path)


@pytest.mark.parametrize("path", ["", ".", "..", "sub/..", "/"])
def test_the_root_itself_is_never_replaced_moved_or_removed(root: beneath.Root, path: str) -> None:
    with pytest.raises(FileRefused):
        beneath.remove(root, path)
    with pytest.raises(FileRefused):
        beneath.write(root, path, b"")
    with pytest.raises(FileRefused):
        beneath.rename(root, path, "elsewhere")


def test_a_link_inside_is_followed_and_stays_a_link(root: beneath.Root, workspace: pathlib.Path) -> None:
    (workspace / "CLAUDE.md").symlink_to("sub/../sub/file")
    (workspace / "chain").symlink_to("CLAUDE.md")
    (workspace / "sub" / "file").chmod(0o640)
    beneath.write(root, "chain", b"new")
    assert (workspace / "chain").is_symlink()
    assert (workspace / "CLAUDE.md").is_symlink()
    assert (workspace / "sub" / "file").read_bytes() == b"new"
    assert (workspace / "sub" / "file").stat().st_mode & 0o777 == 0o640


def test_a_link_to_nothing_is_not_written_through(root: beneath.Root, workspace: pathlib.Path) -> None:
    (workspace / "dangling").symlink_to("nowhere")
    with pytest.raises(NotFound):
        beneath.write(root, "dangling", b"x")
    assert not (workspace / "nowhere").exists()


def test_a_hard_linked_file_is_read_but_not_written(
    root: beneath.Root, workspace: pathlib.Path, outside: pathlib.Path
) -> None:
    os.link(outside / "file", workspace / "twin")
    assert beneath.read(root, "twin") == SECRET
    with pytest.raises(FileRefused, match="2 hard links"):
        beneath.write(root, "twin", b"x")
    assert (outside / "file").read_bytes() == SECRET


def test_special_files_are_refused_without_waiting_for_their_other_end(
    root: beneath.Root, workspace: pathlib.Path
) -> None:
    os.mkfifo(workspace / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(workspace / "socket"))
        for name, reason in [("pipe", "a pipe"), ("socket", "not a regular file"), ("sub", "a directory")]:
            with pytest.raises(FileRefused, match=reason):
                beneath.read(root, name)
            with pytest.raises(FileRefused, match="not a regular file"):
                beneath.write(root, name, b"x")


def test_names_are_listed_made_moved_and_removed(root: beneath.Root, workspace: pathlib.Path) -> None:
    beneath.make_directory(root, "a/b/c")
    beneath.make_directory(root, "a/b/c")
    beneath.write(root, "a/b/c/d", b"1")
    beneath.rename(root, "a/b/c/d", "a/e")
    beneath.remove(root, "a/b/c")
    assert [name for name, _ in beneath.entries(root, "a")] == ["b", "e"]
    assert [name for name, _ in beneath.entries(root)] == ["a", "sub"]
    with pytest.raises(FileRefused, match="not empty"):
        beneath.remove(root, "sub")
    beneath.remove(root, "a/e")
    with pytest.raises(NotFound):
        beneath.remove(root, "a/e")
    with pytest.raises(FileRefused, match="directory"):
        beneath.make_directory(root, "sub/file")
    assert beneath.status(root, "sub/file").st_size == 6


def test_a_missing_file_and_a_missing_root_are_told_apart_from_a_refusal(root: beneath.Root) -> None:
    with pytest.raises(NotFound, match="No such file"):
        beneath.read(root, "sub/absent")
    with pytest.raises(NotFound, match="No such file"):
        beneath.write(root, "absent/file", b"")
    with pytest.raises(NotFound):
        beneath.Root("/nonexistent")


def test_a_kernel_without_openat2_is_refused_in_words(workspace: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beneath, "_OPENAT2", 1_000_000)  # a call number no kernel knows
    with pytest.raises(NotEnforceable, match="does not offer openat2"):
        beneath.Root(str(workspace))


@requirement("CLU-023")
def test_links_swapped_while_the_tools_run_never_lead_outside(
    root: beneath.Root, workspace: pathlib.Path, outside: pathlib.Path
) -> None:
    """The directory `door` is exchanged with a link to the outside all the time. A plain open falls for it."""
    (workspace / "door").mkdir()
    (workspace / "door" / "file").write_bytes(b"inside")
    (workspace / "trap").symlink_to(outside)
    (workspace / "alias").symlink_to("door/file")
    with _exchanging(workspace / "door", workspace / "trap"):
        fooled = any((workspace / "door" / "file").read_bytes() == SECRET for _ in range(100_000))
        outcomes: Counter[str] = Counter()
        for turn in range(50_000):
            outcomes[_attempt(root, turn)] += 1
            if turn >= 1_500 and min(outcomes["worked"], outcomes["refused"]) > 100:
                break
    assert fooled
    assert set(outcomes) == {"worked", "refused"}
    assert {entry.name: entry.read_bytes() for entry in outside.iterdir()} == {"file": SECRET}


def _attempt(root: beneath.Root, turn: int) -> str:
    operations: list[Callable[[], object]] = [
        lambda: beneath.read(root, "door/file"),
        lambda: beneath.write(root, "door/file", b"inside"),
        lambda: beneath.write(root, "alias", b"inside"),
        lambda: beneath.write(root, "door/new", b"inside"),
        lambda: beneath.make_directory(root, "door/made"),
        lambda: beneath.rename(root, "door/new", "door/moved"),
        lambda: beneath.remove(root, "door/moved"),
    ]
    try:
        return "leaked" if operations[turn % len(operations)]() == SECRET else "worked"
    except (FileRefused, NotFound):
        return "refused"


EXCHANGE = """
import ctypes, os, sys
libc, one, other = ctypes.CDLL(None), *map(os.fsencode, sys.argv[1:])
print("started", flush=True)
while os.getppid() == int(os.environ["PARENT"]):
    for _ in range(1000):
        libc.renameat2(-100, one, -100, other, 2)
"""


@contextlib.contextmanager
def _exchanging(one: pathlib.Path, other: pathlib.Path) -> Iterator[None]:
    """Another process exchanges two names as fast as the kernel can until left."""
    command = [sys.executable, "-c", EXCHANGE, str(one), str(other)]
    environ = {**os.environ, "PARENT": str(os.getpid())}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, env=environ) as swapper:
        try:
            assert swapper.stdout is not None
            assert swapper.stdout.readline() == b"started\n"
            yield
        finally:
            swapper.kill()
