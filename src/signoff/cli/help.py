"""The text of `signoff --help`, made from the command table. No import of anything heavy: this is what people wait for."""

from signoff.cli.commands import COMMANDS, EXAMPLES, GROUPS, OPTIONS

ABOUT = "One door in front of everything a coding agent does."


def text() -> str:
    options = [(", ".join(names) + (f" {value}" if value else ""), meaning) for names, value, meaning in OPTIONS]
    width = max(map(len, COMMANDS)) + 2
    lines = ["Usage: signoff [OPTIONS] COMMAND [ARGS]...", "", f"  {ABOUT}", ""]
    for title, group in GROUPS.items():
        lines += [f"{title}:", *(f"  {name.ljust(width)}{entry.summary}" for name, entry in group.items()), ""]
    width = max(len(name) for name, _ in options) + 2
    lines += ["Options:", *(f"  {name.ljust(width)}{meaning}" for name, meaning in options), ""]
    lines += ["Examples:", *(f"  {example}" for example in EXAMPLES), ""]
    lines.append('"signoff COMMAND --help" says more about a command.')
    return "\n".join(lines) + "\n"
