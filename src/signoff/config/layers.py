"""One set of settings out of six layers, and for every value the layer it comes from.

    flags  >  environment (SIGNOFF_…)  >  project .signoff/config.toml  >  user  >  system  >  defaults

Strict: an unknown key or a value of the wrong type is an error that names the file and the line. The project's file
counts only in a trusted project, and only where it narrows what already holds; what does not count is said as a warning.
"""

import enum
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from signoff.config import document, locations, schema, trust
from signoff.config.document import Document
from signoff.config.locations import Environment
from signoff.config.project import find_project
from signoff.config.schema import GROUPS, KEYS, Key
from signoff.domain.errors import ConfigError, UsageError
from signoff.domain.settings import SECRETS, Settings, project_may_change

FILE = "config.toml"
OTHER_VARIABLES = frozenset(
    {"SIGNOFF_HOME", "SIGNOFF_EVENT_FD", "SIGNOFF_CHILD", "SIGNOFF_SANDBOX", "SIGNOFF_SANDBOX_NETWORK_DISABLED"}
)
"""Variables with our prefix that are not settings: one says where the settings are, the others mark our children."""
SHORT_VARIABLES: Mapping[str, str] = {"SIGNOFF_MODEL": "model.name", "SIGNOFF_RECORD": "model.record"}
"""Variables people expect under a shorter name than the key would give; the long name works too and wins."""


class Layer(enum.StrEnum):
    """Weakest first."""

    DEFAULT = "default"
    SYSTEM = "system"
    USER = "user"
    PROJECT = "project"
    ENVIRONMENT = "environment"
    FLAG = "flag"


class Setting(msgspec.Struct, frozen=True):
    key: str
    value: Any
    layer: Layer
    source: str | None  # the file, the variable or the flag

    @property
    def secret(self) -> bool:
        return self.key in SECRETS and self.value is not None


class Configuration(msgspec.Struct, frozen=True):
    settings: Settings
    origins: Mapping[str, Setting]  # every key
    warnings: tuple[str, ...]
    project: Path


def load(
    environ: Environment, directory: Path, flags: Mapping[str, str], *, system: Path = locations.SYSTEM_CONFIG
) -> Configuration:
    """Read all layers as they stand now."""
    values = {key.name: Setting(key.name, key.default, Layer.DEFAULT, None) for key in KEYS.values()}
    for layer, folder in ((Layer.SYSTEM, system), (Layer.USER, locations.user_config(environ))):
        written = document.read(folder / FILE)
        if written is not None:
            values.update({setting.key: setting for setting in settings_in(written, layer)})
    project = find_project(environ, directory)
    warnings = _apply_project(environ, project, values)
    values.update({setting.key: setting for setting in _from_environment(environ)})
    values.update({setting.key: setting for setting in _from_flags(flags)})
    settings = schema.build({name: setting.value for name, setting in values.items()})
    return Configuration(settings, values, tuple(warnings), project)


def settings_in(written: Document, layer: Layer) -> Iterator[Setting]:
    """Every setting a file makes, checked."""
    for path, value in _leaves(written.table):
        name = ".".join(path)
        if name not in KEYS:
            raise ConfigError(f"{_place(written, path)}: {_unknown(name)}", hint=suggest(name))
        if any("." in part for part in path):
            raise ConfigError(f"{_place(written, path)}: {name} must be written without quotes")
        try:
            converted = schema.convert(KEYS[name], value)
        except schema.Invalid as error:
            raise ConfigError(f"{_place(written, path)}: {name} {error}") from error
        yield Setting(name, converted, layer, str(written.path))


def known_key(name: str) -> Key:
    """The key a person named at the command line."""
    if name not in KEYS:
        raise UsageError(_unknown(name), hint=suggest(name))
    return KEYS[name]


def suggest(name: str) -> str:
    if name in GROUPS:
        return f'"signoff config list" shows what is in {name}.'
    near = schema.nearest(name, {**dict.fromkeys(GROUPS), **KEYS})
    return f"Did you mean {near}?" if near else '"signoff config list" shows every setting.'


def _unknown(name: str) -> str:
    return f"{name} is a group of settings, not a setting" if name in GROUPS else f"there is no setting {name!r}"


def _apply_project(environ: Environment, project: Path, values: dict[str, Setting]) -> list[str]:
    files = trust.contents(project)
    if trust.CONFIG not in files:
        return []
    path = project / locations.PROJECT_FOLDER / FILE
    if not trust.is_trusted(environ, project, files):
        return [f'{path} is not in force: read it, then run "signoff config trust" in the project']
    warnings = []
    for setting in settings_in(document.parse(path, files[trust.CONFIG]), Layer.PROJECT):
        before = values[setting.key]
        if project_may_change(setting.key, before.value, setting.value):
            values[setting.key] = setting
        else:
            warnings.append(f"{path}: {setting.key} is left as it was: a project may narrow settings, not widen them")
    return warnings


def _from_environment(environ: Environment) -> Iterator[Setting]:
    variables = {key.variable: key for key in KEYS.values()} | {
        short: KEYS[name] for short, name in SHORT_VARIABLES.items()
    }
    for variable, text in sorted(environ.items()):
        if not variable.startswith("SIGNOFF_") or variable in OTHER_VARIABLES or not text:
            continue
        if variable not in variables:
            near = schema.nearest(variable, {**variables, **dict.fromkeys(OTHER_VARIABLES)})
            raise ConfigError(
                f"the environment variable {variable} is no setting",
                hint=f"Did you mean {near}?" if near else "Unset it; every variable SIGNOFF_… must be a setting.",
            )
        key = variables[variable]
        try:
            yield Setting(key.name, schema.convert_text(key, text), Layer.ENVIRONMENT, variable)
        except schema.Invalid as error:
            raise ConfigError(f"the environment variable {variable} {error}") from error


def _from_flags(flags: Mapping[str, str]) -> Iterator[Setting]:
    for name, text in flags.items():
        key = known_key(name)
        try:
            yield Setting(name, schema.convert_text(key, text), Layer.FLAG, "command line")
        except schema.Invalid as error:
            raise UsageError(f"{name} {error}") from error


def _leaves(table: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, value in table.items():
        if name in GROUPS and isinstance(value, dict):
            yield from (((name, leaf), inner) for leaf, inner in value.items())
        else:
            yield (name,), value


def _place(written: Document, path: tuple[str, ...]) -> str:
    line = written.line_of(*path)
    return str(written.path) if line is None else f"{written.path}:{line}"
