"""Which project a directory belongs to."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.config.project import find_project, project_id


@pytest.mark.parametrize(
    ("marks", "start", "root"),
    [
        ([], "a/b", "a/b"),
        (["a/.git"], "a/b", "a"),
        (["a/.git", "a/b/.signoff"], "a/b/c", "a/b"),
        (["a/.git"], "a", "a"),
        ([".git"], "a/b", "a/b"),  # the home directory is not around everything in it
        ([".git"], ".", "."),
    ],
)
def test_the_nearest_mark_upwards_is_the_project(tmp_path: Path, marks: list[str], start: str, root: str) -> None:
    for name in [*marks, start]:
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
    assert find_project({"HOME": str(tmp_path)}, tmp_path / start) == tmp_path / root


def test_a_project_has_a_readable_name_that_no_other_path_has() -> None:
    paths = [Path("/data/app"), Path("/data-app"), Path("/Data/App"), Path("/data/app/"), Path("/")]
    names = [project_id(path) for path in paths]
    assert names[0].startswith("data-app-")
    assert names[4].startswith("root-")
    assert names[0] == names[3]
    assert len(set(names)) == 4


@given(st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), min_size=1, max_size=300))
def test_the_name_of_a_project_is_always_a_safe_file_name(path: str) -> None:
    name = project_id(Path("/" + path))
    assert 0 < len(name) <= 64
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
