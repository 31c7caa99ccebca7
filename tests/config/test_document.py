"""A configuration file that cannot be read says why, and where."""

import os
from pathlib import Path

import pytest

from signoff.config import document
from signoff.domain.errors import ConfigError, ConfigUnreadable

FILE = Path("/etc/signoff/config.toml")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"approval = \n", f"{FILE}:1: Invalid value"),
        (b"# fine\n\n[sandbox\n", f"{FILE}:3: Expected ']' at the end of a table declaration"),
        (b'a = "x"\nb = """\nnever closed', f"{FILE}:3: Unterminated string"),
        (b"a = 1\na = 2\n", f"{FILE}:2: Cannot overwrite a value"),
        (b"a = 1\nb = '\xff'\n", f"{FILE}:2: not UTF-8 text"),
    ],
)
def test_text_that_is_not_toml_is_refused_with_its_line(content: bytes, complaint: str) -> None:
    with pytest.raises(ConfigError) as refused:
        document.parse(FILE, content)
    assert refused.value.message == complaint


@pytest.mark.parametrize(
    ("key", "line"),
    [
        (("a",), 2),
        (("group",), 8),
        (("group", "x"), 9),
        (("group", "list"), 10),
        (("group", "dotted"), 14),
        (("z",), None),
    ],
)
def test_the_line_of_a_key_is_found_among_comments_and_long_values(key: tuple[str, ...], line: int | None) -> None:
    text = "# top\na = 1\n\nb = '''\n[group]\nx = 1\n'''\n[group]\nx = 2\nlist = [\n  1,\n  2,\n]\ndotted.k = 1\n"
    assert document.parse(FILE, text.encode()).line_of(*key) == line


def test_no_file_is_no_document(tmp_path: Path) -> None:
    assert document.read(tmp_path / "config.toml") is None
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert document.read(tmp_path / "file" / "config.toml") is None


def test_what_is_no_regular_file_is_refused_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "."):
        with pytest.raises(ConfigUnreadable, match="not a regular file"):
            document.read(tmp_path / name)


def test_an_enormous_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"#" * (document.LARGEST_BYTES + 1))
    with pytest.raises(ConfigUnreadable, match="larger than 1024 KiB"):
        document.read(path)
    path.write_bytes(b"#" * document.LARGEST_BYTES)
    assert document.read(path) is not None


def test_a_loop_of_links_is_unreadable_and_not_absent(tmp_path: Path) -> None:
    (tmp_path / "config.toml").symlink_to(tmp_path / "config.toml")
    with pytest.raises(ConfigUnreadable, match="symbolic links"):
        document.read(tmp_path / "config.toml")
