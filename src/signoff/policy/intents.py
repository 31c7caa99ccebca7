"""The intent of starting a process, from its argv or a script."""

from signoff.domain.intent import Action, Escalation, Intent
from signoff.policy.shell import read_argv, read_script

SHELL_TOOL = "shell"


def argv_intent(
    argv: tuple[str, ...],
    *,
    cwd: str,
    home: str,
    tool: str = SHELL_TOOL,
    escalation: Escalation = Escalation.USE_DEFAULT,
    justification: str | None = None,
    prefix_rule: tuple[str, ...] | None = None,
) -> Intent:
    """For a shell with `-c` or `-lc` and a script, what the script does."""
    reading = read_argv(argv, cwd=cwd, home=home)
    return Intent(tool, Action.EXEC, reading.aspects, escalation, justification, prefix_rule, argv)


def script_intent(script: str, *, cwd: str, home: str, shell: str = "/bin/bash") -> Intent:
    reading = read_script(script, cwd=cwd, home=home)
    return Intent(SHELL_TOOL, Action.EXEC, reading.aspects, argv=(shell, "-lc", script))
