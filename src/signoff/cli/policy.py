"""signoff policy: try commands against the rules, test the rules' examples, see what is in force, begin."""

import json
import os
from pathlib import Path

import click
import msgspec

from signoff.cli.app import Group
from signoff.cli.judging import (
    COMMAND_LINE,
    REQUIREMENTS,
    approval_option,
    batch,
    judge_of,
    rule_files,
    rules_option,
    sandbox_option,
)
from signoff.cli.output import Output, counted, json_option
from signoff.config import locations
from signoff.config.layers import load as load_settings
from signoff.config.rules import POLICY
from signoff.domain.errors import ConfigUnreadable, Exit, UsageError
from signoff.domain.intent import Intent
from signoff.domain.visible import visible
from signoff.policy.explain import Answer, answer
from signoff.policy.ruleset import Rules


@click.group(cls=Group)
def policy() -> None:
    """Try commands against the rules, test them, see what is in force.

    \b
    Examples:
      signoff policy check -- git push
      signoff policy list
      signoff policy test
      signoff policy init
    """


@policy.command(context_settings=COMMAND_LINE)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("--script", help="Judge a shell script, not a command.")
@click.option("--batch", "rows", metavar="FILE|-", help="Judge JSON lines; answer JSON lines in the same order.")
@rules_option
@approval_option
@sandbox_option
@json_option
@click.pass_obj
def check(
    output: Output,
    command: tuple[str, ...],
    script: str | None,
    rows: str | None,
    files: tuple[str, ...],
    approval: str | None,
    sandbox: str | None,
    as_json: bool,
) -> None:
    """Judge a command, a script, or a batch of them.

    The verdict never changes the exit status: it is 0 whenever there is an answer, 3 for rules that cannot be read.
    A row of a batch is {"id": …, "argv": […]} or {"id": …, "script": "…"}.

    \b
    Examples:
      signoff policy check -- npm test
      signoff policy check --approval untrusted --script 'ls | wc -l' --json
      signoff policy check --rules my.rules --batch commands.jsonl
    """
    if sum((bool(command), script is not None, rows is not None)) != 1:
        hint = "Try: signoff policy check -- ls"
        raise UsageError("check wants one of: -- COMMAND, --script TEXT, --batch FILE", hint=hint)
    judge = judge_of(output, files, approval, sandbox)

    def judged(intent: Intent) -> Answer:
        return answer(*judge.judge(intent))

    if rows is not None:
        for name, asked in batch(rows):
            found = judged(judge.script(asked) if isinstance(asked, str) else judge.argv(asked))
            click.echo(json.dumps({"id": name, **msgspec.to_builtins(found)}))
        return
    found = judged(judge.argv(command) if script is None else judge.script(script))
    if as_json:
        click.echo(json.dumps(msgspec.to_builtins(found), indent=2))
        return
    output.text(f"{found.decision}: {REQUIREMENTS[found.requirement]}")
    if found.reason:
        output.text(visible(found.reason))


@policy.command()
@rules_option
@json_option
@click.pass_obj
def test(output: Output, files: tuple[str, ...], as_json: bool) -> int:
    """Run every example in the rules.

    The exit status is 1 when one does not hold.

    \b
    Examples:
      signoff policy test
      signoff policy test --rules my.rules
    """
    from signoff.policy.execpolicy import language
    from signoff.policy.rules import written

    examples, problems = 0, []
    for found in rule_files(output, load_settings(os.environ, Path.cwd(), output.flags), files):
        file = str(found.path)
        if found.path.suffix == ".rules":
            rules = language.parse_rules(found.text, file, found.layer)
            for rule in rules.prefixes:
                examples += len(rule.match) + len(rule.not_match)
                problems += [f"{rule.source}: {said}" for said in language.wrong_examples(rule, rules.listed)]
        elif found.path.name == POLICY or files:
            for entry in written.parse_policy(found.text, file, found.layer).rules:
                examples += len(entry.match) + len(entry.not_match)
                problems += [f"{entry.source}: {said}" for said in written.wrong_examples(entry)]
    if as_json:
        output.json({"examples": examples, "problems": problems})
    else:
        for problem in problems:
            output.text(visible(problem))
        output.text(f"{counted(examples, 'example')}, {counted(len(problems), 'problem')}")
    return Exit.FOUND if problems else Exit.OK


@policy.command("list")
@rules_option
@json_option
@click.pass_obj
def list_rules(output: Output, files: tuple[str, ...], as_json: bool) -> None:
    """Show every rule in force with the place it comes from, the built-in ones too.

    \b
    Examples:
      signoff policy list
      signoff policy list --json
    """
    from signoff.policy.listing import listed

    found = rule_files(output, load_settings(os.environ, Path.cwd(), output.flags), files)
    rules = Rules.of(file.rules() for file in found)
    entries = listed(rules)
    if as_json:
        output.json({"default_action": rules.default_action, "rules": entries})
        return
    for entry in entries:
        reason = f"  # {visible(entry.reason)}" if entry.reason else ""
        output.text(f"{entry.decision:9}  {visible(entry.rule)}  ({entry.source}){reason}", 11)


@policy.command()
@click.option("--project", is_flag=True, help="For this project, in .signoff; it may only restrict.")
@click.option("--print", "show", is_flag=True, help="Print the files instead of writing them.")
@click.pass_obj
def init(output: Output, project: bool, show: bool) -> None:
    """Write a commented starter for rules.

    It is a rule file for commands and a policy.toml for everything else. Nothing that exists is touched.

    \b
    Examples:
      signoff policy init
      signoff policy init --print
    """
    from signoff.cli.policy_starter import POLICY_FILE, RULE_FILE

    folder = Path.cwd() / locations.PROJECT_FOLDER if project else locations.user_config(os.environ)
    rules = folder / "rules" if project else locations.user_rules(os.environ)
    files = {rules / "commands.rules": RULE_FILE, folder / POLICY: POLICY_FILE}
    if show:
        for path, text in files.items():
            output.text(f"# {path}\n{text}")
        return
    existing = [str(path) for path in files if path.exists()]
    if existing:
        raise UsageError(
            f"{' and '.join(existing)} exist{'s' if len(existing) == 1 else ''} already",
            hint="Nothing was written; edit the file.",
        )
    for path, text in files.items():
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with open(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise ConfigUnreadable(f"cannot write {path}: {error.strerror}") from error
        output.say(f"wrote {path}")
