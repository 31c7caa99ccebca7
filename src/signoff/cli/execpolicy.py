"""signoff execpolicy: ask rule files, and nothing else, about a command."""

import json
from pathlib import Path
from typing import Any

import click

from signoff.cli.app import Group
from signoff.cli.judging import COMMAND_LINE
from signoff.config.rules import named
from signoff.domain.errors import UsageError
from signoff.policy.execpolicy.match import Found
from signoff.policy.execpolicy.rule import WORDS
from signoff.policy.ruleset import Rules


@click.group(cls=Group)
def execpolicy() -> None:
    """Ask rule files, and nothing else, about a command.

    No scripts are split, and no built-in rule speaks.

    \b
    Examples:
      signoff execpolicy check -r my.rules -- git status
    """


@execpolicy.command(context_settings=COMMAND_LINE)
@click.option(
    "-r", "--rules", "files", multiple=True, required=True, metavar="FILE", help="A rule file to ask; repeatable."
)
@click.option("--pretty", is_flag=True, help="Print the JSON on several lines.")
@click.option(
    "--resolve-host-executables", "resolve", is_flag=True, help="Match /usr/bin/git by rules for git, where listed."
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def check(files: tuple[str, ...], pretty: bool, resolve: bool, command: tuple[str, ...]) -> None:
    """Print the rules that match, and their strictest decision, as JSON.

    The exit status is 0 whatever the decision, 3 for rules that cannot be read.

    \b
    Examples:
      signoff execpolicy check -r my.rules -- git push --force
      signoff execpolicy check -r a.rules -r b.rules --pretty -- npm test
    """
    if not command:
        raise UsageError("check wants a command", hint="Try: signoff execpolicy check -r FILE -- ls -la")
    rules = Rules.of(found.rules() for found in named(tuple(map(Path, files))))
    layout: dict[str, Any] = {"indent": 2} if pretty else {"separators": (",", ":")}
    click.echo(json.dumps(report(rules, command, resolve=resolve), ensure_ascii=False, **layout))


def report(rules: Rules, command: tuple[str, ...], *, resolve: bool = False) -> dict[str, Any]:
    """The document, key by key in its known order."""
    found = rules.index.lookup(command, resolve=resolve)
    answer: dict[str, Any] = {"matchedRules": [{"prefixRuleMatch": _match(one)} for one in found]}
    if found:
        answer["decision"] = WORDS[max(one.rule.decision for one in found)]
    return answer


def _match(found: Found) -> dict[str, Any]:
    match: dict[str, Any] = {"matchedPrefix": list(found.prefix), "decision": WORDS[found.rule.decision]}
    if found.resolved_program is not None:
        match["resolvedProgram"] = found.resolved_program
    if found.rule.justification is not None:
        match["justification"] = found.rule.justification
    return match
