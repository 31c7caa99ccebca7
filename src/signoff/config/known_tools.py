"""How the tools of a server looked when a call of them was last let through, project by project.

Kept by fingerprint: of the server, the description and the schemas. What looks different since then is asked about again,
whatever the rules say, because a rule or a yes was given to what the person could read at that time.
"""

from pathlib import Path

import msgspec

from signoff.config.document import read_bytes
from signoff.domain.unreadable import UNREADABLE
from signoff.files import atomic, lock


class _Known(msgspec.Struct):
    projects: dict[str, dict[str, str]] = {}  # path -> tool -> fingerprint


class KnownTools:
    def __init__(self, path: Path, project: str) -> None:
        self._path, self._project = path, project
        self.damaged = False
        self._seen = self._read().projects.get(project, {})

    def changed(self, tool: str, fingerprint: str) -> bool:
        """Was it let through before, and looked different then? Where nobody can tell any more, it was."""
        if tool not in self._seen:
            return self.damaged
        return self._seen[tool] != fingerprint

    def keep(self, tool: str, fingerprint: str) -> None:
        if self._seen.get(tool) == fingerprint:
            return
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with lock.locked(f"{self._path}.lock"):
            known = self._read()
            self._seen = known.projects.setdefault(self._project, {})
            self._seen[tool] = fingerprint
            atomic.write(str(self._path), msgspec.json.encode(known, order="sorted"), mode=0o600)

    def _read(self) -> _Known:
        content = read_bytes(self._path)
        try:
            return _Known() if content is None else msgspec.json.decode(content, type=_Known)
        except UNREADABLE:
            self.damaged = True
            return _Known()
