"""What is listed as a run, and what a strange line becomes."""

import io
import os
import pathlib

from signoff.ledger import reading
from signoff.ledger.reading import Damaged


def test_only_files_are_runs(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.jsonl").touch()
    os.mkfifo(tmp_path / "b.jsonl")  # whoever opened it would wait for ever
    (tmp_path / "c.jsonl").symlink_to("/dev/zero")
    (tmp_path / "d.jsonl").mkdir()
    assert reading.names(tmp_path) == ["a"]


def test_a_line_that_is_not_utf8_is_damaged_like_any_other() -> None:
    assert list(reading.read(io.BytesIO(b'{"hash":"\xff"}\n'))) == [Damaged(1, '{"hash":"�"}')]
