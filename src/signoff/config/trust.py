"""Which projects a person trusts, by path and by what their `.signoff` folder and their `.mcp.json` say.

A change of any file that counts ends the trust until the person has looked again. Whoever acts on a project's files uses
the same bytes the digest was taken of (`contents`), so that nothing can change between the look and the use.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from signoff.config.document import read_bytes, read_own
from signoff.config.locations import PROJECT_FOLDER, Environment, trust_store
from signoff.domain.errors import ConfigError, ConfigUnreadable, FileRefused
from signoff.domain.late import late
from signoff.domain.unreadable import UNREADABLE
from signoff.files import atomic, lock

if TYPE_CHECKING:
    import hashlib
else:
    hashlib = late("hashlib")

CONFIG, POLICY, RULES = "config.toml", "policy.toml", "rules"
TOOL_SERVERS = ".mcp.json"  # beside the folder, where other programs look for it
_MOST_RULE_FILES = 1_000

Contents = Mapping[str, bytes]


class _Store(msgspec.Struct, forbid_unknown_fields=True):
    projects: dict[str, str] = {}  # path -> digest


def contents(root: Path) -> dict[str, bytes]:
    """Every file of the project that counts, by its name inside `.signoff`; and `.mcp.json`."""
    folder = root / PROJECT_FOLDER
    names = [CONFIG, POLICY, *_rule_files(folder)]
    found = {name: read_bytes(folder / name) for name in names}
    servers = root / TOOL_SERVERS
    found[TOOL_SERVERS] = None if servers.is_dir() else read_bytes(servers)  # a directory keeps the place in sandboxes
    return {name: content for name, content in found.items() if content is not None}


def digest(files: Contents) -> str:
    whole = hashlib.sha256()
    for name, content in sorted(files.items()):
        whole.update(hashlib.sha256(name.encode()).digest() + hashlib.sha256(content).digest())
    return f"sha256:{whole.hexdigest()}"


def trusted(environ: Environment) -> Mapping[str, str]:
    """The digest of every project, by its path. Raises ConfigError where the file cannot be read."""
    return _load(trust_store(environ)).projects


def is_trusted(environ: Environment, root: Path, files: Contents) -> bool:
    return trusted(environ).get(str(root.resolve())) == digest(files)


def was_trusted(environ: Environment, root: Path) -> bool:
    """As it was once; it may have changed since."""
    return str(root.resolve()) in trusted(environ)


def trust(environ: Environment, root: Path, files: Contents) -> None:
    _change(environ, root, digest(files))


def distrust(environ: Environment, root: Path) -> bool:
    """Forget the project; says whether it was known."""
    return _change(environ, root, None)


def _change(environ: Environment, root: Path, seen: str | None) -> bool:
    path, name = trust_store(environ), str(root.resolve())
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with lock.locked(f"{path}.lock"):
            store = _load(path)
            known = store.projects.pop(name, None) is not None
            if seen is not None:
                store.projects[name] = seen
            atomic.write(str(path), msgspec.json.format(msgspec.json.encode(store, order="sorted")) + b"\n", mode=0o600)
    except (OSError, FileRefused) as error:
        raise ConfigError(f"the decision cannot be kept in {path}: {error}") from error
    return known


def _load(path: Path) -> _Store:
    content = read_own(path)
    if content is None:
        return _Store()
    try:
        return msgspec.json.decode(content, type=_Store)
    except UNREADABLE as error:
        hint = "Remove the file and trust your projects again."
        raise ConfigError(f"{path} is damaged: {error}", hint=hint) from error


def _rule_files(folder: Path) -> list[str]:
    try:
        names = sorted(f"{RULES}/{path.name}" for path in (folder / RULES).glob("*.rules"))
    except OSError as error:
        raise ConfigUnreadable(f"cannot read {folder / RULES}: {error.strerror}") from error
    if len(names) > _MOST_RULE_FILES:
        raise ConfigUnreadable(f"{folder / RULES} has more than {_MOST_RULE_FILES} rule files")
    return names
