import pytest

from signoff.providers import over_loopback
from signoff.providers.over_httpx import OverHttpx


@pytest.fixture(params=["direct", "httpx"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The server is on the loopback, so that one way would never be gone: each test goes both."""
    if request.param == "httpx":
        monkeypatch.setattr(over_loopback, "OverLoopback", OverHttpx)
    return str(request.param)
