"""What is installed, found without importing anything that costs time."""

import os
import sys

import signoff


def text() -> str:
    facts = _facts()
    commit = facts["commit"]
    short = f" ({commit[:12]})" if commit else ""
    return f"signoff {facts['version']}{short}, Python {facts['python']}, {facts['platform']}\n"


def json() -> str:
    """The same as one JSON object, written by hand because the json module would double the waiting time."""
    rows = [f'  "{name}": {_quoted(value) if value else "null"}' for name, value in _facts().items()]
    return "{\n" + ",\n".join(rows) + "\n}\n"


def _facts() -> dict[str, str | None]:
    machine = os.uname()
    return {
        "name": "signoff",
        "version": signoff.__version__,
        "commit": _commit(),
        "python": sys.version.split()[0],
        "platform": f"{machine.sysname} {machine.release} {machine.machine}",
    }


def _commit() -> str | None:
    """The commit a wheel was built from, or the one checked out where the package runs from its repository."""
    package = os.path.dirname(signoff.__file__)
    noted = _first_line(os.path.join(package, "COMMIT"))
    if noted:
        return noted
    git = os.path.join(os.path.dirname(os.path.dirname(package)), ".git")
    head = _first_line(os.path.join(git, "HEAD"))
    if head is None or not head.startswith("ref: "):
        return head
    name = head.removeprefix("ref: ")
    return _first_line(os.path.join(git, name)) or _packed(os.path.join(git, "packed-refs"), name)


def _packed(path: str, name: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as lines:
            return next((line.split()[0] for line in lines if line.rstrip().endswith(f" {name}")), None)
    except OSError:
        return None


def _first_line(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline().strip() or None
    except OSError:
        return None


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
