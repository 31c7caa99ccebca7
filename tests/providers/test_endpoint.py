"""Where keys and addresses come from, and who may see them."""

import pathlib

import pytest

from signoff.domain.errors import ConfigError, ConfigUnreadable, NoModel
from signoff.domain.settings import ModelSettings
from signoff.providers.endpoint import Endpoint, endpoint
from signoff.providers.vendors import VENDORS

KEY = "sk-test-0123456789abcdef"


def key_file(folder: pathlib.Path, text: str, mode: int = 0o600) -> str:
    path = folder / "keys"
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return str(path)


@pytest.mark.parametrize(
    ("provider", "environ", "expected"),
    [
        ("openai", {"OPENAI_API_KEY": KEY}, Endpoint("https://api.openai.com/v1", KEY, "OPENAI_API_KEY")),
        ("openai", {"OPENAI_BASE_URL": "http://localhost:1/v1/"}, Endpoint("http://localhost:1/v1")),
        ("anthropic", {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": "http://gate"}, Endpoint("http://gate", KEY, "ANTHROPIC_API_KEY")),
        ("anthropic", {"ANTHROPIC_AUTH_TOKEN": KEY}, Endpoint("https://api.anthropic.com", KEY, "ANTHROPIC_AUTH_TOKEN", bearer=True)),
        ("openrouter", {"OPENROUTER_API_KEY": KEY}, Endpoint("https://openrouter.ai/api/v1", KEY, "OPENROUTER_API_KEY")),
        ("gemini", {"GOOGLE_API_KEY": KEY}, Endpoint(VENDORS["gemini"].url, KEY, "GOOGLE_API_KEY")),
        ("ollama", {}, Endpoint("http://127.0.0.1:11434/v1")),
        ("ollama", {"OLLAMA_HOST": "0.0.0.0"}, Endpoint("http://127.0.0.1:11434/v1")),
        ("ollama", {"OLLAMA_HOST": "box:99"}, Endpoint("http://box:99/v1")),
        ("ollama", {"OLLAMA_HOST": "https://box/ollama/"}, Endpoint("https://box:443/ollama/v1")),
        ("ollama", {"OLLAMA_BASE_URL": "http://box:1/v1"}, Endpoint("http://box:1/v1")),
        ("vllm", {"VLLM_BASE_URL": "http://box:8000/v1", "VLLM_API_KEY": KEY}, Endpoint("http://box:8000/v1", KEY, "VLLM_API_KEY")),
        ("lmstudio", {"OPENAI_API_KEY": KEY}, Endpoint("http://127.0.0.1:1234/v1")),
    ],
)  # fmt: skip
def test_the_vendors_usual_variables_are_read(provider: str, environ: dict[str, str], expected: Endpoint) -> None:
    assert endpoint(VENDORS[provider], ModelSettings(), environ) == expected


def test_without_a_key_the_variable_to_set_is_named() -> None:
    with pytest.raises(NoModel, match="no key for anthropic") as caught:
        endpoint(VENDORS["anthropic"], ModelSettings(), {"OPENAI_API_KEY": KEY})
    assert "ANTHROPIC_API_KEY" in str(caught.value.hint)


def test_a_configured_key_goes_to_its_own_provider_only() -> None:
    settings = ModelSettings(provider="openai", key=KEY, base_url="http://mine/v1")
    assert endpoint(VENDORS["openai"], settings, {}) == Endpoint("http://mine/v1", KEY, "model.key")
    assert endpoint(VENDORS["ollama"], settings, {}) == Endpoint("http://127.0.0.1:11434/v1")
    with pytest.raises(NoModel):
        endpoint(VENDORS["anthropic"], settings, {})
    with pytest.raises(ConfigError, match=r"model.key is set, but not whose"):
        endpoint(VENDORS["openai"], ModelSettings(key=KEY), {})


def test_a_key_file_holds_variables_of_all_vendors_or_one_bare_key(tmp_path: pathlib.Path) -> None:
    path = key_file(tmp_path, f"# mine\nexport OPENAI_API_KEY='{KEY}'\nVLLM_BASE_URL = http://box/v1\n")
    settings = ModelSettings(key_file=path)
    assert endpoint(VENDORS["openai"], settings, {}) == Endpoint("https://api.openai.com/v1", KEY, path)
    assert endpoint(VENDORS["vllm"], settings, {}).url == "http://box/v1"
    assert endpoint(VENDORS["openai"], settings, {"OPENAI_API_KEY": "other"}).key == "other"
    bare = key_file(tmp_path, f"{KEY}\n")
    assert endpoint(VENDORS["groq"], ModelSettings(provider="groq", key_file=bare), {}).key == KEY
    assert endpoint(VENDORS["vllm"], ModelSettings(provider="groq", key_file=bare), {}).key == ""
    with pytest.raises(ConfigError, match=r"keys:1: this is a bare key: set model.provider") as caught:
        endpoint(VENDORS["groq"], ModelSettings(key_file=bare), {})
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_a_key_file_that_others_can_read_is_refused(tmp_path: pathlib.Path, mode: int) -> None:
    path = key_file(tmp_path, f"OPENAI_API_KEY={KEY}", mode)
    with pytest.raises(ConfigError, match="can be read by others") as caught:
        endpoint(VENDORS["openai"], ModelSettings(key_file=path), {})
    assert caught.value.hint == f"chmod 600 {path}"


def test_a_key_file_that_is_none_is_said_so(tmp_path: pathlib.Path) -> None:
    for path in (tmp_path / "nowhere", tmp_path, pathlib.Path("/dev/null")):
        with pytest.raises(ConfigUnreadable):
            endpoint(VENDORS["openai"], ModelSettings(key_file=str(path)), {})


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "ümlaut", "nul\0"])
def test_what_cannot_stand_in_a_header_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(ConfigError, match="OPENAI_API_KEY holds characters") as caught:
        endpoint(VENDORS["openai"], ModelSettings(), {"OPENAI_API_KEY": key})
    assert key not in str(caught.value)


def test_an_endpoint_that_is_printed_shows_no_key() -> None:
    place = Endpoint("https://user:word@host:1/v1", KEY)
    assert repr(place) == "Endpoint(host:1, key present)"
    assert (place.host, place.is_local, Endpoint("http://[::1]:5/v1").is_local) == ("host:1", False, True)
