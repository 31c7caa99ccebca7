"""signoff grants: what was approved for good or for a while."""

import datetime
import os
import shlex
import time

import click
from click.shell_completion import CompletionItem

from signoff.approvals.grants import Kept, kept
from signoff.approvals.grants import revoke as take_back
from signoff.cli import wiring
from signoff.cli.app import Group
from signoff.cli.output import Output, json_option
from signoff.config.project import project_id
from signoff.config.rules import Places
from signoff.domain.review import Scope
from signoff.domain.visible import visible


def _complete(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    found = kept(_places(Output(quiet=True)))
    return [CompletionItem(one.id, help=_what(one)) for one in found if one.id.startswith(incomplete)]


@click.group(cls=Group)
def grants() -> None:
    """See what was approved for good or for a while, and take it back.

    \b
    Examples:
      signoff grants list
      signoff grants revoke 3f9a
    """


@grants.command("list")
@json_option
@click.pass_obj
def list_(output: Output, as_json: bool) -> None:
    """List every rule that an approval saved.

    Each with its id, how far it reaches, until when, and the words it allows.

    \b
    Examples:
      signoff grants list
      signoff grants list --json
    """
    found = kept(_places(output))
    if as_json:
        output.json({"grants": found})
        return
    if not found:
        output.say("Nothing is granted beyond the moment.")
    for one in found:
        reach = "every project" if one.scope is Scope.USER else "this project"
        output.text(f"{one.id}  {reach:13}  {_until(one):23}  {_what(one)}", 10)


@grants.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID…", shell_complete=_complete)
@click.pass_obj
def revoke(output: Output, ids: tuple[str, ...]) -> None:
    """Take grants back, by their ids or the beginnings of them.

    From then on it is asked again.

    \b
    Examples:
      signoff grants revoke 3f9a41c2
    """
    places = _places(output)
    for name in ids:
        one = take_back(places, name)
        output.say(f"revoked: {_what(one)}")


def _what(one: Kept) -> str:
    if one.rule is None:
        return visible(shlex.join(one.prefix))
    places = (*one.rule.paths, *one.rule.hosts)
    return visible(f"the tool {one.rule.tool}" + (f" for {', '.join(places)}" if places else ""))


def _until(one: Kept) -> str:
    if one.expires_ms is None:
        return "until revoked"
    if one.expires_ms <= time.time() * 1_000:
        return "expired"
    end = datetime.datetime.fromtimestamp(one.expires_ms / 1_000, datetime.UTC)
    return f"until {end.strftime('%Y-%m-%d %H:%MZ')}"


def _places(output: Output) -> Places:
    loaded = wiring.configuration(output)
    return Places(dict(os.environ), loaded.project, loaded.settings.project_id or project_id(loaded.project))
