"""The system call filter, compiled outside and installed inside. Pure: the same needs always give the same program.

Only the low half of an argument is compared where the kernel uses only that half: comparing all of it would let a call
pass with a bit set above.
"""

import errno

from signoff.domain.errors import NotEnforceable
from signoff.domain.settings import Network
from signoff.sandbox.inside.architecture import TABLES, machine

Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, value

_LOAD, _RETURN, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _JUMP = 0x20, 0x06, 0x15, 0x35, 0x45, 0x54, 0x05
_FARTHEST = 255  # that a condition can jump by itself
_FEW = 3  # calls that are compared one by one
_ALLOW, _ERROR, _KILL, _TELL = 0x7FFF0000, 0x00050000, 0x80000000, 0x7FC00000
_NUMBER, _ARCHITECTURE = 0, 4

_NEW_NAMESPACES = 0x7E020000  # every CLONE_NEW… flag
_SET_ID_BITS, _SET_USER_ID = 0o6000, 0o4000
_CREATING = 0o100 | 0o20000000  # O_CREAT, O_TMPFILE
_UNIX, _INTERNET, _INTERNET_6 = 1, 2, 10
_RAW = 3
_CORE = 4  # RLIMIT_CORE
_PERSONALITIES = (0, 0x0008, 0x20000, 0x40000, 0xFFFFFFFF)
_TERMINAL_REQUESTS = (0x5412, 0x541C, 0x541D, 0x5423)  # TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD

REFUSED = [
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "kcmp",
    "pidfd_getfd",
    "process_madvise",
    "mount",
    "umount2",
    "pivot_root",
    "chroot",
    "open_tree",
    "move_mount",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "mount_setattr",
    "unshare",
    "setns",
    "acct",
    "swapon",
    "swapoff",
    "reboot",
    "sethostname",
    "setdomainname",
    "iopl",
    "ioperm",
    "create_module",
    "init_module",
    "delete_module",
    "get_kernel_syms",
    "query_module",
    "finit_module",
    "nfsservctl",
    "kexec_load",
    "kexec_file_load",
    "vhangup",
    "modify_ldt",
    "syslog",
    "uselib",
    "_sysctl",
    "adjtimex",
    "clock_adjtime",
    "settimeofday",
    "clock_settime",
    "quotactl",
    "quotactl_fd",
    "lookup_dcookie",
    "open_by_handle_at",
    "fanotify_init",
    "migrate_pages",
    "move_pages",
]

# Absent rather than forbidden, so that libraries take their other way.
ABSENT = [
    "clone3",
    "openat2",
    "add_key",
    "request_key",
    "keyctl",
    "bpf",
    "perf_event_open",
    "userfaultfd",
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "memfd_secret",
]

# The zygote is process 1. A command has the same user and could slow it, and with it every later command, for good.
_ABOUT_A_PROCESS = {
    "sched_setparam": 0,
    "sched_setscheduler": 0,
    "sched_setaffinity": 0,
    "sched_setattr": 0,
    "prlimit64": 0,
}
_ABOUT_MANY = {"setpriority": (2, 1), "ioprio_set": (3, 1)}  # the word for "all processes of a user", the id's place


_SET_ID_CALLS = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "creat": 1, "mknod": 1, "mknodat": 2}
TOLD = frozenset((*REFUSED, "clone", "socket", *_SET_ID_CALLS))  # never what a program merely tries, such as clone3

Families = tuple[int, ...]  # of sockets that a command may open


def families(network: Network, *, local: bool) -> Families:
    """`local`: sockets of the host's services are out of view, so that local ones can only be the command's own."""
    unix = (_UNIX,) if local else ()
    return unix if network is Network.OFF else (*unix, _INTERNET, _INTERNET_6)


def compile_filter(
    allowed: Families, *, set_group_id: bool, told: bool = False, architecture: str | None = None
) -> bytes:
    """`told`: calls that are refused and rare are put to whoever holds the listener, who refuses and remembers them."""
    name = architecture or machine()
    if name not in TABLES:
        raise NotEnforceable(
            f"there is no system call table for {name}",
            hint="The sandbox runs on x86_64 and aarch64. Use --mode danger-full-access only inside another sandbox.",
        )
    audit, newest, numbers = TABLES[name]
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, audit),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, newest),
        _error(errno.ENOSYS),
    ]
    bodies = _bodies(allowed, _SET_USER_ID if set_group_id else _SET_ID_BITS)
    if told:
        bodies = [
            (call, [_TELLING.get(step, step) for step in body] if call in TOLD else body) for call, body in bodies
        ]
    # a machine without a call needs no rule for it
    program += _search(sorted((numbers[call], body) for call, body in bodies if call in numbers))
    return b"".join(
        code.to_bytes(2, "little") + bytes((yes, no)) + value.to_bytes(4, "little") for code, yes, no, value in program
    )


