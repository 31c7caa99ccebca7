import pathlib

import pytest


@pytest.fixture
def space(tmp_path: pathlib.Path) -> pathlib.Path:
    directory = tmp_path / "space"
    directory.mkdir()
    return directory
