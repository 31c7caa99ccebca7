"""Which directories of a machine become readable, planned over listings of machines that do not exist."""

import os
import pathlib

import pytest

from signoff.sandbox.toolchains import Machine, Toolchain, plan


class Listing:
    """A machine as a set of paths, links as a mapping, small files as text."""

    def __init__(self, *paths: str, links: dict[str, str] | None = None, files: dict[str, str] | None = None) -> None:
        self.links, self.files = links or {}, files or {}
        self.paths = {*paths, *self.files}

    def real(self, path: str) -> str | None:
        for link, target in self.links.items():
            if path == link or path.startswith(f"{link}/"):
                return self.real(target + path.removeprefix(link))
        present = any(known == path or known.startswith(f"{path}/") for known in self.paths)
        return path if present else None

    def lines(self, path: str) -> list[str]:
        return self.files.get(self.real(path) or "", "").splitlines()


HOME = "/home/ada"


def paths(environ: dict[str, str], look: Listing, workspace: str | None = None) -> list[str]:
    return [one.path for one in plan({"HOME": HOME, **environ}, look, workspace=workspace)]


def test_known_toolchains_of_home_are_readable_and_nothing_else_of_it() -> None:
    look = Listing(f"{HOME}/.cargo/bin/cargo", f"{HOME}/.pyenv/bin", f"{HOME}/.ssh/id_rsa", f"{HOME}/notes.txt")
    assert plan({"HOME": HOME}, look) == (
        Toolchain("pyenv", f"{HOME}/.pyenv", f"{HOME}/.pyenv"),
        Toolchain("cargo", f"{HOME}/.cargo", f"{HOME}/.cargo"),
    )


@pytest.mark.parametrize(
    ("place", "secret"),
    [
        (".cargo", "credentials.toml"),
        (".cargo", "credentials"),
        (".m2", "settings.xml"),
        (".gradle", "gradle.properties"),
        (".config/git", "credentials"),
        (".gem", "credentials"),
        (".composer", "auth.json"),
        (".local/share/uv", "credentials"),
    ],
)
def test_credential_files_inside_a_toolchain_are_named_for_masking(place: str, secret: str) -> None:
    (found,) = plan({"HOME": HOME}, Listing(f"{HOME}/{place}/content", f"{HOME}/{place}/{secret}"))
    assert found.masked == (f"{HOME}/{place}/{secret}",)


def test_a_variable_moves_a_toolchain() -> None:
    assert paths({"CARGO_HOME": "/data/cargo", "NVM_DIR": "nvm"}, Listing("/data/cargo/bin", "/nvm")) == ["/data/cargo"]


def test_a_link_is_named_with_where_it_leads() -> None:
    look = Listing("/data/nvm/v20", links={f"{HOME}/.nvm": "/data/nvm"})
    assert plan({"HOME": HOME}, look) == (Toolchain("nvm", f"{HOME}/.nvm", "/data/nvm"),)


def test_what_lies_inside_another_root_is_named_once() -> None:
    look = Listing(f"{HOME}/go/pkg/mod/x", f"{HOME}/.pyenv/shims/python", f"{HOME}/.pyenv/bin/pyenv")
    assert paths({"PATH": f"{HOME}/.pyenv/shims:{HOME}/.pyenv/bin"}, look) == [f"{HOME}/.pyenv", f"{HOME}/go"]


def test_path_into_another_home_opens_the_known_toolchain_there_with_its_secrets_masked() -> None:
    look = Listing(
        "/home/eve/.cargo/bin/cargo", "/home/eve/.cargo/credentials.toml", "/home/eve/secret", "/home/eve/bin/tool"
    )
    assert plan({"HOME": HOME, "PATH": "/home/eve/.cargo/bin:/home/eve/bin"}, look) == (
        Toolchain("cargo", "/home/eve/.cargo", "/home/eve/.cargo", ("/home/eve/.cargo/credentials.toml",)),
        Toolchain("found in PATH", "/home/eve/bin", "/home/eve/bin"),
    )


def test_a_prefix_in_path_is_opened_by_its_usual_parts_only() -> None:
    look = Listing("/srv/tools/bin/x", "/srv/tools/lib/y", "/srv/tools/database/customers")
    assert paths({"PATH": "/srv/tools/bin:/usr/bin:/opt/thing/bin:relative"}, look) == [
        "/srv/tools/bin",
        "/srv/tools/lib",
    ]


