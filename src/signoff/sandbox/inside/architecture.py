"""System call numbers by machine. Another machine is another table; a machine without one is refused, never guessed."""

import os

X86_64: dict[str, int] = {
    "open": 2, "ioctl": 16, "socket": 41, "socketpair": 53, "clone": 56, "creat": 85, "chmod": 90, "fchmod": 91,
    "ptrace": 101, "syslog": 103, "capset": 126, "mknod": 133, "uselib": 134, "personality": 135, "setpriority": 141,
    "sched_setparam": 142, "sched_setscheduler": 144, "vhangup": 153, "modify_ldt": 154, "pivot_root": 155,
    "_sysctl": 156, "prctl": 157, "adjtimex": 159, "setrlimit": 160, "chroot": 161, "acct": 163, "settimeofday": 164,
    "mount": 165, "umount2": 166, "swapon": 167, "swapoff": 168, "reboot": 169, "sethostname": 170,
    "setdomainname": 171, "iopl": 172, "ioperm": 173, "create_module": 174, "init_module": 175, "delete_module": 176,
    "get_kernel_syms": 177, "query_module": 178, "quotactl": 179, "nfsservctl": 180, "sched_setaffinity": 203,
    "lookup_dcookie": 212, "clock_settime": 227, "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250,
    "ioprio_set": 251, "migrate_pages": 256, "openat": 257, "mknodat": 259, "fchmodat": 268, "unshare": 272,
    "move_pages": 279, "perf_event_open": 298, "fanotify_init": 300, "prlimit64": 302, "open_by_handle_at": 304,
    "clock_adjtime": 305, "setns": 308, "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312,
    "finit_module": 313, "sched_setattr": 314, "seccomp": 317, "kexec_file_load": 320, "bpf": 321, "userfaultfd": 323,
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428, "move_mount": 429,
    "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "clone3": 435, "openat2": 437, "pidfd_getfd": 438,
    "process_madvise": 440, "mount_setattr": 442, "quotactl_fd": 443, "landlock_create_ruleset": 444,
    "landlock_add_rule": 445, "landlock_restrict_self": 446, "memfd_secret": 447, "fchmodat2": 452,
}  # fmt: skip

AARCH64: dict[str, int] = {
    "lookup_dcookie": 18, "ioctl": 29, "ioprio_set": 30, "mknodat": 33, "umount2": 39, "mount": 40, "pivot_root": 41,
    "nfsservctl": 42, "chroot": 51, "fchmod": 52, "fchmodat": 53, "openat": 56, "vhangup": 58, "quotactl": 60,
    "acct": 89, "capset": 91, "personality": 92, "unshare": 97, "kexec_load": 104, "init_module": 105,
    "delete_module": 106, "clock_settime": 112, "syslog": 116, "ptrace": 117, "sched_setparam": 118,
    "sched_setscheduler": 119, "sched_setaffinity": 122, "setpriority": 140, "reboot": 142, "sethostname": 161,
    "setdomainname": 162, "setrlimit": 164, "prctl": 167, "settimeofday": 170, "adjtimex": 171, "socket": 198,
    "socketpair": 199, "add_key": 217, "request_key": 218, "keyctl": 219, "clone": 220, "swapon": 224, "swapoff": 225,
    "migrate_pages": 238, "move_pages": 239, "perf_event_open": 241, "prlimit64": 261, "fanotify_init": 262,
    "open_by_handle_at": 265, "clock_adjtime": 266, "setns": 268, "process_vm_readv": 270, "process_vm_writev": 271,
    "kcmp": 272, "finit_module": 273, "sched_setattr": 274, "seccomp": 277, "bpf": 280, "userfaultfd": 282,
    "kexec_file_load": 294, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428,
    "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "openat2": 437,
    "pidfd_getfd": 438, "process_madvise": 440, "mount_setattr": 442, "quotactl_fd": 443,
    "landlock_create_ruleset": 444, "landlock_add_rule": 445, "landlock_restrict_self": 446,
    "clone3": 435, "memfd_secret": 447, "fchmodat2": 452,
}  # fmt: skip

TABLES: dict[str, tuple[int, int, dict[str, int]]] = {
    # machine: (audit number of the architecture, first call newer than the table, the table)
    "x86_64": (0xC000003E, 463, X86_64),
    "aarch64": (0xC00000B7, 463, AARCH64),
}


def machine() -> str:
    return os.uname().machine


def numbers() -> dict[str, int]:
    """The table of this machine; empty where there is none, so that every use of a call fails loudly."""
    return TABLES.get(machine(), (0, 0, {}))[2]
