"""Enter the sandbox for good, step by step, then serve commands. Any failure is reported and ends it: never weaker.

    guard    outside the PID namespace: enters the namespaces, forks the zygote, waits for it
    zygote   process 1 inside: mounts, limits, gives everything up, then serves

A warm zygote is a bare interpreter started for it; a one-shot run forks the command line instead and calls `enter`.
"""

import _signal  # type: ignore[import-not-found]  # `signal` takes five milliseconds to load
import _socket
import array
import fcntl
import marshal
import os
import resource

from signoff.sandbox.inside import kernel, landlock, mounts, privileges
from signoff.sandbox.inside.serve import FAILED, READY, REPLY, UNMAPPABLE, UNPROTECTABLE, Served
from signoff.sandbox.inside.spawn import Spawner

NEW_NAMESPACES = 0x3E020000  # user, mounts, processes, IPC, host name, cgroup; all but the network
NEW_NETWORK = 0x40000000
_NEW_USER, _NEW_PROCESSES = 0x10000000, 0x20000000
_SET_INTERFACE_FLAGS = 0x8914
_LOOPBACK_UP = b"lo".ljust(16, b"\0") + (1).to_bytes(2, "little") + bytes(22)


class Plan:
    """What was decided outside. Plain values: it crosses as a marshalled dictionary."""

    def __init__(self, data: bytes) -> None:
        values = marshal.loads(data)  # noqa: S302  written by our own parent into a descriptor only we hold
        self.unshare: int = values["unshare"]
        self.privileged: bool = values["privileged"]  # started as root with root's rights
        self.outer: tuple[int, int] = values["outer"]
        self.inner: tuple[int, int] = values["inner"]
        self.trees: list[mounts.Tree] = values["trees"]
        self.steps: list[mounts.Step] = values["steps"]
        self.pid_max: int = values["pid_max"]
        self.listen: int = values["listen"]  # port of the private loopback that the parent will serve
        self.rlimits: list[tuple[int, int]] = values["rlimits"]
        self.confined: bool = values["confined"]
        self.capabilities: bool = values["capabilities"]  # True: keep none
        self.landlock: list[landlock.Rule] | None = values["landlock"]
        self.ports_free: bool = values["ports_free"]
        self.filters: list[bytes] = values["filters"]  # telling what it refuses, and not; none at all
        self.environment: dict[bytes, bytes] = values["environment"]


def start(control: int, description: int) -> None:
    """The entry point of a spawned zygote."""
    plan = Plan(os.pread(description, os.fstat(description).st_size, 0))
    enter(control, plan)


def enter(control: int, plan: Plan) -> None:
    """Never returns."""
    sock = _socket.socket(fileno=control)
    try:
        _isolate(control)
        trees = _open_as_root(plan) if plan.privileged else None
        if plan.unshare:
            kernel.unshare(plan.unshare)
        if plan.unshare & _NEW_USER:
            privileges.map_identity(plan.inner, plan.outer)
        if plan.unshare & _NEW_PROCESSES:
            zygote = os.fork()
            if zygote:
                _guard(sock, zygote)
            privileges.die_with_parent()
        _furnish(plan, trees)
        listener = _listen(plan) if plan.listen else None
        found = _give_everything_up(plan)
        served = Served(sock, Spawner(plan.environment))
        notices = privileges.install_filter(*plan.filters) if plan.filters else -1
        _announce(sock, found, -1 if listener is None else listener.detach(), notices)
    except mounts.Unmappable as error:
        _fail(sock, UNMAPPABLE, error)
    except mounts.Unprotectable as error:
        _fail(sock, UNPROTECTABLE, error)
    except BaseException as error:
        _fail(sock, FAILED, error)
    else:
        served.loop()
    finally:
        os._exit(0)


def _isolate(control: int) -> None:
    """Nothing of the parent but the socket: no descriptor, no signal disposition that a command would inherit."""
    nothing = os.open("/dev/null", os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    os.set_inheritable(control, False)
    os.closerange(3, control)
    os.closerange(control + 1, 1 << 20)
    for number in (_signal.SIGINT, _signal.SIGPIPE, _signal.SIGXFSZ):
        _signal.signal(number, _signal.SIG_DFL)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
    os.umask(0o022)


def _open_as_root(plan: Plan) -> list[int]:
    """Everything only root can reach or do, then root is given up."""
    owners = {owner for _, _, owner, _ in plan.trees if owner is not None}
    namespaces = {owner: privileges.mapping_namespace(owner, plan.outer) for owner in owners}
    trees = mounts.open_trees(plan.trees, namespaces)
    for namespace in namespaces.values():
        os.close(namespace)
    if plan.outer != (0, 0):
        privileges.become(*plan.outer)
    return trees


def _guard(sock: _socket.socket, zygote: int) -> None:
    """Stays outside only to collect the zygote, which would else become a zombie of the host's init."""
    sock.close()
    os.waitpid(zygote, 0)
    os._exit(0)


def _furnish(plan: Plan, trees: list[int] | None) -> None:
    os.setsid()
    if plan.steps:
        opened = trees if trees is not None else mounts.open_trees(plan.trees, {})
        mounts.Root(opened, plan.pid_max).build(plan.steps)
        for tree in opened:
            if tree >= 0:
                os.close(tree)
    else:
        privileges.adopt_orphans()
    try:
        privileges.write("/proc/self/oom_score_adj", "900")
    except OSError:
        pass  # a wish, not a wall


def _listen(plan: Plan) -> _socket.socket:
    """A listener on the private loopback; its descriptor goes to the parent, who answers it from outside."""
    listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    if plan.unshare & NEW_NETWORK:  # else whoever made the namespace brought it up
        fcntl.ioctl(listener.fileno(), _SET_INTERFACE_FLAGS, _LOOPBACK_UP)
    listener.bind(("127.0.0.1", plan.listen))
    listener.listen(64)
    return listener


def _give_everything_up(plan: Plan) -> int:
    """In this order: each step needs what the next takes away. Gives the Landlock level."""
    for limit, value in plan.rlimits:
        hardest = resource.getrlimit(limit)[1]
        lowest = value if hardest == resource.RLIM_INFINITY else min(value, hardest)
        resource.setrlimit(limit, (lowest, lowest))
    if plan.capabilities:
        privileges.drop_capabilities()
    if not plan.confined:
        return 0
    privileges.forbid_new_privileges()
    found = landlock.restrict(plan.landlock, network=plan.ports_free) if plan.landlock is not None else 0
    privileges.hide_from_debuggers()
    if os.getpid() == 1:
        privileges.die_with_parent()  # again: the changes of credentials above cleared it
    return found


def _announce(sock: _socket.socket, found: int, *handed_over: int) -> None:
    """Ready. Which of the descriptors come along is a bit each in the place of the leftovers."""
    present = [descriptor for descriptor in handed_over if descriptor >= 0]
    bits = sum(1 << place for place, descriptor in enumerate(handed_over) if descriptor >= 0)
    rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array.array("i", present))] if present else []
    sock.sendmsg([REPLY.pack(READY, 0, bits, found)], rights)
    for descriptor in present:
        os.close(descriptor)


def _fail(sock: _socket.socket, kind: int, error: BaseException) -> None:
    code = error.errno or 0 if isinstance(error, OSError) else 0
    text = error.strerror if isinstance(error, OSError) and error.strerror else f"{type(error).__name__}: {error}"
    sock.send(REPLY.pack(kind, code, 0, 0) + text.encode("utf-8", "replace")[:4096])
