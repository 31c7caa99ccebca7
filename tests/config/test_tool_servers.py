"""Which tool servers count: the files, the trust they need, and what is said about those that do not."""

import json
from pathlib import Path
from typing import Any

import pytest

from signoff.config import trust
from signoff.config.known_tools import KnownTools
from signoff.config.tool_servers import Configured, configured, expanded
from signoff.domain.errors import ConfigError, ConfigUnreadable
from signoff.domain.tool_server import LocalServer, RemoteServer


class House:
    def __init__(self, root: Path) -> None:
        self.environ = {"HOME": str(root / "home"), "WHO": "me"}
        self.user = root / "home" / ".config" / "signoff" / "mcp.json"
        self.system = root / "etc"
        self.project = root / "app"
        self.project.mkdir()

    def write(self, path: Path, **servers: Any) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"mcpServers": servers, "other": 1}), encoding="utf-8")

    def found(self) -> Configured:
        return configured(self.environ, self.project, system=self.system)


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def test_without_files_there_are_none(house: House) -> None:
    assert house.found() == Configured()


def test_a_list_that_everybody_can_change_is_refused(house: House) -> None:
    house.write(house.user, one={"command": "x"})
    house.user.chmod(0o666)
    with pytest.raises(ConfigUnreadable, match="others can change it"):
        house.found()


def test_programs_and_addresses_are_read_with_their_variables(house: House) -> None:
    house.write(
        house.user,
        one={"command": "run-${WHO}", "args": ["${PLACE:-here}"], "env": {"A": "${WHO}"}, "autoApprove": ["all"]},
        two={"type": "http", "url": "https://example.org/mcp", "headers": {"Authorization": "Bearer ${WHO}"}},
        off={"command": "x", "disabled": True},
    )

    assert house.found().servers == (
        LocalServer("one", "run-me", ("here",), {"A": "me"}),
        RemoteServer("two", "https://example.org/mcp", {"Authorization": "Bearer me"}),
    )


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({}, "needs a `command` or a `url`"),
        ({"command": "x", "url": "https://x"}, "and not both"),
        ({"url": "ftp://x"}, "must begin with https://"),
        ({"type": "sse", "url": "https://x"}, "stdio and http are understood"),
        ({"command": ["x"]}, "Expected `str"),
        ({"command": "${NOWHERE}"}, "NOWHERE is not set"),
        ("x", "Expected `object`"),
    ],
)
def test_one_that_makes_no_sense_is_warned_about_and_the_others_count(house: House, entry: Any, said: str) -> None:
    house.write(house.user, bad=entry, good={"command": "x"})

    found = house.found()

    assert found.servers == (LocalServer("good", "x"),)
    assert len(found.warnings) == 1
    assert said in found.warnings[0] and "'bad' does not count" in found.warnings[0]


def test_a_file_that_is_no_json_is_an_error(house: House) -> None:
    house.write(house.user)
    house.user.write_text("{", encoding="utf-8")

    with pytest.raises(ConfigError, match=r"mcp\.json"):
        house.found()


def test_a_projects_file_counts_only_in_a_trusted_project(house: House) -> None:
    house.write(house.project / ".mcp.json", own={"command": "x"})

    untrusted = house.found()
    trust.trust(house.environ, house.project, trust.contents(house.project))
    trusted = house.found()
    house.write(house.project / ".mcp.json", own={"command": "y"})
    changed = house.found()

    assert (untrusted.servers, trusted.servers, changed.servers) == ((), (LocalServer("own", "x"),), ())
    assert ["signoff config trust" in each.warnings[0] for each in (untrusted, changed)] == [True, True]


def test_a_project_cannot_take_the_name_of_a_server_of_the_user(house: House) -> None:
    house.write(house.user, github={"command": "mine"})
    house.write(house.system / "mcp.json", github={"command": "everybody's"}, more={"command": "m"})
    house.write(house.project / ".mcp.json", github={"command": "theirs"})
    trust.trust(house.environ, house.project, trust.contents(house.project))

    found = house.found()

    assert found.servers == (LocalServer("github", "mine"), LocalServer("more", "m"))
    assert len(found.warnings) == 2


def test_a_placeholder_of_the_sandbox_is_no_file(house: House) -> None:
    (house.project / ".mcp.json").mkdir()

    assert house.found() == Configured()


def test_a_variable_keeps_nothing_but_its_value() -> None:
    assert expanded("a${X}b${Y:-}c$Z", {"X": "${Y}"}) == "a${Y}bc$Z"


def test_what_was_let_through_is_known_by_project_and_look(tmp_path: Path) -> None:
    file = tmp_path / "state" / "known.json"
    KnownTools(file, "/a").keep("t", "1")

    assert KnownTools(file, "/a").changed("t", "1") is False
    assert KnownTools(file, "/a").changed("t", "2") is True
    assert KnownTools(file, "/a").changed("other", "2") is False
    assert KnownTools(file, "/b").changed("t", "2") is False
    assert file.stat().st_mode & 0o777 == 0o600


def test_where_the_file_is_damaged_everything_is_asked_about(tmp_path: Path) -> None:
    file = tmp_path / "known.json"
    file.write_text("{", encoding="utf-8")
    known = KnownTools(file, "/a")

    assert known.changed("t", "1") is True
    known.keep("t", "1")
    assert KnownTools(file, "/a").changed("t", "1") is False
