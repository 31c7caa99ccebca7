"""What a command may read beside the workspace and the system: the toolchains and package caches of this machine.

`plan` is pure: it asks a `Look` what exists. Nothing is readable because it lies in HOME, only because it is known to be
a toolchain or because PATH leads there; the credential files inside are named so that they can be masked.
"""

import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping
from typing import Protocol

import msgspec

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/snap", "/gnu")

# name, variable that moves it, place below HOME, credential files inside it
_KNOWN: tuple[tuple[str, str | None, str, tuple[str, ...]], ...] = (
    ("pyenv", "PYENV_ROOT", ".pyenv", ()),
    ("uv", None, ".local/share/uv", ("credentials",)),
    ("uv cache", None, ".cache/uv", ()),
    ("pip cache", None, ".cache/pip", ()),
    ("pipx", "PIPX_HOME", ".local/share/pipx", ()),
    ("poetry cache", None, ".cache/pypoetry", ()),
    ("virtualenvs", None, ".local/share/virtualenvs", ()),
    ("virtualenvs", None, ".virtualenvs", ()),
    ("conda", None, "miniconda3", ()),
    ("conda", None, "miniforge3", ()),
    ("conda", None, "anaconda3", ()),
    ("conda", "MAMBA_ROOT_PREFIX", ".conda", ()),
    ("local programs", None, ".local/bin", ()),
    ("local libraries", None, ".local/lib", ()),
    ("nvm", "NVM_DIR", ".nvm", ()),
    ("fnm", "FNM_DIR", ".local/share/fnm", ()),
    ("volta", "VOLTA_HOME", ".volta", ()),
    ("npm cache", None, ".npm", ()),
    ("npm packages", None, ".npm-global", ()),
    ("yarn", None, ".yarn", ()),
    ("yarn cache", None, ".cache/yarn", ()),
    ("pnpm", "PNPM_HOME", ".local/share/pnpm", ("auth.ini", "rc")),
    ("bun", "BUN_INSTALL", ".bun", ()),
    ("deno", None, ".deno", ()),
    ("deno cache", "DENO_DIR", ".cache/deno", ()),
    ("node-gyp cache", None, ".cache/node-gyp", ()),
    ("playwright", None, ".cache/ms-playwright", ()),
    ("cargo", "CARGO_HOME", ".cargo", ("credentials", "credentials.toml")),
    ("rustup", "RUSTUP_HOME", ".rustup", ()),
    ("go", "GOPATH", "go", ()),
    ("go modules", "GOMODCACHE", "go/pkg/mod", ()),
    ("go root", "GOROOT", ".go", ()),
    ("go build cache", None, ".cache/go-build", ()),
    ("maven", None, ".m2", ("settings.xml", "settings-security.xml")),
    ("gradle", None, ".gradle", ("gradle.properties", "init.gradle", "init.gradle.kts", "init.d")),
    ("ivy", None, ".ivy2", (".credentials",)),
    ("coursier cache", None, ".cache/coursier", ()),
    ("sbt", None, ".sbt", (".credentials", "credentials")),
    ("sdkman", "SDKMAN_DIR", ".sdkman", ()),
    ("java", "JAVA_HOME", ".jdk", ()),
    ("java", None, ".jdks", ()),
    ("android", "ANDROID_HOME", "Android/Sdk", ()),
    ("rbenv", "RBENV_ROOT", ".rbenv", ()),
    ("rvm", None, ".rvm", ()),
    ("gems", "GEM_HOME", ".gem", ("credentials",)),
    ("bundler", None, ".bundle", ("config",)),
    ("dotnet", "DOTNET_ROOT", ".dotnet", ()),
    ("nuget", None, ".nuget/packages", ()),
    ("ghcup", None, ".ghcup", ()),
    ("cabal", None, ".cabal", ("config",)),
    ("stack", None, ".stack", ("config.yaml", "upload")),
    ("opam", "OPAMROOT", ".opam", ()),
    ("composer", None, ".composer", ("auth.json",)),
    ("asdf", "ASDF_DATA_DIR", ".asdf", ()),
    ("mise", "MISE_DATA_DIR", ".local/share/mise", ()),
    ("nix profile", None, ".nix-profile", ()),
    ("homebrew", None, ".linuxbrew", ()),
    ("terminal descriptions", None, ".terminfo", ()),
    ("git settings", None, ".gitconfig", ()),
    ("git settings", None, ".config/git", ("credentials",)),
)
_PREFIX_PARTS = ("bin", "sbin", "lib", "lib64", "libexec", "include", "share", "conda-meta", "pyvenv.cfg")


class Toolchain(msgspec.Struct, frozen=True):
    """A directory or file that may be read. `real` is where it lies when `path` is, or goes through, a link."""

    name: str
    path: str
    real: str
    masked: tuple[str, ...] = ()  # credential files that exist inside


