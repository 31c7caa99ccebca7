"""How paths are spelled, and where they really lead, however long or deep they are."""

import pathlib

import pytest

from signoff.domain.errors import InvalidArguments
from signoff.files.ground import spelled
from signoff.files.links import real


def test_a_path_longer_than_the_system_takes_is_refused() -> None:
    with pytest.raises(InvalidArguments, match="longer than any"):
        spelled("d/" * 2_100 + "x", "/w")
    assert spelled("d/" * 2_000 + "x", "/w") == "/w/" + "d/" * 2_000 + "x"


def test_a_path_that_is_not_there_leads_where_its_beginning_does(tmp_path: pathlib.Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    deep = "d/" * 1_500 + "x"
    assert real(str(tmp_path / "link" / deep)) == str(tmp_path / "there" / deep)
    assert real(str(tmp_path / "link")) == str(tmp_path / "there")


def test_a_link_to_what_is_not_there_is_followed(tmp_path: pathlib.Path) -> None:
    (tmp_path / "dangling").symlink_to(tmp_path / "gone")
    assert real(str(tmp_path / "dangling")) == str(tmp_path / "gone")