@pytest.mark.parametrize("entry", [HOME, "/home", "/", "/home/eve", "/root", "/srv", f"{HOME}/.."])
def test_path_never_opens_a_home_or_a_top_level_directory(entry: str) -> None:
    look = Listing(f"{HOME}/x", "/home/eve/x", "/root/x", "/srv/x")
    assert paths({"PATH": entry, "GOPATH": entry, "VIRTUAL_ENV": entry}, look) == []


def test_programs_directly_in_home_open_that_directory_only() -> None:
    look = Listing(f"{HOME}/bin/x", f"{HOME}/lib/private", f"{HOME}/share/private")
    assert paths({"PATH": f"{HOME}/bin"}, look) == [f"{HOME}/bin"]


def test_a_link_that_leads_to_home_or_into_the_system_opens_nothing() -> None:
    look = Listing(f"{HOME}/x", "/usr/lib/jvm/17/bin", links={f"{HOME}/.nvm": HOME, "/var/jdk": "/usr/lib/jvm/17"})
    assert paths({"JAVA_HOME": "/var/jdk"}, look) == []


CONFIG = "home = /data/python/3.12/bin\ninclude-system-site-packages = false\nversion = 3.12.1\n"


def test_the_interpreter_behind_the_workspaces_virtual_environment_is_readable() -> None:
    look = Listing("/data/python/3.12/bin/python", "/data/python/3.12/lib/python3.12/os.py", "/data/python/3.12/secret")
    look.files["/ws/app/.venv/pyvenv.cfg"] = CONFIG
    look.paths.add("/ws/app/.venv/pyvenv.cfg")
    assert paths({}, look, workspace="/ws/app") == ["/data/python/3.12/bin", "/data/python/3.12/lib"]


def test_a_planted_virtual_environment_opens_nothing_where_no_python_is_installed() -> None:
    look = Listing("/srv/secrets/share/x", "/srv/secrets/lib/x", f"{HOME}/lib/python3.12/os.py", f"{HOME}/share/x")
    for home in ("/srv/secrets/bin", f"{HOME}/bin", "/bin", "", "../../bin"):
        look.files["/ws/app/.venv/pyvenv.cfg"] = f"home = {home}\nversion = 3.12\n"
        look.paths.add("/ws/app/.venv/pyvenv.cfg")
        assert paths({}, look, workspace="/ws/app") == []


@pytest.mark.parametrize("variable", ["PATH", "VIRTUAL_ENV", "CARGO_HOME", "GOPATH"])
def test_a_link_planted_where_commands_can_write_opens_nothing(variable: str) -> None:
    links = {"/ws/app/tools": "/home/eve/private", "/data/out/tools": "/home/eve/private"}
    look = Listing("/home/eve/private/bin/x", "/home/eve/private/credentials", links=links)
    for place in links:
        value = f"{place}/bin" if variable == "PATH" else place
        assert plan({"HOME": HOME, variable: value}, look, workspace="/ws/app", writable=("/data/out",)) == ()


def test_our_own_interpreter_is_readable_wherever_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.base_prefix", "/data/py")
    assert paths({}, Listing("/data/py/bin/python3", "/data/py/lib/x", "/data/py/secret")) == [
        "/data/py/bin",
        "/data/py/lib",
    ]


def test_the_real_machine_answers(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.base_prefix", "/usr")
    (tmp_path / ".nvm").mkdir()
    (tmp_path / "real-cargo" / "bin").mkdir(parents=True)
    (tmp_path / "real-cargo" / "credentials.toml").write_text("[registry]\ntoken = 'x'\n")
    (tmp_path / ".cargo").symlink_to("real-cargo")
    home = os.path.realpath(tmp_path)
    assert plan({"HOME": home}, Machine()) == (
        Toolchain("nvm", f"{home}/.nvm", f"{home}/.nvm"),
        Toolchain("cargo", f"{home}/.cargo", f"{home}/real-cargo", (f"{home}/.cargo/credentials.toml",)),
    )
    os.mkfifo(tmp_path / "pipe")
    assert [Machine().lines(str(tmp_path / name)) for name in ("absent", "pipe", ".nvm")] == [[], [], []]
