"""Where things live, as a table of environments."""

from pathlib import Path

import pytest

from signoff.config import locations
from signoff.domain.errors import ConfigError

HOME = {"HOME": "/home/ada"}


def test_everything_lives_under_the_home_directory_by_default() -> None:
    assert {
        "config": locations.user_config(HOME),
        "rules": locations.user_rules(HOME),
        "project rules": locations.project_rules(HOME, "demo-1"),
        "state": locations.state(HOME),
        "runs": locations.runs(HOME),
        "sessions": locations.sessions(HOME),
        "undo": locations.undo(HOME),
        "diagnostics": locations.diagnostics(HOME),
        "memory": locations.memory_database(HOME),
        "cache": locations.cache(HOME),
    } == {
        "config": Path("/home/ada/.config/signoff"),
        "rules": Path("/home/ada/.config/signoff/rules"),
        "project rules": Path("/home/ada/.config/signoff/projects/demo-1/rules"),
        "state": Path("/home/ada/.local/state/signoff"),
        "runs": Path("/home/ada/.local/state/signoff/runs"),
        "sessions": Path("/home/ada/.local/state/signoff/sessions"),
        "undo": Path("/home/ada/.local/state/signoff/undo"),
        "diagnostics": Path("/home/ada/.local/state/signoff/diagnostics"),
        "memory": Path("/home/ada/.local/share/signoff/memory.db"),
        "cache": Path("/home/ada/.cache/signoff"),
    }


@pytest.mark.parametrize(
    ("environ", "config", "rules"),
    [
        ({"XDG_CONFIG_HOME": "/x"}, "/x/signoff", "/x/signoff/rules"),
        ({"XDG_CONFIG_HOME": "x"}, "/home/ada/.config/signoff", "/home/ada/.config/signoff/rules"),
        ({"SIGNOFF_HOME": "/s"}, "/s", "/s/rules"),
        ({"SIGNOFF_HOME": ""}, "/home/ada/.config/signoff", "/home/ada/.config/signoff/rules"),
        ({"CODEX_HOME": "/c"}, "/home/ada/.config/signoff", "/c/rules"),
        ({"CODEX_HOME": "/c", "SIGNOFF_HOME": "/s"}, "/s", "/s/rules"),
    ],
)
def test_signoff_home_moves_the_configuration_and_codex_home_only_the_rules(
    environ: dict[str, str], config: str, rules: str
) -> None:
    assert locations.user_config(HOME | environ) == Path(config)
    assert locations.user_rules(HOME | environ) == Path(rules)
    assert locations.state(HOME | environ) == Path("/home/ada/.local/state/signoff")


def test_no_home_directory_is_needed_where_every_place_is_named() -> None:
    assert locations.state({"XDG_STATE_HOME": "/s"}) == Path("/s/signoff")


@pytest.mark.parametrize("environ", [{}, {"HOME": "ada"}, HOME | {"SIGNOFF_HOME": "here"}])
def test_a_place_that_would_move_with_the_working_directory_is_refused(environ: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        locations.user_config(environ)


def test_what_is_private_covers_everything_the_user_wrote_and_everything_recorded() -> None:
    masked = locations.private(HOME | {"CODEX_HOME": "/c"})
    for place in (
        locations.runs(HOME),
        locations.undo(HOME),
        locations.memory_database(HOME),
        Path("/c/rules/default.rules"),
    ):
        assert any(place.is_relative_to(root) for root in masked), place
