"""What a bad end leaves for whoever has to find out why: one file, redacted, readable by its owner alone."""

import os
from collections.abc import Callable
from typing import Any

import msgspec

from signoff.files.atomic import write
from signoff.supervisor.arbiter import Arbiter
from signoff.supervisor.ends import Ending
from signoff.supervisor.session import Session


def bundle(session: Session, arbiter: Arbiter, ending: Ending, redact: Callable[[str], str]) -> dict[str, Any]:
    """Everything that was known at the end."""
    spec = session.spec
    return {
        "run_id": spec.run_id,
        "command": [redact(word) for word in spec.argv],
        "cwd": redact(spec.cwd),
        "exit_code": ending.exit_code,
        "exit_reason": redact(ending.reason),
        "counts": msgspec.structs.asdict(arbiter.tally) | {"forged": session.trust.forged},
        "calls": [
            {
                "id": redact(entry.request.id),
                "tool": redact(entry.request.tool),
                "state": entry.state,
                "retries": entry.retries,
            }
            for entry in arbiter.left
        ],
        "tails": {
            name: redact(pump.tail.bytes().decode("utf-8", "backslashreplace")) for name, pump in session.pumps.items()
        },
    }


def keep(directory: str, run_id: str, content: dict[str, Any]) -> str:
    """Write the bundle; the path it went to."""
    os.makedirs(directory, mode=0o700, exist_ok=True)
    path = os.path.join(directory, f"{run_id}.json")
    write(path, msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n", mode=0o600)
    return path