def _search(rules: list[tuple[int, list[Instruction]]]) -> list[Instruction]:
    """Find the rule of a call by halving: every call a command makes goes through this, however many rules there are."""
    if len(rules) <= _FEW:
        compared = [step for number, body in rules for step in ((_EQUAL, 0, len(body), number), *body)]
        return [*compared, _allow()]
    middle = len(rules) // 2
    below, above = _search(rules[:middle]), _search(rules[middle:])
    if len(below) <= _FARTHEST:
        return [(_AT_LEAST, len(below), 0, rules[middle][0]), *below, *above]
    return [(_AT_LEAST, 0, 1, rules[middle][0]), (_JUMP, 0, 0, len(below)), *below, *above]


def _bodies(allowed: Families, id_bits: int) -> list[tuple[str, list[Instruction]]]:
    """What is done about each call. Every body ends in a return."""
    bodies = [(call, [_error(errno.EPERM)]) for call in REFUSED]
    bodies += [(call, [_error(errno.ENOSYS)]) for call in ABSENT]
    bodies += [
        ("clone", [_argument(0), *_refuse_bits(_NEW_NAMESPACES)]),
        ("socket", [_argument(0), *_only(allowed), _argument(1), (_AND, 0, 0, 0xF), *_refuse_values(_RAW)]),
        ("socketpair", [_argument(0), *_only((_UNIX,)), _allow()]),
        ("ioctl", [_argument(1), *_refuse_values(*_TERMINAL_REQUESTS)]),
        ("personality", [_argument(0), *_only(_PERSONALITIES), _allow()]),
        ("setrlimit", [_argument(0), *_pretend_values(_CORE)]),
    ]
    for call, place in _SET_ID_CALLS.items():
        bodies.append((call, [_argument(place), *_refuse_bits(id_bits)]))
    for call, place in {"open": 1, "openat": 2}.items():
        check = [_argument(place + 1), *_refuse_bits(id_bits)]
        bodies.append((call, [_argument(place), (_ANY_BIT, 0, len(check), _CREATING), *check, _allow()]))
    for call, place in _ABOUT_A_PROCESS.items():
        body = [_argument(place), (_EQUAL, 0, 1, 1), _error(errno.EPERM)]
        # A core limit of one byte keeps the host's crash handler from being started; it must stay.
        bodies.append((call, [*body, *(_keep_core_limit() if call == "prlimit64" else [_allow()])]))
    for call, (all_of_a_user, place) in _ABOUT_MANY.items():
        first = [_argument(0), (_EQUAL, 0, 1, all_of_a_user), _error(errno.EPERM)]
        bodies.append((call, [*first, _argument(place), *_refuse_values(1)]))
    return bodies


def _keep_core_limit() -> list[Instruction]:
    """prlimit64: reading is allowed (no new limit given, both halves of the pointer zero), setting is pretended."""
    given = [_argument(2), (_EQUAL, 0, 2, 0), (_LOAD, 0, 0, 16 + 8 * 2 + 4), (_EQUAL, 3, 0, 0)]
    return [*given, _argument(1), *_pretend_values(_CORE)]


def _argument(place: int) -> Instruction:
    return (_LOAD, 0, 0, 16 + 8 * place)  # its low half


def _error(code: int) -> Instruction:
    return (_RETURN, 0, 0, _ERROR | code)


def _allow() -> Instruction:
    return (_RETURN, 0, 0, _ALLOW)


def _refuse_bits(bits: int) -> list[Instruction]:
    return [(_ANY_BIT, 0, 1, bits), _error(errno.EPERM), _allow()]


def _refuse_values(*values: int) -> list[Instruction]:
    return [step for value in values for step in ((_EQUAL, 0, 1, value), _error(errno.EPERM))] + [_allow()]


def _pretend_values(*values: int) -> list[Instruction]:
    """Report success and do nothing."""
    return [step for value in values for step in ((_EQUAL, 0, 1, value), _error(0))] + [_allow()]


def _only(values: tuple[int, ...]) -> list[Instruction]:
    """Go on behind this part for one of the values, refuse every other."""
    count = len(values)
    return [(_EQUAL, count - place, 0, value) for place, value in enumerate(values)] + [_error(errno.EPERM)]


_TELLING = {_error(errno.EPERM): (_RETURN, 0, 0, _TELL)}