class Look(Protocol):
    """What the plan wants to know about the machine."""

    def real(self, path: str) -> str | None:
        """Where a path leads, links followed; None if it leads nowhere or may not be seen."""

    def lines(self, path: str) -> list[str]:
        """The lines of a small text file, or none."""


class Machine:
    """The real one."""

    def real(self, path: str) -> str | None:
        if not os.path.exists(path):  # most candidates are absent, and this answers sooner
            return None
        return os.path.realpath(path)

    def lines(self, path: str) -> list[str]:
        try:
            with open(path, "rb", opener=_without_waiting) as file:
                regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
                return file.read(65_536).decode("utf-8", "replace").splitlines() if regular else []
        except OSError:
            return []


def _without_waiting(path: str, flags: int) -> int:
    """A pipe planted in a workspace must not hold us up."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


def plan(
    environ: Mapping[str, str], look: Look, *, workspace: str | None = None, writable: tuple[str, ...] = ()
) -> tuple[Toolchain, ...]:
    """Every toolchain found, none inside another, none that opens HOME, another home or the root.

    What lies in the workspace or another root that commands can change opens nothing: a command could put a link there
    and find what it leads to opened the next time.
    """
    home = environ.get("HOME", "")
    changeable = (workspace, *writable) if workspace else writable
    found: dict[str, Toolchain] = {}
    for name, path, secrets in _candidates(environ, home, look, workspace):
        real = None if path in found or _within(path, changeable) else look.real(path)
        if real is None or _too_wide(path, home) or _too_wide(real, home) or _within(real, (*SYSTEM, *changeable)):
            continue
        masked = tuple(f"{path}/{secret}" for secret in secrets if look.real(f"{path}/{secret}"))
        found[path] = Toolchain(name, path, real, masked)
    return tuple(one for one in found.values() if not _covered(one, found))


def _candidates(
    environ: Mapping[str, str], home: str, look: Look, workspace: str | None
) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    for name, variable, place, secrets in _KNOWN:
        for path in (environ.get(variable, "") if variable else "", f"{home}/{place}" if home else ""):
            if path.startswith("/"):
                yield name, os.path.normpath(path), secrets
    for entry in environ.get("PATH", "").split(":"):
        if entry.startswith("/"):
            yield from _from_path(os.path.normpath(entry), home)
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if (place := environ.get(variable, "")).startswith("/"):
            yield "virtual environment", os.path.normpath(place), ()
            yield from _interpreter(place, home, look)
    for name in (".venv", "venv") if workspace else ():
        yield from _interpreter(f"{workspace}/{name}", home, look)
    for part in ("bin", "lib", "lib64"):  # some tools run in it, and no PATH need lead there
        yield "our own interpreter", f"{sys.base_prefix}/{part}", ()


def _from_path(entry: str, home: str) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """PATH may lead into another home: there only what is known by its name is opened, with its secrets masked.
    Elsewhere a prefix is opened by its usual parts, so that `/srv/app/bin` does not open the data of `/srv/app`."""
    for name, _, place, secrets in _KNOWN:
        before, found, _ = f"{entry}/".partition(f"/{place}/")
        if found and not place.startswith((".local/bin", "go")):
            yield name, f"{before}/{place}", secrets
            return
    prefix, _, last = entry.rpartition("/")
    if last in ("bin", "sbin") and not _too_wide(prefix, home):
        for part in _PREFIX_PARTS:
            yield "found in PATH", f"{prefix}/{part}", ()
    else:
        yield "found in PATH", entry, ()


def _interpreter(environment: str, home: str, look: Look) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """What a virtual environment was made from, which is often nowhere on PATH. Commands can write such a file, so its
    word is not enough: only where a Python really is installed anything is opened."""
    lines = [line.partition("=") for line in look.lines(f"{environment}/pyvenv.cfg")]
    settings = {key.strip(): value.strip() for key, _, value in lines}
    version = re.match(r"[0-9]+\.[0-9]+", settings.get("version", settings.get("version_info", "")))
    prefix = os.path.dirname(os.path.normpath(settings.get("home", "")))
    if version is None or not prefix.startswith("/") or _too_wide(prefix, home):
        return
    if look.real(f"{prefix}/lib/python{version[0]}/os.py"):
        for part in _PREFIX_PARTS:
            yield "interpreter of a virtual environment", f"{prefix}/{part}", ()


def _too_wide(path: str, home: str) -> bool:
    """HOME or something above it, a whole home of somebody else, or a top-level directory."""
    parts = path.strip("/").split("/")
    return len(parts) < 2 or (parts[0] == "home" and len(parts) < 3) or f"{home}/".startswith(f"{path.rstrip('/')}/")


def _within(path: str, roots: tuple[str, ...]) -> bool:
    return any(path == root or path.startswith(f"{root}/") for root in roots)


def _covered(one: Toolchain, found: Mapping[str, Toolchain]) -> bool:
    """Another one contains it, both as named and as it lies."""
    return any(
        other is not one and one.path.startswith(f"{other.path}/") and _within(one.real, (other.real,))
        for other in found.values()
    )
