"""signoff chat: talk with our own agent. On a terminal a conversation, elsewhere one question and its answer."""

import os
import sys
from typing import Any

import click
import msgspec

from signoff.cli.agent_options import Chosen, agent_options, enter, piped
from signoff.cli.agent_session import begun
from signoff.cli.output import Output
from signoff.domain.errors import UsageError


@click.command()
@agent_options
@click.argument("prompt", required=False)
@click.pass_obj
def chat(output: Output, /, prompt: str | None, **options: Any) -> int:
    """Talk with our own agent, at the terminal or in a pipe.

    /help lists what can be typed besides prompts; Ctrl-C stops a turn, twice leaves.
    In a pipe, or with --json, it answers once and ends like `run`.

    \b
    Examples:
      signoff chat
      signoff chat "what does this project do?"
      signoff chat -c
      signoff chat -m ollama/qwen3 --json "name three risks" < design.md
    """
    chosen = msgspec.convert(options, Chosen)
    enter(chosen.cwd)
    talking = chosen.format == "text" and sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    if talking and os.environ.get("TERM") != "dumb":
        if chosen.output_schema is not None:
            raise UsageError(
                "--output-schema is for one answer, not for a conversation",
                hint="Use `signoff run --output-schema FILE TASK`, or --json.",
            )
        from signoff.cli.repl import talk

        with begun(output, chosen) as session:
            return talk(output, chosen, session, prompt or "")
    asked = "\n\n".join(part for part in (prompt or "", piped()) if part.strip())
    if not asked:
        raise UsageError("there is no prompt, and no terminal to type one", hint='Example: signoff chat "hello"')
    from signoff.cli.run import worked

    with begun(output, chosen) as session:
        return worked(output, chosen, session, asked)
