"""From a profile to the zygote's plan: everything is decided and gathered here, in the parent."""

import enum
import marshal
import os
import resource
import stat
from collections.abc import Mapping

import msgspec

from signoff.config import locations
from signoff.domain.settings import Network, Reads
from signoff.sandbox import bubblewrap, credentials, protected, repository, seccomp
from signoff.sandbox.denial import Reach
from signoff.sandbox.identity import Identity
from signoff.sandbox.inside import landlock
from signoff.sandbox.inside.landlock import CHANGING, DEVICE, READING, Rule
from signoff.sandbox.inside.zygote import NEW_NAMESPACES, NEW_NETWORK
from signoff.sandbox.launch import Planned
from signoff.sandbox.layout import Layout, View, lay_out
from signoff.sandbox.outcome import Backend
from signoff.sandbox.profile import Limits, Profile
from signoff.sandbox.toolchains import SYSTEM, Machine, Toolchain
from signoff.sandbox.toolchains import plan as find_toolchains

_WALLS_OFF_ABSTRACT_SOCKETS = 6  # the level of Landlock that does
PROXY_PORT = 3128  # on the private loopback of each zygote


class Layer(enum.Enum):
    """What a sandbox is made of. Dropping one is for tests that show what each is good for."""

    NETWORK = "network"
    PROTECTED = "protected"
    MASKS = "masks"
    CAPABILITIES = "capabilities"
    LANDLOCK = "landlock"
    SECCOMP = "seccomp"
    LIMITS = "limits"


ALL_LAYERS = frozenset(Layer)


class Surroundings(msgspec.Struct, frozen=True):
    """What was found on the host for one profile. `pins` is empty until the placeholders are there."""

    home: str
    toolchains: tuple[Toolchain, ...]
    masks: list[str]
    environment_files: list[str]
    gitdirs: list[str]


def survey(profile: Profile, identity: Identity, environ: Mapping[str, str], hidden: list[str]) -> Surroundings:
    """`hidden`: files to mask wherever the search would find them or not."""
    home = environ.get("HOME", "")
    roots = (profile.workspace, *profile.writable)
    searched = [path for root in roots for path in credentials.environment_files(root) if path not in profile.unmasked]
    secret = list(dict.fromkeys([*searched, *(path for path in hidden if os.path.lexists(path))]))
    masks = [*credentials.stores(home), *_own(environ), *secret]
    toolchains = find_toolchains(environ, Machine(), workspace=profile.workspace, writable=profile.writable)
    masks += [path for one in toolchains for path in one.masked]
    if identity.root:
        masks += credentials.closed_to_others("/etc")
    gitdirs = [path for root in roots for path in protected.gitdirs(root)]
    shown = [path for path in masks if path not in profile.unmasked]
    return Surroundings(home, toolchains, list(dict.fromkeys(shown)), secret, gitdirs)


def _own(environ: Mapping[str, str]) -> list[str]:
    """Our configuration, ledgers and memory: no command may see them."""
    if not environ.get("HOME", "").startswith("/"):
        return ["/etc/signoff"]
    return [str(path) for path in locations.private(environ)]


def protected_names(profile: Profile, home: str) -> list[str]:
    """What needs a placeholder where it is absent."""
    wanted = _closed(profile, home)
    if profile.git_write:
        wanted += [path for gitdir in _opened(profile) for path in protected.placeheld(gitdir)]
    return wanted


def _closed(profile: Profile, home: str) -> list[str]:
    """What is obeyed later, outside, in every root that can be changed."""
    roots = profile.writable_roots
    named = [path for root in roots for path in protected.names(root, home)]
    return [*named, *(path for root in roots for path in repository.obeyed(root, protected.own_gitdirs(root)))]


def _opened(profile: Profile) -> list[str]:
    return (
        [path for root in profile.writable_roots for path in protected.open_gitdirs(root)] if profile.git_write else []
    )


def submodules(profile: Profile) -> set[str]:
    """Where submodules belong, as long as commands may write the index that says so. None behind a link: git itself does
    not go there, and what lies there is not ours to touch."""
    roots = profile.writable_roots if profile.git_write else ()
    return {
        os.path.join(root, link)
        for root in roots
        for gitdir in protected.own_gitdirs(root)
        for link in repository.links(gitdir)
        if repository.detour(root, f"{link}/.git") is None
    }


def without_repository(profile: Profile) -> list[str]:
    """Roots in which a command could make one by putting its parts side by side."""
    return [
        root
        for root in profile.writable_roots
        if not repository.is_bare(root)
        and not any(os.path.lexists(os.path.join(gitdir, "HEAD")) for gitdir in protected.own_gitdirs(root))
    ]


def must_stay_absent(profile: Profile) -> list[str]:
    return [path for gitdir in _opened(profile) if (path := protected.must_stay_absent(gitdir))]


def find_pins(profile: Profile, found: Surroundings) -> list[protected.Pin]:
    opened = _opened(profile)
    closed = _closed(profile, found.home) + found.gitdirs
    closed = [path for path in closed if path not in opened]
    closed += [f"{gitdir}/{name}" for gitdir in opened for name in protected.CLOSED_IN_A_GITDIR]
    return [one for root in profile.writable_roots for one in protected.pins(root, closed, opened)]


