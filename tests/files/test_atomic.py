"""Row 33 of the fault matrix: fail, or die, at the first, second, third … operation until none is left to fail."""

import errno
import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from signoff.domain.errors import FileRefused, ToolConflict
from signoff.files import atomic
from signoff.files.lock import locked
from tests.clauses import requirement

OLD, NEW = b"old\n" * 5_000, b"new\n" * 7_000

DYING_WRITER = """
import os, signal, sys
from signoff.files import atomic

target, fatal, moment = sys.argv[1], int(sys.argv[2]), sys.argv[3]
count = 0

def call(function, *args, **kwargs):
    global count
    count += 1
    if count == fatal and moment == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    result = function(*args, **kwargs)
    if count == fatal:
        os.kill(os.getpid(), signal.SIGKILL)
    return result

atomic.write(target, b"new\\n" * 7_000, call=call)
"""


class FailsAt:
    """Lets every operation through but the N-th, which reports an error instead."""

    def __init__(self, fatal: int) -> None:
        self.fatal, self.count = fatal, 0

    def __call__(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        self.count += 1
        if self.count != self.fatal:
            return function(*args, **kwargs)
        raise OSError(errno.EIO, "input/output error")


@requirement("CLU-024")
@pytest.mark.parametrize("existing", [OLD, None], ids=["replacing", "creating"])
def test_a_failing_operation_leaves_old_or_new_content_and_no_temporary_file(
    tmp_path: pathlib.Path, existing: bytes | None
) -> None:
    failed = 0
    for fatal in range(1, 50):
        target = tmp_path / "target"
        target.unlink(missing_ok=True)
        if existing is not None:
            target.write_bytes(existing)
        call = FailsAt(fatal)
        try:
            atomic.write(str(target), NEW, call=call)
        except FileRefused as error:
            failed += 1
            assert "input/output error" in str(error)
        assert (target.read_bytes() if target.exists() else None) in (existing, NEW)
        assert set(os.listdir(tmp_path)) <= {"target"}
        if call.count < fatal:
            break
    assert target.read_bytes() == NEW
    assert failed >= 5


@requirement("CLU-024")
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_writer_killed_at_any_operation_leaves_old_or_new_content_and_the_next_writer_clears_up(
    tmp_path: pathlib.Path, moment: str
) -> None:
    seen = set()
    for fatal in range(1, 50):
        target = tmp_path / "target"
        target.write_bytes(OLD)
        writer = subprocess.run(
            [sys.executable, "-c", DYING_WRITER, str(target), str(fatal), moment], timeout=30, check=False
        )
        assert target.read_bytes() in (OLD, NEW)
        seen.add(target.read_bytes())
        if writer.returncode == 0:
            break
        assert writer.returncode == -signal.SIGKILL
        if fatal % 2:
            atomic.recover(str(tmp_path))
        else:
            atomic.write(str(target), OLD)
        assert os.listdir(tmp_path) == ["target"]
    assert writer.returncode == 0
    assert seen == {OLD, NEW}


def test_recovery_leaves_a_living_writer_alone_and_a_second_writer_waits_for_it(tmp_path: pathlib.Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(OLD)
    swept: list[list[str]] = []

    def call(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        if function is os.rename:
            swept.append(atomic.recover(str(tmp_path)))
        return function(*args, **kwargs)

    atomic.write(str(target), NEW, call=call)
    assert swept == [[]]
    assert target.read_bytes() == NEW


def test_a_writer_whose_temporary_file_was_swept_before_it_could_lock_it_starts_again(tmp_path: pathlib.Path) -> None:
    target = tmp_path / "target"
    opened = 0

    def call(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        nonlocal opened
        result = function(*args, **kwargs)
        if function is os.open:
            opened += 1
            if opened == 1:
                assert atomic.recover(str(tmp_path)) == [".target.signoff-new"]
        return result

    atomic.write(str(target), NEW, call=call)
    assert opened == 2
    assert target.read_bytes() == NEW


def test_two_writers_at_once_take_turns(tmp_path: pathlib.Path) -> None:
    target = tmp_path / "target"
    script = "import sys\nfrom signoff.files import atomic\nfor _ in range(50): atomic.write(sys.argv[1], sys.argv[2].encode() * 9000)"
    writers = [subprocess.Popen([sys.executable, "-c", script, str(target), letter]) for letter in "abc"]
    while any(writer.poll() is None for writer in writers):
        content = target.read_bytes() if target.exists() else b"a" * 9000
        assert len(content) == 9000
        assert len(set(content)) == 1
    assert [writer.wait(30) for writer in writers] == [0, 0, 0]
    assert os.listdir(tmp_path) == ["target"]


def test_permission_bits_are_kept_but_never_the_set_uid_bit(tmp_path: pathlib.Path) -> None:
    target = tmp_path / "run.sh"
    target.write_bytes(OLD)
    target.chmod(0o4751)
    atomic.write(str(target), NEW)
    assert target.stat().st_mode & 0o7777 == 0o751


def test_a_new_file_gets_the_mode_asked_for_less_the_umask(tmp_path: pathlib.Path) -> None:
    before = os.umask(0o027)
    try:
        atomic.write(str(tmp_path / "shared"), NEW)
        atomic.write(str(tmp_path / "private"), NEW, mode=0o600)
    finally:
        os.umask(before)
    assert (tmp_path / "shared").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "private").stat().st_mode & 0o777 == 0o600


def test_a_link_stays_and_the_file_behind_it_is_replaced(tmp_path: pathlib.Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles" / "real").write_bytes(OLD)
    (tmp_path / "link").symlink_to("dotfiles/real")
    atomic.write(str(tmp_path / "link"), NEW)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "dotfiles" / "real").read_bytes() == NEW


@pytest.mark.parametrize("plant", ["link", "pipe", "file"])
def test_something_planted_under_the_temporary_name_does_no_harm(tmp_path: pathlib.Path, plant: str) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"precious")
    (tmp_path / "ws").mkdir()
    planted = tmp_path / "ws" / atomic.temporary_name("target")
    match plant:
        case "link":
            planted.symlink_to(outside)
        case "pipe":
            os.mkfifo(planted)
        case _:
            planted.write_bytes(b"planted")
    atomic.write(str(tmp_path / "ws" / "target"), NEW)
    assert outside.read_bytes() == b"precious"
    assert {path.name: path.read_bytes() for path in (tmp_path / "ws").iterdir()} == {"target": NEW}


def test_the_longest_file_name_can_be_written(tmp_path: pathlib.Path) -> None:
    target = tmp_path / ("ä" * 127)
    atomic.write(str(target), NEW)
    assert target.read_bytes() == NEW


def test_a_missing_directory_is_refused_in_words(tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileRefused, match="No such file or directory"):
        atomic.write(str(tmp_path / "absent" / "file"), NEW)


def test_a_directory_is_not_replaced(tmp_path: pathlib.Path) -> None:
    (tmp_path / "directory").mkdir()
    with pytest.raises(FileRefused, match="not a regular file"):
        atomic.write(str(tmp_path / "directory"), NEW)


def test_a_lock_is_waited_for_only_so_long_and_then_named(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "lock")
    with (
        locked(path),
        pytest.raises(ToolConflict, match=r"held by another process after 0\.02 s"),
        locked(path, wait=0.02),
    ):
        pytest.fail("two holders of one lock")
    with locked(path, wait=0):
        pass


def test_the_lock_of_a_killed_process_is_free(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "lock")
    script = "import sys\nfrom signoff.files.lock import locked\nwith locked(sys.argv[1]):\n  print(1, flush=True)\n  sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", script, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"1\n"
        with pytest.raises(ToolConflict), locked(path, wait=0):
            pass
        holder.kill()
        with locked(path, wait=10):
            pass


def test_a_lock_file_that_is_a_link_is_refused(tmp_path: pathlib.Path) -> None:
    (tmp_path / "lock").symlink_to("elsewhere")
    with pytest.raises(FileRefused, match="cannot open the lock file"), locked(str(tmp_path / "lock")):
        pass
    assert not (tmp_path / "elsewhere").exists()
