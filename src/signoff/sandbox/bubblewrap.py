"""The same layout, built by bubblewrap: where the system lets only that program make user namespaces.

bubblewrap makes namespaces and mounts, then starts our zygote as process 1 inside; limits, Landlock and the system call
filter are the zygote's as ever. For that the interpreter and this package must be visible inside.
"""

import os
import stat
import sys

from signoff.domain.errors import NotEnforceable
from signoff.domain.settings import Network
from signoff.sandbox.inside.kernel import RDONLY
from signoff.sandbox.inside.mounts import PROC_MASKED, Step, Tree
from signoff.sandbox.launch import PACKAGES
from signoff.sandbox.layout import Layout

PLACES = ("/usr/local/bin/bwrap", "/usr/bin/bwrap", "/bin/bwrap")  # never from a PATH a workspace could extend


def program() -> str:
    for path in PLACES:
        if os.access(path, os.X_OK):
            return path
    raise NotEnforceable("bubblewrap is not installed")


def words(layout: Layout, network: Network) -> tuple[str, ...]:
    """The command line in front of the zygote's own."""
    start = [program(), "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    start += ["--unshare-net"] if network is not Network.ON else []
    start += ["--as-pid-1", "--cap-drop", "ALL"]
    visible = [path for path, _, _, _ in layout.trees]
    own = [argument for path in _interpreter(visible) for argument in ("--ro-bind", path, path)]
    furnish = [
        argument for step in layout.steps if step[0] != "seal" for argument in _arguments(step, layout.trees, visible)
    ]
    seals = [
        argument for step in layout.steps if step[0] == "seal" for argument in _arguments(step, layout.trees, visible)
    ]
    return (*start, *furnish, *own, *seals, "--chdir", "/", "--")


def _interpreter(visible: list[str]) -> list[str]:
    needed = {sys.base_prefix, sys.prefix, PACKAGES, os.path.dirname(os.path.realpath(sys.executable))}
    return sorted(path for path in needed if not _within(path, visible))


def _arguments(step: Step, trees: list[Tree], visible: list[str]) -> list[str]:
    kind, path = str(step[0]), str(step[1]) if len(step) > 1 else ""
    match kind:
        case "base":
            return ["--ro-bind", "/", "/"] if step[1] != -1 else []
        case "directory":
            return ["--dir", path]
        case "tmpfs":
            options = dict(part.partition("=")[::2] for part in str(step[2]).split(","))
            size = options["size"].replace("k", "000").replace("m", "000000")
            return ["--perms", options["mode"], "--size", size, "--tmpfs", path]
        case "link":
            return ["--symlink", str(step[2]), path]
        case "bind":
            source, attributes, _, optional = trees[int(step[2])]
            way = ("--ro-bind" if attributes & RDONLY else "--bind") + ("-try" if optional else "")
            return [way, source, path]
        case "mask":
            return _mask(path) if _within(path, visible) else []
        case "pin":
            return ["--ro-bind" if int(step[2]) & RDONLY else "--bind", path, path]
        case "seal":
            return ["--remount-ro", path]
        case "dev":
            return ["--dev", "/dev"]
        case "proc":
            return ["--proc", "/proc", *(word for name in PROC_MASKED for word in _mask(f"/proc/{name}"))]
        case _:
            raise NotEnforceable(f"bubblewrap cannot do this: {kind}")


def _mask(path: str) -> list[str]:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return []
    if stat.S_ISLNK(mode):
        return []
    return (
        ["--perms", "0555", "--tmpfs", path, "--remount-ro", path]
        if stat.S_ISDIR(mode)
        else ["--ro-bind", os.devnull, path]
    )


def _within(path: str, roots: list[str]) -> bool:
    return any(path == root or path.startswith(f"{root.rstrip('/')}/") for root in roots)
