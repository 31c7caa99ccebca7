"""signoff models, as a person and as a script sees it."""

import json
import pathlib
from collections.abc import Callable

import pytest

from signoff.providers.script import Turn
from tests.cli.program import signoff
from tests.fakes.model_server import ModelServer, Reply, in_turn, played

KEY = "sk-proj-thisisthesecretkeyofthetest0123456789"
NOWHERE = {f"{name}_BASE_URL": "http://127.0.0.1:9/v1" for name in ("OLLAMA", "VLLM", "LMSTUDIO")}


def test_each_provider_is_listed_with_its_models_or_with_what_is_wrong(
    home: pathlib.Path, golden: Callable[[str, str], None]
) -> None:
    with ModelServer(played([Turn()])) as server:
        variables = {**NOWHERE, "OPENAI_BASE_URL": server.openai, "OPENAI_API_KEY": KEY}
        ended = signoff("models", "--json", **variables)
        told = json.loads(ended.out)
        text = signoff("models", **variables)
    assert (ended.status, text.status) == (0, 0)
    by_name = {provider["name"]: provider for provider in told["providers"]}
    assert by_name["openai"] == {
        "name": "openai",
        "title": "OpenAI (Chat Completions), and any server that speaks the same",
        "status": "ok",
        "host": server.url.removeprefix("http://"),
        "key": "OPENAI_API_KEY",
        "models": ["large", "small"],
        "error": None,
    }
    states = {name: (provider["status"], (provider["error"] or {}).get("code")) for name, provider in by_name.items()}
    golden("cli/models.states.json", json.dumps(states, indent=2) + "\n")
    assert "openai/large\n" in text.out
    assert "no key: set ANTHROPIC_API_KEY\n" in text.out
    assert "ollama at 127.0.0.1:9 cannot be reached: connection refused\n" in text.out
    assert "No default is set" in text.err
    assert KEY not in ended.out + ended.err + text.out + text.err


def test_a_provider_that_is_asked_for_by_name_gives_its_error(home: pathlib.Path) -> None:
    ended = signoff("models", "ollama", **NOWHERE)
    assert (ended.status, ended.out) == (4, "")
    assert ended.err.splitlines()[1] == "  Is the server running?"
    ended = signoff("models", "anthropic")
    assert (ended.status, ended.out) == (3, "")
    assert "ANTHROPIC_API_KEY" in ended.err
    assert signoff("models", "nobody").status == 2
    assert "Did you mean openai?" in signoff("models", "opena").err


def test_a_server_that_does_not_answer_is_not_waited_for(home: pathlib.Path) -> None:
    with ModelServer(in_turn(Reply(then="stall"))) as server:
        ended = signoff("models", "ollama", "--timeout", "0.3", OLLAMA_HOST=server.url.removeprefix("http://"))
    assert (ended.status, "did not answer within 0.3 s" in ended.err) == (4, True)


@pytest.mark.parametrize("address", ["ftp://x", "http://", "nonsense", "http://[::1", "http://a/?key=1"])
def test_an_address_that_is_none_is_a_mistake_in_the_configuration(home: pathlib.Path, address: str) -> None:
    ended = signoff("models", "openai", OPENAI_BASE_URL=address, OPENAI_API_KEY=KEY)
    assert (ended.status, ended.err) == (3, "signoff: the base URL of openai is no http address\n")
