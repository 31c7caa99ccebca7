"""signoff wrap: somebody else's agent, judged call by call."""

import os
import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from signoff.cli import wiring
from signoff.cli.judging import COMMAND_LINE, approval_option
from signoff.cli.output import Output
from signoff.cli.variables import variables
from signoff.cli.wiring_wrap import Options, wrapped
from signoff.domain.errors import UsageError
from signoff.domain.settings import Audit, DefaultAction, DenyExit, GatekeeperMode, Inject, OnAsk, Redact, SandboxMode
from signoff.supervisor.arbiter import OnUnenforcedDeny
from signoff.supervisor.session import EVENT_FD
from signoff.wire.jsonl import Demand


def _choice(kind: type[Any]) -> click.Choice[str]:
    return click.Choice([member.value for member in kind])


SETTINGS = {
    "approval": "approval",
    "audit": "policy.audit",
    "on_ask": "policy.on_ask",
    "default_action": "policy.default_action",
    "decision_timeout_ms": "policy.decision_timeout_ms",
    "redact": "ledger.redact",
    "inject_mode": "memory.inject_mode",
    "gatekeeper": "memory.gatekeeper",
    "project_id": "project_id",
}


@click.command(context_settings=COMMAND_LINE)
@approval_option
@click.option("--audit", type=_choice(Audit), help="prompt asks a person, auto never asks, off judges nothing.")
@click.option("--on-ask", type=_choice(OnAsk), help="When nobody is there to ask: deny and go on, or fail the run.")
@click.option(
    "--default-action", type=_choice(DefaultAction), help="The verdict on foreign tools that no rule speaks about."
)
@click.option("--decision-timeout-ms", type=click.IntRange(min=1), help="How long a question may stay open.")
@click.option("--sandbox", type=_choice(SandboxMode), help="Put the agent and all it starts into a sandbox.")
@click.option(
    "--network",
    type=click.Choice(["off", "on"]),
    default="on",
    show_default=True,
    help="With --sandbox: whether the agent reaches the network.",
)
@click.option("--require-enforcement", is_flag=True, help="End with 44 if the agent does not wait for decisions.")
@click.option("--on-unenforced-deny", type=_choice(OnUnenforcedDeny), default=OnUnenforcedDeny.WARN.value, show_default=True,
              help="What to do when an agent that does not wait did something denied.")  # fmt: skip
@click.option("--deny-exit", type=_choice(DenyExit), default=DenyExit.DENIED.value, show_default=True,
              help="denied: end with 40 if something was denied and the agent ended with 0.")  # fmt: skip
@click.option("--events", type=_choice(Demand), default=Demand.ANY.value, show_default=True,
              help="authenticated: only events that carry the nonce count.")  # fmt: skip
@click.option("--no-prefix-events", is_flag=True, help="Do not look for event lines with the prefix.")
@click.option("--no-json-events", is_flag=True, help="Do not look for event lines that are plain JSON.")
@click.option("--show-events", is_flag=True, help="Leave event lines in the output.")
@click.option("--max-parse-errors", type=click.IntRange(min=0), help="End the run after more bad event lines.")
@click.option("--events-out", metavar="FILE", help="Append every event to this file, as JSON lines.")
@click.option("--tty", is_flag=True, help="Give the agent a terminal of its own.")
@click.option("-C", "--cwd", metavar="DIR", help="Where to run the agent; the current directory otherwise.")
@click.option("--env", multiple=True, metavar="NAME=VALUE", help="Set a variable for the agent; repeatable.")
@click.option(
    "--timeout-ms", type=click.IntRange(min=1), help="End the run after so long, with 124; no limit unless given."
)
@click.option(
    "--abort-grace-ms",
    type=click.IntRange(min=0),
    default=5_000,
    show_default=True,
    help="How long the agent may tidy up after policy.abort, before SIGTERM.",
)
@click.option(
    "--kill-grace-ms",
    type=click.IntRange(min=0),
    default=3_000,
    show_default=True,
    help="How long it may take after SIGTERM, before SIGKILL.",
)
@click.option("--hang-ms", type=click.IntRange(min=1), help="End an agent that is silent for so long.")
@click.option("--project-id", metavar="NAME", help="Whose memory and grants; made from the path otherwise.")
@click.option("--redact", type=_choice(Redact), help="How many secrets are masked in the record.")
@click.option("--memory/--no-memory", default=None, help="Remember, and bring back what was remembered.")
@click.option("--inject-mode", type=_choice(Inject), help="Where in the prompt remembered answers go.")
@click.option("--gatekeeper", type=_choice(GatekeeperMode), help="How strictly it is judged what may be remembered.")
@click.option("--prompt", metavar="TEXT|@FILE", help="What the agent is asked; memory is added to it.")
@click.option("--inject-into", metavar="FILE", help="Write the prompt to this file instead of into {prompt}.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_obj
def wrap(output: Output, /, command: tuple[str, ...], cwd: str | None, **options: Any) -> int:
    """Supervise another agent: judge each tool call it announces.

    Its output passes through; each call that it announces is judged before it runs.

    The exit status is the agent's; 40 if something was denied, 41 if questions stayed unanswered, 44 if enforcement was
    demanded and is not possible, 124 when the time was up, 20 when the agent could not be started or was lost.
    Words of ours go to standard error. docs/protocol.md says what an agent has to do to be held.

    \b
    Examples:
      signoff wrap -- python examples/agent.py "ls" "rm -rf build"
      signoff wrap -- my-agent --task fix-tests
      signoff wrap --audit auto --on-ask fail --require-enforcement -- my-agent
      signoff wrap --sandbox workspace-write -- agent-without-the-protocol
      signoff wrap --prompt @task.md -- my-agent --ask {prompt}
    """
    if cwd is not None:
        _enter(cwd)
    flags = {SETTINGS[name]: str(value) for name, value in options.items() if name in SETTINGS and value is not None}
    if options["memory"] is not None:
        flags["memory.enabled"] = str(options["memory"]).lower()
    if options["sandbox"] is not None:
        flags["sandbox.mode"] = options["sandbox"]
    loaded = wiring.configuration(output, flags)
    own = {name: value for name, value in options.items() if name not in SETTINGS and name != "memory"}
    chosen = msgspec.convert({**own, "env": variables(options["env"])}, Options)
    return wrapped(output, loaded, _command(command, chosen), chosen)


def _enter(cwd: str) -> None:
    try:
        os.chdir(cwd)
    except OSError as error:
        raise UsageError(f"cannot run in {cwd}: {error.strerror}") from error


def _command(command: tuple[str, ...], options: Options) -> tuple[str, ...]:
    """With --sandbox the agent is started by our own `sandbox` command, which relays its three streams."""
    if options.sandbox is None:
        return command
    launcher = [sys.executable, "-c", "from signoff.cli.main import main; main()"]
    program = Path(sys.executable).with_name("signoff")
    limits = ["--mode", options.sandbox, "--network", options.network, "--timeout-ms", str(2**31 - 1)]
    if options.tty:
        limits += ["--tty", "--channel", EVENT_FD]
    passed = [word for name, value in options.env.items() for word in ("--env", f"{name}={value}")]
    return (*([str(program)] if program.exists() else launcher), "sandbox", *limits, *passed, "--", *command)
