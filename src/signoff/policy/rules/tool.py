"""Tool names: exact, `*`, or a family, `git.*`: the name before the dot and everything after it."""


def covers(pattern: str, tool: str) -> bool:
    if pattern == "*" or pattern == tool:
        return True
    if pattern.endswith(".*"):
        return tool.startswith(pattern[:-1])  # the dot stays: `git.*` is not `gitfoo`
    return pattern.endswith("*") and tool.startswith(pattern[:-1])
