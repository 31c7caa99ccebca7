"""Where ripgrep is: beside our own interpreter, where its wheel puts it; else in PATH; else nowhere."""

import os
import sys


def bundled() -> str | None:
    """The one that was installed with us. A sandbox has to open it by name, since PATH need not lead there."""
    program = os.path.join(os.path.dirname(sys.executable), "rg")
    return os.path.realpath(program) if os.access(program, os.X_OK) else None


def program() -> str | None:
    found = (os.path.join(place, "rg") for place in os.get_exec_path())
    return bundled() or next((path for path in found if os.path.isfile(path) and os.access(path, os.X_OK)), None)
