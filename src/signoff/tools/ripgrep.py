"""Where ripgrep is: beside our own interpreter, where its wheel puts it; else in PATH; else nowhere."""

import os
import shutil
import sys


def bundled() -> str | None:
    """The one that was installed with us. A sandbox has to open it by name, since PATH need not lead there."""
    program = os.path.join(os.path.dirname(sys.executable), "rg")
    return os.path.realpath(program) if os.access(program, os.X_OK) else None


def program() -> str | None:
    return bundled() or shutil.which("rg")
