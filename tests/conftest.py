"""What every test may use: a private home, and golden files."""

import os
import pathlib
import signal
from collections.abc import Callable

import hypothesis
import pytest
from hypothesis.internal.conjecture import providers

for name, same in (("steady", True), ("explore", False)):
    hypothesis.settings.register_profile(
        name,
        derandomize=same,
        deadline=None,  # how long anything takes on a busy machine says nothing
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
hypothesis.settings.load_profile("steady")  # --hypothesis-profile=explore looks at new examples

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # started in the background: what we start must still hear Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)

GOLDEN = pathlib.Path(__file__).parent / "golden"
SHARED_CASES = pathlib.Path(__file__).parents[2] / "shared" / "cases"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write golden files instead of comparing")


def pytest_configure(config: pytest.Config) -> None:
    """The steady examples are the same in every run and for a test alone, whatever else was loaded before it."""
    if config.getoption("--hypothesis-profile") != "explore":
        providers._get_local_constants = providers.Constants


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """To write golden files, only the tests that have one need to run."""
    if config.getoption("--update-golden"):
        items[:] = [item for item in items if "golden" in getattr(item, "fixturenames", ())]


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str | bytes], None]:
    """golden("room/name.json", produced): equal to the file under tests/golden, or rewritten by `make golden`."""

    def compare(name: str, produced: str | bytes) -> None:
        data = produced.encode() if isinstance(produced, str) else produced
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        assert path.exists(), f"no golden file {name}; run `make golden` and read the diff"
        assert data.decode() == path.read_bytes().decode()

    return compare


@pytest.fixture
def home(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A HOME of its own, so that no test sees or touches the developer's configuration."""
    directory = tmp_path / "home"
    directory.mkdir()
    ours, vendors = ("SIGNOFF_", "XDG_", "CODEX_"), ("_API_KEY", "_BASE_URL", "_AUTH_TOKEN", "OLLAMA_HOST")
    for name in [name for name in os.environ if name.startswith(ours) or name.endswith(vendors)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(directory))
    return directory


@pytest.fixture(scope="session")
def cases() -> pathlib.Path:
    """The measuring data that lies beside the repository; not part of it."""
    if not SHARED_CASES.is_dir():
        pytest.skip("the case files beside the repository are not here")
    return SHARED_CASES
