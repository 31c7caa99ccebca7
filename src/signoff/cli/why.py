"""signoff why: the verdict on a call, and every rule that had a part in it."""

import json
from typing import Any

import click
import msgspec

from signoff.cli import completing
from signoff.cli.judging import (
    COMMAND_LINE,
    REQUIREMENTS,
    Judge,
    approval_option,
    judge_of,
    rules_option,
    sandbox_option,
)
from signoff.cli.output import Output, Style, json_option
from signoff.domain.call import ToolCall
from signoff.domain.errors import UsageError
from signoff.domain.intent import Action, Intent
from signoff.domain.settings import Redact
from signoff.domain.visible import visible
from signoff.files.links import followed
from signoff.policy.explain import Explanation, MatchedRule, explanation

_STYLES = {"allow": Style.GOOD, "prompt": Style.WARNING, "forbidden": Style.BAD}
_VERDICTS = {"allow": "allowed", "prompt": "needs a yes", "forbidden": "forbidden"}
_INDENT = 15  # where the text stands beside its decision


@click.command(context_settings=COMMAND_LINE)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("--script", help="Judge a shell script, not a command.")
@click.option("--tool", shell_complete=completing.tools, help="Judge a call of this tool, not a command.")
@click.option("--args", "arguments", default="{}", help="The tool's arguments, as JSON.")
@click.option(
    "--action",
    type=click.Choice([each.value for each in Action]),
    help="What the tool does, where its name does not say.",
)
@rules_option
@approval_option
@sandbox_option
@json_option
@click.pass_obj
def why(
    output: Output,
    command: tuple[str, ...],
    script: str | None,
    tool: str | None,
    arguments: str,
    action: str | None,
    files: tuple[str, ...],
    approval: str | None,
    sandbox: str | None,
    as_json: bool,
) -> None:
    """Explain a verdict: which rules spoke, and what would happen.

    The verdict never changes the exit status: it is 0 whenever there is an answer.

    \b
    Examples:
      signoff why -- git push --force
      signoff why --script 'make test && curl https://example.com'
      signoff why --tool fs.write --args '{"path": ".git/hooks/pre-commit"}'
    """
    if sum((bool(command), script is not None, tool is not None)) != 1:
        raise UsageError("why wants one of: -- COMMAND, --script TEXT, --tool NAME", hint="Try: signoff why -- ls")
    judge = judge_of(output, files, approval, sandbox)
    intent = _intent(judge, command, script, tool, arguments, action)
    verdict, required = judge.judge(intent)
    found = _masked(explanation(intent, verdict, required, judge.context))
    if as_json:
        click.echo(json.dumps(msgspec.to_builtins(found), indent=2))  # which can spell what is no text, too
    else:
        _tell(output, found)


def _masked(found: Explanation) -> Explanation:
    """What is typed to be explained may hold a secret, and an explanation is easily shared."""
    from signoff.ledger.redact import Redactor

    return msgspec.convert(Redactor(Redact.BASIC, reversible=False).value(msgspec.to_builtins(found)), Explanation)


def _intent(
    judge: Judge, command: tuple[str, ...], script: str | None, tool: str | None, arguments: str, action: str | None
) -> Intent:
    if script is not None:
        return judge.script(script)
    if tool is None:
        return judge.argv(command)
    try:
        args: Any = json.loads(arguments)
    except ValueError as error:
        raise UsageError(f"--args is not JSON: {error}", hint="""Try: --args '{"path": "a.txt"}'""") from error
    return _tool_intent(judge, tool, args, action)


def _tool_intent(judge: Judge, name: str, args: Any, action: str | None) -> Intent:
    """A tool of ours says itself what it touches; of a stranger's the arguments are searched."""
    from signoff.supervisor.foreign import foreign_intent
    from signoff.tools.registry import TOOLS, Registry
    from signoff.tools.tool import Place, decode

    workspace, home = judge.context.workspace, judge.context.home or "/"
    if name not in TOOLS or action is not None:
        return foreign_intent(name, Action(action) if action else _action(name), args, cwd=workspace, home=home)
    tool = Registry().find(name)
    return followed(tool.intent(decode(tool, ToolCall("why", name, "", args, "", 0)), Place(workspace, home)))


def _action(tool: str) -> Action:
    """What a tool of this name does; what is not known is never milder than exec."""
    from signoff.supervisor.foreign import TOOLS, Kind

    words = {Kind.READ: Action.READ, Kind.WRITE: Action.WRITE, Kind.DELETE: Action.WRITE, Kind.HOST: Action.NET}
    kind = TOOLS.get(tool.lower())
    return Action.READ if kind is Kind.HARMLESS else words.get(kind, Action.EXEC) if kind else Action.EXEC


def _tell(output: Output, found: Explanation) -> None:
    output.text(_painted(output, found.decision, _VERDICTS[found.decision]) + f": {REQUIREMENTS[found.requirement]}")
    if found.reason:
        output.text(f"  {visible(found.reason)}", 2)
    for segment in found.segments:
        decision = _painted(output, segment.decision, f"{segment.decision:9}")
        output.text(f"    {decision}  {segment.kind}: {visible(segment.text)}", _INDENT)
    output.text("rules")
    for rule in found.matched_rules:
        mark = "→" if rule == found.winner else " "
        output.text(f"  {mark} {_described(rule)}", _INDENT)
    if found.proposed_execpolicy_amendment:
        words = " ".join(map(visible, found.proposed_execpolicy_amendment))
        output.text(f"a rule could allow: {words}", 2)
    output.text(f"sandbox: {found.sandbox}", 2)


def _described(rule: MatchedRule) -> str:
    where = "built in" if rule.builtin else rule.source
    name = f"{rule.rule_id} " if rule.rule_id != rule.source else ""
    prefix = f" [{visible(' '.join(rule.matched_prefix))}]" if rule.matched_prefix else ""
    return f"{rule.decision:9}  {name}({where}){prefix}" + (f": {visible(rule.reason)}" if rule.reason else "")


def _painted(output: Output, decision: str, text: str) -> str:
    return output.paint(text, _STYLES[decision])
