"""Only a regular file is opened, and nothing is waited for."""

import os
import pathlib
from collections.abc import Callable

import pytest

from signoff.files.regular import content, opener, unshared


def link(path: pathlib.Path) -> None:
    path.with_name("secret").write_text("s")
    path.symlink_to("secret")


@pytest.mark.parametrize("make", [link, os.mkfifo, os.mkdir])
def test_what_is_no_regular_file_is_refused_at_once(
    tmp_path: pathlib.Path, make: Callable[[pathlib.Path], None]
) -> None:
    make(tmp_path / "x")
    with pytest.raises(OSError, match=r"regular|symbolic|directory"):
        open(tmp_path / "x", "rb", opener=opener).close()


def test_a_regular_file_is_read(tmp_path: pathlib.Path) -> None:
    (tmp_path / "x").write_bytes(b"text")
    with open(tmp_path / "x", "rb", opener=opener) as file:
        assert file.read() == b"text"


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/stdin", "pipe"])
def test_content_comes_from_files_only(tmp_path: pathlib.Path, path: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="it is not a regular file"):
        content(tmp_path / path, 10)


def test_content_follows_a_link_and_has_a_limit(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 2_048)
    (tmp_path / "link").symlink_to("file")
    assert content(tmp_path / "link", 2_048) == b"x" * 2_048
    with pytest.raises(OSError, match="it is larger than 1 KiB"):
        content(tmp_path / "link", 1_024)


@pytest.mark.parametrize(("mode", "passes"), [(0o600, True), (0o644, True), (0o664, True), (0o646, False)])
def test_what_everybody_can_change_does_not_count(tmp_path: pathlib.Path, mode: int, passes: bool) -> None:
    (tmp_path / "x").touch()
    (tmp_path / "x").chmod(mode)
    if passes:
        assert content(tmp_path / "x", 10, unshared) == b""
        return
    with pytest.raises(PermissionError, match="others can change it"):
        content(tmp_path / "x", 10, unshared)
