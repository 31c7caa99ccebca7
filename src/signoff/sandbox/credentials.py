"""Where secrets lie on a machine: places that stay masked whatever else a profile lets a command read."""

import itertools
import os
import pwd
from collections.abc import Iterator

from signoff.policy.rules.sensitive import IN_A_HOME

_IN_THE_SYSTEM = [
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/security/opasswd",
    "/etc/krb5.keytab",
    "/etc/wireguard",
    "/etc/openvpn",
    "/etc/docker",
    "/etc/NetworkManager",
    "/etc/ppp",
    "/etc/letsencrypt",
    "/etc/wpa_supplicant",
    "/etc/kubernetes",
    "/etc/rancher",
    "/etc/signoff/keys",
    "/var/lib/docker",
    "/var/lib/kubelet",
    "/var/lib/rancher",
    "/var/lib/containerd",
]

_PUBLIC_ENDINGS = (".example", ".sample", ".template")
_SEARCHED_LAST = frozenset({"node_modules", ".venv", "venv", "target", "__pycache__", ".tox", "site-packages"})
_MOST_DIRECTORIES, _MOST_OF_THE_LAST = 1_000, 200


def stores(home: str) -> list[str]:
    """Credential stores of every home on the machine and of the system, present or not."""
    homes = {home, *(entry.pw_dir for entry in pwd.getpwall() if entry.pw_uid == 0 or entry.pw_uid >= 1000)}
    in_homes = [f"{place}/{name}" for place in sorted(homes) if len(place) > 1 for name in IN_A_HOME]
    return [*_IN_THE_SYSTEM, *in_homes]


def environment_files(root: str) -> list[str]:
    """`.env` and its siblings, nearest first; a mask stays on the file when a directory above is renamed."""
    return [path for path in _walk(root) if is_environment_file(os.path.basename(path))]


def is_environment_file(name: str) -> bool:
    return name.startswith(".env") and not name.endswith(_PUBLIC_ENDINGS)


def _walk(root: str) -> Iterator[str]:
    """Files of the nearest directories. Each is read whole: however many files are put into it, none hides another."""
    waiting, last = [root], list[str]()
    for directories, most in ((waiting, _MOST_DIRECTORIES), (last, _MOST_OF_THE_LAST)):
        for directory in itertools.islice(directories, most):  # they grow while they are walked
            try:
                entries = list(os.scandir(directory))
            except OSError:
                continue
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    yield from [entry.path] if entry.is_file(follow_symlinks=False) else []
                elif entry.name != ".git":
                    (last if entry.name in _SEARCHED_LAST else directories).append(entry.path)


def closed_to_others(directory: str) -> list[str]:
    """What only its owner or group may read below a directory: to be masked for a command that runs as root."""
    found: list[str] = []
    for place, directories, files in os.walk(directory):
        for name in [*directories, *files]:
            path = os.path.join(place, name)
            try:
                mode = os.lstat(path).st_mode
            except OSError:
                continue
            if not mode & 0o004:
                found.append(path)
        directories[:] = [name for name in directories if os.path.join(place, name) not in found]
    return found
