"""Where secrets lie on a machine: places that stay masked whatever else a profile lets a command read."""

import contextlib
import os
import pwd
import stat
from collections.abc import Iterator

from signoff.policy.rules.sensitive import IN_A_HOME
from signoff.sandbox.protected import Unprotectable

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
_MOST_DIRECTORIES, _MOST_FILES = 200_000, 500
_LONGEST_PATH = 3_000  # bytes; a mask needs a path that the kernel takes with a little put in front


def stores(home: str) -> list[str]:
    """Credential stores of every home on the machine and of the system, present or not."""
    homes = {home, *(entry.pw_dir for entry in pwd.getpwall() if entry.pw_uid == 0 or entry.pw_uid >= 1000)}
    in_homes = [f"{place}/{name}" for place in sorted(homes) if len(place) > 1 for name in IN_A_HOME]
    return [*_IN_THE_SYSTEM, *in_homes]


def environment_files(root: str) -> list[str]:
    """`.env` and its siblings wherever they lie below a root, under every name, and directories that cannot be searched.

    All of it is searched, so that nothing hides behind many other things; what is too much is refused, never left out.
    A mask stays on the file when a directory above is renamed.
    """
    waiting, found = [root], list[str]()
    for directory in waiting:  # grows while it is walked: nearest first
        if len(os.fsencode(directory)) > _LONGEST_PATH:
            found.append(directory)
            continue
        try:
            with os.scandir(directory) as entries:
                below, files = _look(entries, root)
        except FileNotFoundError:
            continue
        except OSError as error:  # closed to us, but a command could open it again
            if directory == root:
                raise Unprotectable(
                    f"{root} cannot be read: {error.strerror}", hint="Choose a directory of your own."
                ) from error
            found.append(directory)
            continue
        waiting += below
        found += files
        if len(waiting) > _MOST_DIRECTORIES or len(found) > _MOST_FILES:
            raise Unprotectable(
                f"{root} holds more than {_MOST_DIRECTORIES} directories or {_MOST_FILES} files such as .env, "
                "so that they cannot all be hidden",
                hint="Start in a smaller directory, or remove what is not needed.",
            )
    return [*found, *_other_names(waiting, found)]


def _other_names(directories: list[str], found: list[str]) -> list[str]:
    """Under which names the same files can be read, too: hard links, looked for only where there are any."""
    linked = {
        (one.st_dev, one.st_ino) for one in map(os.lstat, found) if stat.S_ISREG(one.st_mode) and one.st_nlink > 1
    }
    names: list[str] = []
    for directory in directories if linked else ():
        with contextlib.suppress(OSError), os.scandir(directory) as entries:
            names += [
                entry.path
                for entry in entries
                if any(entry.inode() == inode for _, inode in linked)
                and (entry.stat(follow_symlinks=False).st_dev, entry.inode()) in linked
            ]
    return sorted(set(names) - set(found))


def _look(entries: Iterator[os.DirEntry[str]], root: str) -> tuple[list[str], list[str]]:
    """The directories to search, and what to hide: whatever has such a name, and what a link of such a name leads to."""
    below, found = list[str](), list[str]()
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            hidden = is_environment_file(entry.name) and not _is_toolchain(entry.path)
            (found if hidden else below).append(entry.path)
        elif is_environment_file(entry.name):
            real = os.path.realpath(entry.path) if entry.is_symlink() else entry.path
            if real.startswith(f"{root}/") and not real.endswith(_PUBLIC_ENDINGS) and os.path.isfile(real):
                found.append(real)
    return below, found


def _is_toolchain(directory: str) -> bool:
    """Many call a virtual environment `.env`."""
    return any(os.path.lexists(os.path.join(directory, name)) for name in ("pyvenv.cfg", "conda-meta"))


def is_environment_file(name: str) -> bool:
    return name[:4].lower() == ".env" and not name.endswith(_PUBLIC_ENDINGS)


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
