"""What `why` and `policy check` share: the rules and circumstances of this call, and judging by them."""

import os
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from signoff.cli import wiring
from signoff.cli.output import Output
from signoff.config.judging import judging_context
from signoff.config.layers import Configuration
from signoff.config.rules import Found, Places, find, named
from signoff.domain.context import Context
from signoff.domain.errors import UsageError
from signoff.domain.intent import Intent
from signoff.domain.late import late
from signoff.domain.requirement import Requirement
from signoff.domain.settings import ApprovalPolicy, SandboxMode
from signoff.domain.verdict import Verdict
from signoff.files.links import followed
from signoff.policy.ruleset import Rules

if TYPE_CHECKING:
    from signoff.policy import decide as deciding
    from signoff.policy import intents
    from signoff.policy import requirement as requiring
else:  # most who take their options from here judge later, or never
    deciding = late("signoff.policy.decide")
    intents = late("signoff.policy.intents")
    requiring = late("signoff.policy.requirement")

rules_option = click.option(
    "-r",
    "--rules",
    "--policy",
    "files",
    multiple=True,
    metavar="FILE",
    help="Judge by this file only, a rule file or a policy.toml; may be repeated.",
)
approval_option = click.option(
    "--approval",
    type=click.Choice([each.value for each in ApprovalPolicy]),
    help="When a person is asked; else the setting `approval`.",
)
REQUIREMENTS = {"skip": "runs without a question", "needs_approval": "a person is asked", "forbidden": "refused"}
# what follows the first word of the command is the command's own
COMMAND_LINE = {"allow_interspersed_args": False}
sandbox_option = click.option(
    "--sandbox",
    type=click.Choice([each.value for each in SandboxMode]),
    help="What commands may change; else the setting `sandbox.mode`.",
)


class Judge(msgspec.Struct, frozen=True):
    rules: Rules
    context: Context

    def judge(self, intent: Intent) -> tuple[Verdict, Requirement]:
        verdict = deciding.decide(intent, self.rules, self.context)
        return verdict, requiring.requirement(intent, verdict, self.context, self.rules)

    def argv(self, words: tuple[str, ...]) -> Intent:
        return followed(intents.argv_intent(words, cwd=self.context.workspace, home=self.context.home or "/"))

    def script(self, text: str) -> Intent:
        return followed(intents.script_intent(text, cwd=self.context.workspace, home=self.context.home or "/"))


def judge_of(output: Output, files: tuple[str, ...], approval: str | None, sandbox: str | None) -> Judge:
    loaded = wiring.configuration(output, {"approval": approval, "sandbox.mode": sandbox})
    found = rule_files(output, loaded, files)
    now = time.time_ns() // 1_000_000
    return Judge(
        Rules.of(file.rules() for file in found), judging_context(loaded.settings, os.environ, Path.cwd(), now_ms=now)
    )


def rule_files(output: Output, loaded: Configuration, files: tuple[str, ...]) -> list[Found]:
    """The files named, else those of every layer."""
    if files:
        return named(tuple(map(Path, files)))
    found, warnings = find(Places(dict(os.environ), loaded.project, wiring.project_name(loaded)))
    for warning in warnings:
        output.warn(warning)
    return found


def batch(name: str) -> Iterator[tuple[Any, tuple[str, ...] | str]]:
    """The rows of a batch: an id with an argv or a script."""
    stream: Iterable[str] = sys.stdin if name == "-" else _lines(Path(name))
    for number, line in enumerate(stream, start=1):
        if line.strip():
            yield _row(line, f"{'stdin' if name == '-' else name}:{number}")


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text") from error


def _row(line: str, place: str) -> tuple[Any, tuple[str, ...] | str]:
    import json

    hint = 'A row is {"id": …, "argv": ["ls"]} or {"id": …, "script": "ls"}.'
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{place}: not JSON: {error}", hint=hint) from error
    match row:
        case {"id": name, "argv": [_, *_] as argv, **rest} if not rest and all(isinstance(one, str) for one in argv):
            return name, tuple(argv)
        case {"id": name, "script": str(script), **rest} if not rest:
            return name, script
        case _:
            raise UsageError(f"{place}: not a row to be judged", hint=hint)
