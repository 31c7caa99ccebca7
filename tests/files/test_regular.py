"""Only a regular file is opened, and nothing is waited for."""

import os
import pathlib
from collections.abc import Callable

import pytest

from signoff.files.regular import opener


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
