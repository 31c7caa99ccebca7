"""What a command inherits from our environment: little, and never a secret. Pure: a function of the mapping given to it.

A variable passes only if it is on the list of what programs need: so none that makes a loader, a shell, an interpreter or
git run something, no address of an agent or a bus, no vendor's setting. What sounds like a secret passes in no case.
"""

import re
from collections.abc import Mapping

import msgspec

from signoff.domain.errors import UsageError
from signoff.domain.settings import Network
from signoff.domain.visible import visible

DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"

_NEEDED = """
    PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TERM COLORTERM COLUMNS LINES NO_COLOR FORCE_COLOR CLICOLOR CI
    TMPDIR TEMP TMP XDG_CONFIG_HOME XDG_CONFIG_DIRS XDG_DATA_DIRS SOURCE_DATE_EPOCH
    CC CXX CPP AR CFLAGS CXXFLAGS CPPFLAGS LDFLAGS PKG_CONFIG_PATH CMAKE_PREFIX_PATH CMAKE_GENERATOR
    PYENV_ROOT PYENV_VERSION VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV MAMBA_ROOT_PREFIX PIPX_HOME
    NVM_DIR NVM_BIN FNM_DIR VOLTA_HOME PNPM_HOME BUN_INSTALL DENO_DIR NODE_ENV
    CARGO_HOME RUSTUP_HOME RUSTUP_TOOLCHAIN GOPATH GOROOT GOTOOLCHAIN GOMODCACHE
    JAVA_HOME JDK_HOME M2_HOME MAVEN_HOME GRADLE_HOME SDKMAN_DIR ANDROID_HOME KOTLIN_HOME
    RBENV_ROOT RBENV_VERSION GEM_HOME DOTNET_ROOT OPAMROOT GHCUP_INSTALL_BASE_PREFIX ASDF_DIR ASDF_DATA_DIR MISE_DATA_DIR
"""
ALLOWED = frozenset(_NEEDED.split())
_ALLOWED_PREFIXES = ("LC_",)

_SECRET_WORDS = re.compile(r"TOKEN|KEY|SECRET|PASSW|PASSPHRASE|CREDENTIAL|COOKIE|_AUTH|AUTH_|_PAT$|_DSN$|_PWD$", re.I)


# Not even when a person sets it by name: the next program started would run something else first.
_RUN_SOMETHING = re.compile(
    r"LD_.*|DYLD_.*|GCONV_PATH|GLIBC_TUNABLES|ENV|BASH_ENV|BASH_FUNC_.*|SHELLOPTS|BASHOPTS|PROMPT_COMMAND|PS4|IFS"
    r"|PYTHONSTARTUP|PYTHONHOME|PYTHONBREAKPOINT|NODE_OPTIONS|PERL5OPT|PERL5DB|RUBYOPT|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS"
    r"|JDK_JAVA_OPTIONS|GIT_CONFIG.*|GIT_EXEC_PATH|GIT_SSH.*|GIT_EXTERNAL_DIFF|GIT_ASKPASS|LESSOPEN|LESSCLOSE"
)
_OURS = re.compile(r"(SIGNOFF|CODEX)_SANDBOX.*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Setting(msgspec.Struct, frozen=True):
    """What the sandbox knows about the command's world. `backend` is None where nothing confines it."""

    backend: str | None
    network: Network = Network.OFF
    temporary: str | None = "/tmp"  # noqa: S108 - inside it is private; None: there is no writable one
    proxy: str | None = None  # with the network limited: the address of our own proxy


def inheritable(name: str) -> bool:
    """Whether a command may see this variable of ours."""
    return (name in ALLOWED or name.startswith(_ALLOWED_PREFIXES)) and not _SECRET_WORDS.search(name)


def settable(given: Mapping[str, str]) -> dict[str, str]:
    """Variables a person names for a command, secrets too; refused is what makes a program run another one."""
    for name in given:
        if not _NAME.fullmatch(name):
            raise UsageError(f"{visible(name)!r} is not the name of a variable")
        if _RUN_SOMETHING.fullmatch(name) or _OURS.fullmatch(name):
            why = "says where a command runs" if _OURS.fullmatch(name) else "makes programs run something else"
            raise UsageError(f"{name} is not passed into the sandbox: it {why}", hint="Set it in the command itself.")
    return dict(given)


def command_environment(environ: Mapping[str, str], setting: Setting) -> dict[str, str]:
    """The whole environment of a command: what it inherits, then what we set."""
    inherited = {name: value for name, value in environ.items() if inheritable(name)}
    inherited["PATH"] = _path(environ.get("PATH", ""))
    if setting.backend is None:
        return inherited | _QUIET
    return inherited | _QUIET | _marks(setting) | _caches(setting.temporary) | _proxies(setting)


def _path(value: str) -> str:
    """Only absolute directories: `.` or an empty part would let a file of the workspace pass for a program."""
    return ":".join(part for part in value.split(":") if part.startswith("/")) or DEFAULT_PATH


# Nobody sits in front of these commands: no pager, no prompt, no history.
_QUIET = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",  # status and diff work on a read-only repository
    "LESSHISTFILE": "-",
    "HISTFILE": "/dev/null",
    "NODE_REPL_HISTORY": "",
    "npm_config_update_notifier": "false",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
}


# Without a network package managers would go on trying for minutes.
_RETRIES = ("npm_config_fetch_retries", "PIP_RETRIES", "UV_HTTP_RETRIES", "CARGO_NET_RETRY")


def _marks(setting: Setting) -> dict[str, str]:
    """How a program learns where it runs. Test-suites skip network tests by the CODEX_ names, so they get those too."""
    marks = {"SIGNOFF_SANDBOX": setting.backend or "none", "CODEX_SANDBOX": "signoff"}
    if setting.network is Network.OFF:
        marks |= {"SIGNOFF_SANDBOX_NETWORK_DISABLED": "1", "CODEX_SANDBOX_NETWORK_DISABLED": "1"}
        marks |= dict.fromkeys(_RETRIES, "0")
    return marks


def _caches(temporary: str | None) -> dict[str, str]:
    """HOME cannot be written, so what tools insist on writing goes where they may."""
    if temporary is None:
        return {}
    cache = f"{temporary.rstrip('/')}/.cache"
    return {
        "TMPDIR": temporary,
        "TEMP": temporary,
        "TMP": temporary,
        "XDG_CACHE_HOME": cache,
        "PIP_CACHE_DIR": f"{cache}/pip",
        "UV_CACHE_DIR": f"{cache}/uv",
        "npm_config_cache": f"{cache}/npm",
        "YARN_CACHE_FOLDER": f"{cache}/yarn",
        "GOCACHE": f"{cache}/go-build",
        "CCACHE_DIR": f"{cache}/ccache",
        "PRE_COMMIT_HOME": f"{cache}/pre-commit",
        "MPLCONFIGDIR": f"{cache}/matplotlib",
    }


def _proxies(setting: Setting) -> dict[str, str]:
    if setting.network is not Network.LIMITED or setting.proxy is None:
        return {}
    named = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), setting.proxy)
    lower = {name.lower(): value for name, value in named.items()}
    return named | lower | {"NO_PROXY": "", "no_proxy": "", "NODE_USE_ENV_PROXY": "1"}
