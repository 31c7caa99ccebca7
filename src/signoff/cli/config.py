"""signoff config: look at settings, change them, trust a project's."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import click
import msgspec
from click.shell_completion import CompletionItem

from signoff.cli import wiring
from signoff.cli.app import Group
from signoff.cli.output import Output, Style, json_option
from signoff.config import document, locations, schema, trust
from signoff.config.layers import FILE, Layer, Setting, known_key, settings_in
from signoff.config.project import find_project
from signoff.config.tool_servers import spoken, take
from signoff.domain.errors import NotFound, UsageError
from signoff.domain.settings import SECRETS
from signoff.domain.tool_server import ToolServer
from signoff.domain.visible import visible

HIDDEN = "(secret, not shown)"


def _complete_key(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in schema.KEYS if name.startswith(incomplete)]


key_argument = click.argument("key", shell_complete=_complete_key)
project_option = click.option("--project", is_flag=True, help="In the project's .signoff/config.toml, not in yours.")


@click.group(cls=Group)
def config() -> None:
    """Look at settings, change them, trust a project's.

    Flags win over SIGNOFF_… variables, those over the project's .signoff/config.toml (in a trusted project, and only
    where it narrows), that over your own file, the system's, and the defaults.

    \b
    Examples:
      signoff config list --origin
      signoff config get sandbox.mode
      signoff config set sandbox.network limited
      signoff config trust
    """


@config.command()
@key_argument
@json_option
@click.pass_obj
def get(output: Output, key: str, as_json: bool) -> None:
    """Show one setting.

    \b
    Examples:
      signoff config get approval
      signoff config get sandbox.writable_roots --json
    """
    known_key(key)
    setting = wiring.configuration(output).origins[key]
    if as_json:
        output.json(_described(setting))
    else:
        output.text(_plain(setting))


@config.command("list")
@click.option("--origin", is_flag=True, help="Say for every value which layer it comes from.")
@json_option
@click.pass_obj
def list_all(output: Output, origin: bool, as_json: bool) -> None:
    """Show every setting.

    \b
    Examples:
      signoff config list
      signoff config list --origin
      signoff config list --json
    """
    settings = list(wiring.configuration(output).origins.values())
    if as_json:
        output.json({"settings": [_described(setting) for setting in settings]})
        return
    lines = [f"{setting.key} = {_written(setting)}" for setting in settings]
    width = max(len(line) for line in lines) + 2
    for setting, line in zip(settings, lines, strict=True):
        where = f"# {setting.layer}" + (f": {setting.source}" if setting.source else "")
        output.text(line.ljust(width) + output.paint(where, Style.FAINT) if origin else line)


@config.command("set")
@key_argument
@click.argument("value")
@project_option
@click.pass_obj
def set_one(output: Output, key: str, value: str, project: bool) -> None:
    """Write one setting into a configuration file; comments and order stay.

    The value - is read from standard input, so that a secret does not end up in the shell's history.

    \b
    Examples:
      signoff config set approval untrusted
      signoff config set sandbox.writable_roots /srv/data,/srv/cache
      signoff config set model.key - < key.txt
    """
    text = sys.stdin.read().strip() if value == "-" else value
    known = known_key(key)
    try:
        converted = schema.convert_text(known, text)
    except schema.Invalid as error:
        raise UsageError(f"{key} {error}") from error
    from signoff.config import edit  # tomlkit is slow to import, and only writing needs it

    path = _file(project)
    edit.set_value(path, key, converted, Layer.PROJECT if project else Layer.USER)
    output.say(f"{key} is set in {path}")


@config.command()
@key_argument
@project_option
@click.pass_obj
def unset(output: Output, key: str, project: bool) -> None:
    """Take one setting out of a configuration file; a weaker layer holds again.

    \b
    Examples:
      signoff config unset sandbox.network
      signoff config unset approval --project
    """
    from signoff.config import edit

    path = _file(project)
    if not edit.unset_value(path, key):
        known_key(key)
        output.say(f"{key} was not set in {path}")
        return
    output.say(f"{key} is no longer set in {path}")


@config.command()
@json_option
@click.pass_obj
def path(output: Output, as_json: bool) -> None:
    """Show where your configuration file is; with --json, every place signoff uses.

    \b
    Examples:
      signoff config path
      signoff config path --json
    """
    environ = os.environ
    if not as_json:
        output.text(str(_file(project=False)))
        return
    places = {
        "user": _file(project=False),
        "project": _file(project=True),
        "system": locations.SYSTEM_CONFIG / FILE,
        "rules": locations.user_rules(environ),
        "state": locations.state(environ),
        "data": locations.data(environ),
        "cache": locations.cache(environ),
    }
    output.json({name: str(place) for name, place in places.items()})


@config.command("trust")
@click.argument("directory", type=click.Path(path_type=Path), default=Path())
@click.option("--remove", is_flag=True, help="Stop trusting the project.")
@click.pass_obj
def trust_project(output: Output, directory: Path, remove: bool) -> None:
    """Let a project's .signoff folder and .mcp.json count, as they stand now.

    A later change needs another look.

    \b
    Examples:
      signoff config trust
      signoff config trust ~/data/app --remove
    """
    root = find_project(os.environ, directory)
    if remove:
        known = trust.distrust(os.environ, root)
        output.say(f"{root} is no longer trusted" if known else f"{root} was not trusted")
        return
    if not directory.is_dir():
        raise UsageError(f"{directory} is no directory", hint="Name the project's directory, or run this in it.")
    files = trust.contents(root)
    if not files:
        folder = root / locations.PROJECT_FOLDER
        raise NotFound(
            f"there is nothing to trust: {folder} has no configuration and no rules, and there is no .mcp.json"
        )
    if trust.CONFIG in files:
        written = document.parse(root / locations.PROJECT_FOLDER / FILE, files[trust.CONFIG])
        for setting in settings_in(written, Layer.PROJECT):
            output.say(visible(f"  {setting.key} = {_written(setting)}"))
    if trust.TOOL_SERVERS in files:
        _show_servers(output, root / trust.TOOL_SERVERS, files[trust.TOOL_SERVERS])
    trust.trust(os.environ, root, files)
    output.say(f"{root} is trusted with: {', '.join(sorted(files))}")


def _show_servers(output: Output, path: Path, content: bytes) -> None:
    servers: dict[str, ToolServer] = {}
    warnings: list[str] = []
    take(path, content, None, servers, warnings)
    for server in servers.values():
        output.say(visible(f"  tool server {server.name}: {spoken(server)}"))
    for warning in warnings:
        output.warn(warning)


@config.command("schema")
@click.pass_obj
def show_schema(output: Output) -> None:
    """Show the JSON Schema of config.toml, for editors.

    \b
    Examples:
      signoff config schema > signoff.schema.json
    """
    output.json(schema.json_schema())


def _file(project: bool) -> Path:
    folder = (
        find_project(os.environ, Path.cwd()) / locations.PROJECT_FOLDER
        if project
        else locations.user_config(os.environ)
    )
    return folder / FILE


def _shown(setting: Setting) -> Any:
    """The value as plain data, with what must not be seen left out."""
    if setting.secret:
        return HIDDEN
    value = msgspec.to_builtins(setting.value)
    return re.sub(r"//[^/@]*@", "//…@", value) if isinstance(value, str) else value


def _described(setting: Setting) -> dict[str, Any]:
    return {
        "key": setting.key,
        "value": None if setting.secret else _shown(setting),
        "secret": setting.key in SECRETS,
        "layer": setting.layer,
        "source": setting.source,
    }


def _plain(setting: Setting) -> str:
    value = _shown(setting)
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def _written(setting: Setting) -> str:
    value = _shown(setting)
    if setting.secret:
        return HIDDEN
    return "(not set)" if value is None else json.dumps(value, ensure_ascii=False)
