"""Which model a command gets, and from where."""

import asyncio
import os
import pathlib

import pytest

from signoff.cli.wiring_model import model_name, provider_for
from signoff.config.layers import Configuration, load
from signoff.domain.errors import NoModel, UsageError


@pytest.fixture
def loaded(home: pathlib.Path) -> Configuration:
    return load(os.environ, home, {})


def test_the_shipped_models_are_named_like_any_other(loaded: Configuration, tmp_path: pathlib.Path) -> None:
    (tmp_path / "s.json").write_text('{"text": "hello"}', encoding="utf-8")
    for spec in ("echo/echo", f"scripted/{tmp_path}/s.json", f"replay/{tmp_path}/s.json"):
        provider = provider_for(spec, loaded, {})
        assert provider.name == spec.partition("/")[0]
        assert len(asyncio.run(provider.models())) == 1
        asyncio.run(provider.aclose())


def test_the_option_wins_over_the_variable_and_the_variable_over_nothing(
    loaded: Configuration, home: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NoModel):
        model_name(None, loaded)
    monkeypatch.setenv("SIGNOFF_MODEL", "echo/echo")
    configured = load(os.environ, home, {})
    assert str(model_name(None, configured)) == "echo/echo"
    assert str(model_name("scripted/x", configured)) == "scripted/x"


def test_a_provider_nobody_knows_is_a_mistake_in_the_arguments(loaded: Configuration) -> None:
    with pytest.raises(UsageError, match="no provider 'nobody'"):
        provider_for("nobody/model", loaded, {})
