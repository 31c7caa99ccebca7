"""What a release promises: the same bytes from the same commit, and a program that works on every Python it names.

An interpreter that is not here, or whose requirements cannot be fetched, is skipped with the reason.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator

import pytest

from signoff import __version__

ROOT = pathlib.Path(__file__).parents[1]
UV = pathlib.Path(sys.executable).with_name("uv")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
VERSIONS = [name.rsplit(" ", 1)[1] for name in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", name)]
NOBODY = 65534


def call(*words: str | pathlib.Path, cwd: pathlib.Path, user: int | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(map(str, words)), cwd=cwd, user=user, group=user, extra_groups=None if user is None else [],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600, check=False,
    )  # fmt: skip


def built(source: pathlib.Path, target: pathlib.Path) -> bytes:
    ended = call(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", target, cwd=source)
    assert ended.returncode == 0, ended.stdout
    (wheel,) = target.glob("*.whl")
    return wheel.read_bytes()


def test_a_wheel_has_the_same_bytes_wherever_and_whenever_it_is_built(tmp_path: pathlib.Path) -> None:
    copy = tmp_path / "elsewhere"
    shutil.copytree(
        ROOT,
        copy,
        copy_function=shutil.copyfile,
        ignore=shutil.ignore_patterns(".venv", "__pycache__", ".*_cache", ".hypothesis"),
    )  # copyfile: another date, other modes
    assert built(ROOT, tmp_path / "one") == built(copy, tmp_path / "two")


def test_the_version_is_written_once_and_the_changelog_begins_with_it() -> None:
    assert PROJECT["dynamic"] == ["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## (\S+)", changelog, re.MULTILINE).group(1) in ("Unreleased", __version__)  # type: ignore[union-attr]
    files = [*ROOT.glob("*.toml"), *ROOT.glob("*.py"), *(ROOT / "src").rglob("*.py")]
    named = [str(file.relative_to(ROOT)) for file in files if f'"{__version__}"' in file.read_text(encoding="utf-8")]
    assert named == ["src/signoff/__init__.py"]


def test_the_versions_of_python_that_are_named_are_those_that_are_demanded() -> None:
    assert PROJECT["requires-python"] == f">={VERSIONS[0]}"
    assert VERSIONS == ["3.11", "3.12", "3.13"]


def interpreter(version: str) -> str | None:
    """One of this version that starts: on the path, or where pyenv keeps them."""
    home = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
    kept = sorted(map(str, home.glob(f"versions/{version}.*/bin/python")))
    candidates = [f"/usr/bin/python{version}", sys.executable, *kept, shutil.which(f"python{version}")]
    asking = "import sys, venv; print('.'.join(map(str, sys.version_info[:2])))"
    for one in candidates:
        if one and os.path.exists(one) and call(one, "-c", asking, cwd=ROOT).stdout.strip() == version:
            return one
    return None


@pytest.fixture(scope="module")
def place() -> Iterator[pathlib.Path]:
    """A directory that others can enter too, with the wheel in it. Each worker of a test run has its own."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="release-", dir="/tmp"))
    folder.chmod(0o755)
    built(ROOT, folder)
    (folder / "scripts").mkdir()
    for name in ("scripts/smoke.py", "examples/agent.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(ROOT / name, folder / name)
    yield folder
    shutil.rmtree(folder)


def installed(version: str, place: pathlib.Path) -> pathlib.Path:
    """The program, in an environment of its own with the locked requirements, hashes checked."""
    environment = place / f"venv-{version}"
    if environment.exists():
        return environment / "bin/signoff"
    python = interpreter(version)
    if python is None:
        pytest.skip(f"no Python {version} on the path, in /usr/bin or in pyenv")
    call(UV, "venv", "--quiet", "--python", python, environment, cwd=place)
    into = (UV, "pip", "install", "--quiet", "--python", environment / "bin/python")
    fetched = call(*into, "--require-hashes", "-r", ROOT / "requirements/run.txt", cwd=place)
    if fetched.returncode != 0:
        pytest.skip(f"the requirements for {version} cannot be fetched: {fetched.stdout.strip()[-200:]}")
    (wheel,) = place.glob("*.whl")
    assert call(*into, "--no-deps", wheel, cwd=place).returncode == 0
    return environment / "bin/signoff"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("user", [None, NOBODY], ids=["as we are", "as nobody"])
def test_the_wheel_does_its_work_outside_the_source_tree(version: str, user: int | None, place: pathlib.Path) -> None:
    if user is not None and os.getuid() != 0:
        pytest.skip("only root can become somebody else")
    program = installed(version, place)
    python = program.with_name("python")
    if user is not None:
        try:
            call(python, "-c", "", cwd=place, user=user)
        except PermissionError:
            pytest.skip(f"the interpreter {os.path.realpath(python)} is closed to others")
    ended = call(sys.executable if user is None else python, place / "scripts/smoke.py", program, cwd=place, user=user)
    assert ended.returncode == 0, ended.stdout
