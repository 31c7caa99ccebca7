"""Trust is per path and per content, and nothing else."""

from pathlib import Path

import pytest

from signoff.config import locations, trust
from signoff.domain.errors import ConfigError


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "app"
    (root / ".signoff" / "rules").mkdir(parents=True)
    (root / ".signoff" / "config.toml").write_text('approval = "untrusted"\n', encoding="utf-8")
    (root / ".signoff" / "rules" / "a.rules").write_text("# none\n", encoding="utf-8")
    (root / ".signoff" / "notes.txt").write_text("does not count\n", encoding="utf-8")
    return root


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home")}


def test_only_files_that_count_are_part_of_the_digest(project: Path) -> None:
    before = trust.digest(trust.contents(project))
    assert sorted(trust.contents(project)) == ["config.toml", "rules/a.rules"]
    (project / ".signoff" / "notes.txt").write_text("changed\n", encoding="utf-8")
    assert trust.digest(trust.contents(project)) == before


@pytest.mark.parametrize("change", ["config.toml", "policy.toml", "rules/a.rules", "rules/b.rules"])
def test_a_change_of_any_of_them_ends_the_trust(project: Path, environ: dict[str, str], change: str) -> None:
    trust.trust(environ, project, trust.contents(project))
    assert trust.is_trusted(environ, project, trust.contents(project))
    with (project / ".signoff" / change).open("a", encoding="utf-8") as file:
        file.write("# one more line\n")
    assert not trust.is_trusted(environ, project, trust.contents(project))


def test_the_same_content_elsewhere_is_not_trusted(project: Path, environ: dict[str, str], tmp_path: Path) -> None:
    trust.trust(environ, project, trust.contents(project))
    assert not trust.is_trusted(environ, tmp_path / "other", trust.contents(project))


def test_content_cannot_be_moved_between_names(project: Path) -> None:
    assert trust.digest({"a": b"bc"}) != trust.digest({"ab": b"c"})
    assert trust.digest({"a": b"x", "b": b""}) != trust.digest({"a": b"", "b": b"x"})


def test_trust_can_be_taken_back(project: Path, environ: dict[str, str]) -> None:
    trust.trust(environ, project, trust.contents(project))
    assert (trust.distrust(environ, project), trust.distrust(environ, project)) == (True, False)
    assert not trust.is_trusted(environ, project, trust.contents(project))


def test_nobody_else_can_read_the_store(project: Path, environ: dict[str, str]) -> None:
    trust.trust(environ, project, trust.contents(project))
    store = locations.trust_store(environ)
    assert (store.stat().st_mode & 0o777, store.parent.stat().st_mode & 0o777) == (0o600, 0o700)


@pytest.mark.parametrize("damage", [b"{", b"[]", b'{"projects": {"/x": 1}}', b"\xff", b'{"everything": true}'])
def test_a_damaged_store_is_an_error_and_never_a_yes(project: Path, environ: dict[str, str], damage: bytes) -> None:
    store = locations.trust_store(environ)
    store.parent.mkdir(parents=True)
    store.write_bytes(damage)
    with pytest.raises(ConfigError, match="damaged"):
        trust.is_trusted(environ, project, trust.contents(project))


def test_trust_that_cannot_be_kept_is_an_error(project: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ConfigError, match="cannot be kept"):
        trust.trust({"HOME": "/nowhere", "XDG_STATE_HOME": str(tmp_path / "file")}, project, trust.contents(project))
