"""Changing one setting leaves the rest of the file as it is."""

from pathlib import Path

import pytest

from signoff.config import edit
from signoff.config.layers import Layer
from signoff.domain.errors import ConfigError
from signoff.domain.settings import ApprovalPolicy, SandboxMode

COMMENTED = """\
# how I like it
approval = "untrusted"   # ask me everything

[sandbox]   # the walls
# mode = "read-only"
network = "off"

[memory]
limit = 3
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "signoff" / "config.toml"


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_that_is_not_there_is_made_for_its_owner_alone(path: Path) -> None:
    edit.set_value(path, "sandbox.mode", SandboxMode.READ_ONLY, Layer.USER)
    assert path.read_text(encoding="utf-8") == '[sandbox]\nmode = "read-only"\n'
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_comments_and_order_stay(path: Path) -> None:
    written(path, COMMENTED)
    edit.set_value(path, "approval", ApprovalPolicy.NEVER, Layer.USER)
    edit.set_value(path, "sandbox.network", "on", Layer.USER)
    assert path.read_text(encoding="utf-8") == COMMENTED.replace('"untrusted" ', '"never" ').replace('"off"', '"on"')


def test_a_new_top_level_setting_does_not_fall_into_the_last_group(path: Path) -> None:
    written(path, "[sandbox]\nmode = 'read-only'\n")
    edit.set_value(path, "approval", ApprovalPolicy.NEVER, Layer.USER)
    edit.set_value(path, "memory.limit", 4, Layer.USER)
    assert path.read_text(encoding="utf-8").startswith('approval = "never"\n')


@pytest.mark.parametrize(
    ("text", "key", "left"),
    [
        (COMMENTED, "memory.limit", COMMENTED.replace("limit = 3\n", "")),
        ("sandbox.mode = 'read-only'\nother.key = 1\n", "other.key", "sandbox.mode = 'read-only'\n"),
        ("[sandbox]\nmod = 1\n", "sandbox.mod", "[sandbox]\n"),
    ],
)
def test_unset_takes_out_one_line_even_of_a_key_nobody_knows(path: Path, text: str, key: str, left: str) -> None:
    written(path, text)
    assert edit.unset_value(path, key)
    assert path.read_text(encoding="utf-8") == left
    assert not edit.unset_value(path, key)


@pytest.mark.parametrize(
    "text", ["sandbox = 3\n", "[sandbox]\nmod = 1\n", "approval = [\n", "[[sandbox]]\nmode = 'x'\n"]
)
def test_a_file_that_would_not_load_is_left_untouched(path: Path, text: str) -> None:
    written(path, text)
    with pytest.raises(ConfigError):
        edit.set_value(path, "sandbox.mode", SandboxMode.READ_ONLY, Layer.USER)
    assert path.read_text(encoding="utf-8") == text
    assert [entry.name for entry in path.parent.iterdir() if not entry.name.endswith(".lock")] == ["config.toml"]


def test_a_place_that_cannot_be_written_is_a_configuration_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ConfigError, match="cannot write"):
        edit.set_value(tmp_path / "file" / "config.toml", "approval", ApprovalPolicy.NEVER, Layer.USER)