def reach(profile: Profile, found: Surroundings, pins: list[protected.Pin]) -> Reach:
    """What a command can do inside, for explaining what it could not."""
    private = () if profile.exclude_slash_tmp else ("/tmp",)  # noqa: S108
    own = ("/proc", "/dev", "/sys/devices/system")
    roots = (profile.workspace, *profile.writable, *profile.readable, *found.gitdirs)
    toolchains = tuple(path for one in found.toolchains for path in (one.path, one.real))
    return Reach(
        writable=(*profile.writable_roots, "/dev/null", "/dev/shm", "/dev/tty"),  # noqa: S108
        protected=tuple(one.path for one in pins if one.closed),
        readable=None if profile.reads is Reads.ALL else (*SYSTEM, *own, *roots, *toolchains),
        network=profile.network,
        private=private,
    )


def write_plan(
    profile: Profile,
    identity: Identity,
    found: Surroundings,
    pins: list[protected.Pin],
    environment: Mapping[str, str],
    *,
    backend: Backend,
    layers: frozenset[Layer] = ALL_LAYERS,
) -> Planned:
    """What the zygote does itself depends on the backend: bubblewrap makes namespaces and mounts in its place."""
    direct, wrapped = backend is Backend.NAMESPACES, backend is Backend.BUBBLEWRAP
    confined = backend is not Backend.NONE
    layout = Layout([], [], _floor_rules(profile, found))
    if direct or wrapped:
        layout = _layout(profile, identity, found, pins, layers)
    private_network = profile.network is not Network.ON and Layer.NETWORK in layers
    limited = profile.network is Network.LIMITED and private_network
    values = {
        "unshare": (NEW_NAMESPACES | (NEW_NETWORK if private_network else 0)) if direct else 0,
        "privileged": direct and identity.privileged,
        "outer": identity.outer,
        "inner": identity.inner,
        "trees": layout.trees if direct else [],
        "steps": layout.steps if direct else [],
        "pid_max": 300 + profile.limits.max_processes if identity.root else 0,
        "listen": PROXY_PORT if limited and (direct or wrapped) else 0,
        "rlimits": _rlimits(profile.limits) if Layer.LIMITS in layers else [],
        "confined": confined,
        "capabilities": confined and Layer.CAPABILITIES in layers,
        "landlock": layout.rules if confined and Layer.LANDLOCK in layers else None,
        "ports_free": profile.network is not Network.OFF,
        "filters": _filters(profile, backend) if confined and Layer.SECCOMP in layers else [],
        "environment": {os.fsencode(name): os.fsencode(value) for name, value in environment.items()},
    }
    return Planned(marshal.dumps(values), bubblewrap.words(layout, profile.network) if wrapped else ())


def _layout(
    profile: Profile, identity: Identity, found: Surroundings, pins: list[protected.Pin], layers: frozenset[Layer]
) -> Layout:
    return lay_out(
        View(
            profile=profile,
            identity=identity,
            home=found.home,
            toolchains=found.toolchains,
            masks=found.masks if Layer.MASKS in layers else [],
            pins=pins if Layer.PROTECTED in layers else [],
            gitdirs=found.gitdirs,
        )
    )


def _filters(profile: Profile, backend: Backend) -> list[bytes]:
    """The one that tells us what it refuses, and the same without that for where somebody else listens already."""
    hidden = backend is not Backend.LANDLOCK and profile.reads is Reads.LIMITED
    shared_groups = any(os.stat(root).st_mode & stat.S_ISGID for root in profile.writable_roots)
    if profile.network is Network.ON and landlock.level() < _WALLS_OFF_ABSTRACT_SOCKETS:
        hidden = False  # services of the host would be in reach by names that are no files
    sockets = seccomp.families(profile.network, local=hidden)
    return [seccomp.compile_filter(sockets, set_group_id=shared_groups, told=told) for told in (True, False)]


def _rlimits(limits: Limits) -> list[tuple[int, int]]:
    return [
        (resource.RLIMIT_FSIZE, limits.max_file_bytes),
        (resource.RLIMIT_NOFILE, limits.max_open_files),
        (resource.RLIMIT_CORE, 1),  # not 0: that would still start the host's crash handler
        (resource.RLIMIT_NPROC, limits.max_processes + 1),
        (resource.RLIMIT_DATA, limits.max_memory_bytes),
        (resource.RLIMIT_MEMLOCK, 64 * 1024**2),
        (resource.RLIMIT_MSGQUEUE, 819_200),
    ]


def _floor_rules(profile: Profile, found: Surroundings) -> list[Rule]:
    """Without mounts Landlock alone says what may be read."""
    reading = ["/"] if profile.reads is Reads.ALL else [*SYSTEM, "/proc", "/sys/devices/system"]
    reading += [path for one in found.toolchains for path in (one.path, one.real)]
    reading += [profile.workspace, *profile.readable, *found.gitdirs]
    changing = list(profile.writable_roots)
    devices = [f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty", "pts", "ptmx")]
    return [
        *((path, READING) for path in reading),
        *((path, CHANGING) for path in changing),
        *((path, DEVICE) for path in devices),
    ]
