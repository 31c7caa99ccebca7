"""What talking to a model loads, and what it does not."""

import subprocess
import sys

import pytest

SHOW = "import sys; print(*sorted({name.partition('.')[0] for name in sys.modules}))"


@pytest.mark.parametrize(
    ("modules", "absent"),
    [
        ("signoff.cli.wiring_model", {"httpx", "h11", "asyncio", "ssl"}),
        ("signoff.providers.scripted, signoff.providers.echo", {"httpx", "h11", "anyio"}),
        ("signoff.providers.remote, signoff.providers.openai_chat, signoff.providers.over_loopback", {"httpx", "anyio", "email"}),
        ("signoff.providers.over_httpx", {"rich", "click", "pygments"}),
    ],
)  # fmt: skip
def test_what_is_not_used_is_not_loaded(modules: str, absent: set[str]) -> None:
    shown = subprocess.run(
        [sys.executable, "-c", f"import {modules}\n{SHOW}"], capture_output=True, text=True, check=True, timeout=60
    )
    assert absent & set(shown.stdout.split()) == set()


def test_httpx_is_whole_apart_from_its_program() -> None:
    code = (
        "from signoff.providers.light_httpx import httpx; import httpx._main; httpx.Client().close(); print(httpx.main)"
    )
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60)
