"""Write the commit a wheel was built from into the wheel, so that `signoff version` can name it."""

import pathlib
import subprocess
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommitHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or version == "editable":
            return
        git = subprocess.run(["git", "-C", self.root, "rev-parse", "HEAD"], check=False, capture_output=True, text=True)
        if git.returncode != 0:
            return
        note = pathlib.Path(self.directory) / "COMMIT"
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(git.stdout.strip() + "\n", encoding="utf-8")
        build_data["force_include"][str(note)] = "signoff/COMMIT"
