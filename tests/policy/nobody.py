"""How tests run programs that they do not trust: unprivileged, and with little to use up."""

import os
import resource
from typing import Any

NOBODY = 65534


def _little() -> None:
    for limit, value in ((resource.RLIMIT_CPU, 5), (resource.RLIMIT_FSIZE, 1 << 20), (resource.RLIMIT_CORE, 0)):
        resource.setrlimit(limit, (value, value))


def as_nobody() -> dict[str, Any]:
    """Arguments for subprocess.run."""
    arguments: dict[str, Any] = {"preexec_fn": _little}
    if os.geteuid() == 0:
        arguments |= {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    return arguments
