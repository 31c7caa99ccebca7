"""The command table: name, where the click command lives, and its line in `signoff --help`. Modules are named as strings
so that a command costs nothing until it is called."""

from typing import NamedTuple


class Entry(NamedTuple):
    target: str  # module:attribute
    summary: str


COMMANDS: dict[str, Entry] = {
    "version": Entry("signoff.cli.version:version", "Show what is installed: version, commit, Python, platform."),
}
