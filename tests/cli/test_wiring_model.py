"""Which model a command gets, and from where."""

import asyncio
import os
import pathlib

import pytest

from signoff.cli.wiring_model import model_name, provider_for
from signoff.config.layers import Configuration, load
from signoff.domain.errors import NoModel, UsageError
from signoff.providers.provider import Message, ModelEvent, ModelRequest, Provider, Text, Usage
from signoff.providers.script import Turn
from tests.cli.program import signoff
from tests.fakes.model_server import ModelServer, played


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


KEY = "sk-test-0123456789abcdef"


def test_a_key_on_the_command_line_is_refused(home: pathlib.Path) -> None:
    ended = signoff("-c", "model.provider=openai", "-c", f"model.key={KEY}", "models", "openai")
    assert (ended.status, KEY in ended.err) == (2, False)


def test_a_key_in_a_file_that_others_can_read_is_refused(home: pathlib.Path) -> None:
    path = home / ".config" / "signoff" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(f'[model]\nprovider = "openai"\nkey = "{KEY}"\n', encoding="utf-8")
    path.chmod(0o644)
    ended = signoff("models", "openai")
    assert (ended.status, ended.err.splitlines()[1], KEY in ended.err) == (3, f"  chmod 600 {path}", False)
    path.chmod(0o600)
    with ModelServer(played([Turn()])) as server:
        assert signoff("models", "openai", SIGNOFF_MODEL_BASE_URL=server.openai).status == 0
        assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("name", "path"),
    [("openai", "/v1/chat/completions"), ("openai-responses", "/v1/responses"), ("anthropic", "/v1/messages")],
)
def test_a_provider_made_from_variables_talks_prices_and_records(
    home: pathlib.Path, tmp_path: pathlib.Path, name: str, path: str
) -> None:
    async def answer(provider: Provider) -> list[ModelEvent]:
        try:
            request = ModelRequest("small", (Message("user", (Text("hi"),)),))
            return [event async for event in provider.stream(request)]
        finally:
            await provider.aclose()

    flags = {"model.input_price": "1000000", "model.output_price": "0"}
    with ModelServer(played([Turn(text="well")])) as server:
        environ = {
            "OPENAI_BASE_URL": server.openai,
            "ANTHROPIC_BASE_URL": server.url,
            "SIGNOFF_RECORD": f"{tmp_path}/r",
        }
        provider = provider_for(f"{name}/small", load({**os.environ, **environ}, home, flags), environ)
        events = asyncio.run(answer(provider))
    assert [event.cost_usd for event in events if isinstance(event, Usage)] == [10.0]
    assert (server.asked[0].path, provider.name) == (path, name)
    assert '"text":"well"' in (tmp_path / "r").read_text(encoding="utf-8")


def test_a_key_file_that_the_agent_could_read_is_refused(home: pathlib.Path) -> None:
    project, kept = home / "project", home / ".config" / "signoff" / "keys"
    project.mkdir()
    kept.parent.mkdir(parents=True)
    for path in (project / "keys", kept):
        path.write_text(f"OPENAI_API_KEY={KEY}\n", encoding="utf-8")
        path.chmod(0o600)
    with ModelServer(played([Turn(text="well")])) as server:
        words = ("run", "-m", "openai/small", "hi")
        for place in (str(project / "keys"), "keys"):
            ended = signoff(*words, cwd=project, SIGNOFF_MODEL_KEY_FILE=place, OPENAI_BASE_URL=server.openai)
            assert (ended.status, "where the agent can read it" in ended.err) == (3, True), ended.err
        ended = signoff(*words, cwd=project, SIGNOFF_MODEL_KEY_FILE=str(kept), OPENAI_BASE_URL=server.openai)
    assert (ended.status, ended.out) == (0, "well\n")
    assert [asked.headers["authorization"] for asked in server.asked] == [f"Bearer {KEY}"]
