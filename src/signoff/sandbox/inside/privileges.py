"""Identity and privileges of the zygote: whose rights it has, and giving up all others for good."""

import _signal  # type: ignore[import-not-found]  # `signal` takes five milliseconds to load
import ctypes
import os

from signoff.sandbox.inside import kernel

_SET_PDEATHSIG, _SET_DUMPABLE, _CAPBSET_DROP, _SET_SECUREBITS = 1, 4, 24, 28
_SET_CHILD_SUBREAPER, _SET_NO_NEW_PRIVS, _CAP_AMBIENT, _CLEAR_ALL = 36, 38, 47, 4
_EVERY_SECURE_BIT = 0xEF
_CAPABILITY_VERSION = 0x20080522
_SET_MODE_FILTER, _SPEC_ALLOW, _NEW_LISTENER = 1, 4, 8
_NEWUSER = 0x10000000
_HIGHEST_ID = 2**32 - 2


def become(user: int, group: int) -> None:
    """Give up root for an ordinary id. Dumpable again afterwards: /proc/self must belong to the new id."""
    os.setgroups([])
    os.setresgid(group, group, group)
    os.setresuid(user, user, user)
    kernel.prctl(_SET_DUMPABLE, 1)


def map_identity(inner: tuple[int, int], outer: tuple[int, int]) -> None:
    write("/proc/self/setgroups", "deny")
    write("/proc/self/uid_map", f"{inner[0]} {outer[0]} 1")
    write("/proc/self/gid_map", f"{inner[1]} {outer[1]} 1")


def mapping_namespace(owner: tuple[int, int], shown_as: tuple[int, int]) -> int:
    """A user namespace that shows files of `owner` as belonging to `shown_as` and everyone else's as they are."""
    ready, telling = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            die_with_parent()
            kernel.unshare(_NEWUSER)
            os.write(telling, b"x")
            _signal.pause()
        finally:
            os._exit(1)
    os.close(telling)
    try:
        if os.read(ready, 1) != b"x":
            raise OSError(1, "no user namespace for showing files under another owner")
        write(f"/proc/{child}/uid_map", _exchanged(owner[0], shown_as[0]))
        write(f"/proc/{child}/gid_map", _exchanged(owner[1], shown_as[1]))
        return os.open(f"/proc/{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(ready)
        os.kill(child, _signal.SIGKILL)
        os.waitpid(child, 0)


def _exchanged(owner: int, shown_as: int) -> str:
    """The identity of all ids but two: `owner` appears as `shown_as`."""
    low, high = sorted((owner, shown_as))
    ranges = [(0, low), (low + 1, high), (high + 1, _HIGHEST_ID + 1)]
    lines = [f"{start} {start} {end - start}" for start, end in ranges if end > start]
    return "\n".join([*lines, f"{owner} {shown_as} 1"]) + "\n"


def drop_capabilities() -> None:
    """Bounding set first: dropping it needs a capability itself."""
    for capability in range(64):
        try:
            kernel.prctl(_CAPBSET_DROP, capability)
        except OSError:
            break  # past the last one, or none held to drop them with
    try:
        kernel.prctl(_CAP_AMBIENT, _CLEAR_ALL)
        kernel.prctl(_SET_SECUREBITS, _EVERY_SECURE_BIT)
    except OSError:
        pass  # without CAP_SETPCAP there is nothing that could be regained
    header = _CAPABILITY_VERSION.to_bytes(4, "little") + bytes(4)
    kernel.call("capset", header, bytes(24))


def forbid_new_privileges() -> None:
    kernel.prctl(_SET_NO_NEW_PRIVS, 1)


def hide_from_debuggers() -> None:
    kernel.prctl(_SET_DUMPABLE, 0)


def die_with_parent() -> None:
    kernel.prctl(_SET_PDEATHSIG, int(_signal.SIGKILL))


def adopt_orphans() -> None:
    kernel.prctl(_SET_CHILD_SUBREAPER, 1)


def install_filter(told: bytes, untold: bytes) -> int:
    """The compiled system call filter, for this process and all it starts. Gives the listener to which `told` reports what
    it refuses; -1 where there can be none, and `untold` is in force."""
    try:
        return _install(told, _SPEC_ALLOW | _NEW_LISTENER)
    except OSError:  # another listener above us, or an old kernel
        _install(untold, _SPEC_ALLOW)
        return -1


def _install(program: bytes, flags: int) -> int:
    buffer = ctypes.create_string_buffer(program, len(program))
    header = (len(program) // 8).to_bytes(8, "little") + ctypes.addressof(buffer).to_bytes(8, "little")
    return kernel.call("seccomp", _SET_MODE_FILTER, flags, header)


def write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    except OSError as error:
        raise OSError(error.errno, f"{path}: {os.strerror(error.errno or 0)}") from None
    finally:
        os.close(descriptor)
