"""The text of `signoff --help`, made from the command table. No import of anything heavy: this is what people wait for."""

from signoff.cli.commands import COMMANDS, EXAMPLES, OPTIONS

ABOUT = "One door in front of everything a coding agent does."


def text() -> str:
    options = [(", ".join(names) + (f" {value}" if value else ""), meaning) for names, value, meaning in OPTIONS]
    commands = [(name, entry.summary) for name, entry in COMMANDS.items()]
    width = max(len(name) for name, _ in options + commands) + 2
    lines = ["Usage: signoff [OPTIONS] COMMAND [ARGS]...", "", f"  {ABOUT}", ""]
    for title, rows in (("Options", options), ("Commands", commands)):
        lines += [f"{title}:", *(f"  {name.ljust(width)}{meaning}" for name, meaning in rows), ""]
    lines += ["Examples:", *(f"  {example}" for example in EXAMPLES), ""]
    lines.append('"signoff COMMAND --help" says more about a command.')
    return "\n".join(lines) + "\n"
