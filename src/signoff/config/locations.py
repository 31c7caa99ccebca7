"""Where everything lives. Pure functions of an environment, so that a test or a sandbox profile can ask for another one.

`SIGNOFF_HOME` replaces the user's configuration directory and nothing else. A relative XDG variable is ignored, as the
XDG specification demands; a relative SIGNOFF_HOME or CODEX_HOME is refused, because it would move with the directory.
"""

from collections.abc import Mapping
from pathlib import Path

from signoff.domain.errors import ConfigError

SYSTEM_CONFIG = Path("/etc/signoff")
PROJECT_FOLDER = ".signoff"

Environment = Mapping[str, str]


def home(environ: Environment) -> Path:
    value = environ.get("HOME", "")
    if not value.startswith("/"):
        raise ConfigError("HOME is not set to an absolute path", hint="Set HOME, or XDG_CONFIG_HOME and its siblings.")
    return Path(value)


def user_config(environ: Environment) -> Path:
    """config.toml, policy.toml, grants.toml."""
    return _override(environ, "SIGNOFF_HOME") or _xdg(environ, "XDG_CONFIG_HOME", ".config")


def user_rules(environ: Environment) -> Path:
    """The user's rule files. Rules alone may come from CODEX_HOME, and only where SIGNOFF_HOME is not set."""
    return rules_home(environ) / "rules"


def project_rules(environ: Environment, project_id: str) -> Path:
    """What the user granted for one project; kept with the user, never in the project."""
    return rules_home(environ) / "projects" / project_id / "rules"


def project_policy(environ: Environment, project_id: str) -> Path:
    """What the user allowed tools for one project."""
    return user_config(environ) / "projects" / project_id / "policy.toml"


def rules_home(environ: Environment) -> Path:
    return _override(environ, "SIGNOFF_HOME") or _override(environ, "CODEX_HOME") or user_config(environ)


def state(environ: Environment) -> Path:
    return _xdg(environ, "XDG_STATE_HOME", ".local/state")


def data(environ: Environment) -> Path:
    return _xdg(environ, "XDG_DATA_HOME", ".local/share")


def cache(environ: Environment) -> Path:
    return _xdg(environ, "XDG_CACHE_HOME", ".cache")


def runs(environ: Environment) -> Path:
    return state(environ) / "runs"


def sessions(environ: Environment) -> Path:
    return state(environ) / "sessions"


def undo(environ: Environment) -> Path:
    return state(environ) / "undo"


def trust_store(environ: Environment) -> Path:
    """Which projects the person trusts: a fact about this machine, so it is state and not configuration."""
    return state(environ) / "trust.json"


def known_tools(environ: Environment) -> Path:
    """How the tools of tool servers looked when they were last let through."""
    return state(environ) / "known-tools.json"


def diagnostics(environ: Environment) -> Path:
    return state(environ) / "diagnostics"


def memory_database(environ: Environment) -> Path:
    return data(environ) / "memory.db"


def private(environ: Environment) -> tuple[Path, ...]:
    """Everything of ours that no sandboxed command may see."""
    return (user_config(environ), user_rules(environ), state(environ), data(environ), cache(environ))


def _xdg(environ: Environment, name: str, default: str) -> Path:
    value = environ.get(name, "")
    return (Path(value) if value.startswith("/") else home(environ) / default) / "signoff"


def _override(environ: Environment, name: str) -> Path | None:
    value = environ.get(name, "")
    if value and not value.startswith("/"):
        raise ConfigError(
            f"{name} is {value!r}, which is not an absolute path", hint=f"Set {name} to a full path, or unset it."
        )
    return Path(value) if value else None
