"""`signoff acp serve` with the echo model, as a command for the programs of others; all it keeps is under one folder."""

import os
import pathlib
import sys

COMMAND = [str(pathlib.Path(sys.executable).with_name("signoff")), "acp", "serve", "-m", "echo/echo"]
PLACES = ("HOME", "SIGNOFF_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")


def environment(folder: pathlib.Path) -> dict[str, str]:
    return dict(os.environ) | {name: str(folder / name) for name in PLACES}
