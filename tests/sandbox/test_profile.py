"""Profiles from settings, and what an outcome says of itself."""

import pathlib

import pytest

from signoff.domain.errors import UsageError
from signoff.domain.settings import SandboxMode, SandboxSettings
from signoff.sandbox.outcome import Backend, Outcome, Output, Request, Strength
from signoff.sandbox.profile import resolve


def outcome(exit_code: int | None = 0, signal: int | None = None, *, timed_out: bool = False) -> Outcome:
    return Outcome(exit_code, signal, timed_out, Output(), Output(), Backend.NAMESPACES, 1.0)


def test_roots_are_followed_to_where_they_really_are(tmp_path: pathlib.Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    profile = resolve(SandboxSettings(writable_roots=("link",)), str(tmp_path))
    assert profile.writable_roots == (str(tmp_path), str(tmp_path / "real"))


@pytest.mark.parametrize("mode", [SandboxMode.READ_ONLY, SandboxMode.DANGER_FULL_ACCESS])
def test_only_workspace_write_has_writable_roots(tmp_path: pathlib.Path, mode: SandboxMode) -> None:
    profile = resolve(SandboxSettings(mode=mode), str(tmp_path))
    assert profile.writable_roots == ()
    assert profile.confined == (mode is SandboxMode.READ_ONLY)


def test_a_missing_root_is_named(tmp_path: pathlib.Path) -> None:
    with pytest.raises(UsageError, match=r"writable root .*nowhere.* No such file"):
        resolve(SandboxSettings(writable_roots=("nowhere",)), str(tmp_path))


@pytest.mark.parametrize(
    ("result", "status"),
    [(outcome(3), 3), (outcome(None, 9), 137), (outcome(None, 15, timed_out=True), 124)],
)
def test_the_status_is_what_a_shell_would_say(result: Outcome, status: int) -> None:
    assert result.status == status
    assert result.strength is Strength.FULL


def test_what_was_cut_is_noted_before_the_tail() -> None:
    cut = Output(b"tail", omitted=7)
    assert (cut.truncated, cut.text()) == (True, "[7 bytes omitted]\ntail")
    assert Request(("true",)).cwd is None
