"""What is installed is what was built: the package works without its repository, by pip and by uv."""

import json
import os
import pathlib
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from collections.abc import Callable

import pytest

from signoff import __version__

ROOT = pathlib.Path(__file__).parents[1]
BIN = pathlib.Path(sys.executable).parent
SITE = sysconfig.get_path("purelib")
OFFLINE = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation"]


def call(*words: str | pathlib.Path, cwd: pathlib.Path | None = None) -> str:
    environ = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONWARNINGS": "ignore"}
    return subprocess.run(
        list(map(str, words)), check=True, stdout=subprocess.PIPE, text=True, cwd=cwd, env=environ, timeout=300
    ).stdout


def commit() -> str | None:
    git = subprocess.run(
        ["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True, check=False, timeout=60
    )
    return git.stdout.strip() if git.returncode == 0 else None


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("dist")
    call(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=ROOT)
    (built,) = folder.glob("*.whl")
    return built


def fresh(folder: pathlib.Path) -> pathlib.Path:
    """A virtual environment that sees the requirements of this one, and nothing of the repository."""
    call(sys.executable, "-m", "venv", "--without-pip", folder)
    site = call(folder / "bin/python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    (pathlib.Path(site) / "requirements.pth").write_text(SITE + "\n", encoding="utf-8")
    return folder


def pip(environment: pathlib.Path, *words: str | pathlib.Path) -> None:
    call(
        sys.executable,
        "-m",
        "pip",
        "--python",
        environment / "bin/python",
        "install",
        *OFFLINE,
        *words,
        cwd=environment,
    )


def uv(environment: pathlib.Path, *words: str | pathlib.Path) -> None:
    call(BIN / "uv", "pip", "install", "--python", environment / "bin/python", *OFFLINE, *words, cwd=environment)


def assert_works(environment: pathlib.Path, built_from: str | None, home: pathlib.Path) -> None:
    program = environment / "bin/signoff"
    facts = json.loads(call(program, "version", "--json", cwd=home))
    assert (facts["name"], facts["version"], facts["commit"]) == ("signoff", __version__, built_from)
    assert "signoff config" in call(program, "config", "--help", cwd=home)
    assert call(program, "config", "get", "sandbox.mode", cwd=home) == "workspace-write\n"
    assert json.loads(call(program, "doctor", "--json", cwd=home))["checks"]
    place = call(environment / "bin/python", "-c", "import signoff; print(signoff.__file__)", cwd=home)
    assert place.startswith(str(environment))


@pytest.mark.parametrize("install", [pip, uv], ids=["pip", "uv"])
def test_the_wheel_works_where_there_is_no_repository(
    install: Callable[[pathlib.Path, pathlib.Path], None],
    wheel: pathlib.Path,
    tmp_path: pathlib.Path,
    home: pathlib.Path,
) -> None:
    environment = fresh(tmp_path / "venv")
    install(environment, wheel)
    assert_works(environment, commit(), home)


def test_pip_install_from_the_repository_works(tmp_path: pathlib.Path, home: pathlib.Path) -> None:
    environment = fresh(tmp_path / "venv")
    pip(environment, ROOT)
    assert_works(environment, commit(), home)


def test_a_source_archive_builds_the_same_program_without_a_commit(tmp_path: pathlib.Path) -> None:
    call(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path, cwd=ROOT)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        files.extractall(tmp_path / "unpacked", filter="data")
    (source,) = (tmp_path / "unpacked").iterdir()
    call(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "dist", cwd=source)
    (built,) = (tmp_path / "dist").glob("*.whl")
    assert "signoff/cli/main.py" in zipfile.ZipFile(built).namelist()


def test_the_wheel_holds_the_package_and_nothing_else(wheel: pathlib.Path) -> None:
    with zipfile.ZipFile(wheel) as files:
        names = set(files.namelist())
        metadata = files.read(f"signoff-{__version__}.dist-info/METADATA").decode()
    assert {name.split("/")[0] for name in names} == {"signoff", f"signoff-{__version__}.dist-info"}
    sources = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src/signoff").rglob("*.py")}
    assert sources <= names
    assert {"signoff/py.typed", f"signoff-{__version__}.dist-info/licenses/LICENSE"} <= names
    assert ("signoff/COMMIT" in names) is (commit() is not None)
    assert "Requires-Python: >=3.11" in metadata
    assert "License-Expression: Apache-2.0" in metadata


def test_no_file_names_a_registry() -> None:
    """Where packages come from is the business of whoever installs."""
    files = [ROOT / "pyproject.toml", ROOT / "Makefile", ROOT / ".ci/run", *(ROOT / "requirements").iterdir()]
    words = ("index-url", "pypi.org", "files.pythonhosted", "file:///")
    found = [(file.name, word) for file in files for word in words if word in file.read_text(encoding="utf-8")]
    assert [pair for pair in found if pair != ("Makefile", "index-url")] == []


def test_what_runs_needs_only_what_is_locked_for_running() -> None:
    """Every requirement of the package is in both locks, with hashes."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        wanted = {line.split(">")[0] for line in tomllib.load(file)["project"]["dependencies"]}
    for lock in ("run.txt", "dev.txt"):
        text = (ROOT / "requirements" / lock).read_text(encoding="utf-8")
        pinned = {line.split("==")[0]: line for line in text.splitlines() if "==" in line and not line.startswith(" ")}
        assert wanted <= set(pinned), lock
        assert text.count("--hash=sha256:") >= len(pinned)
