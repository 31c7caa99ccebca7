"""Commands a person wants to be asked about wherever they stand: forced removal, disks, history, services, users.

Read after unwrapping, by base name. Over-approximation is cheap here, but a false friend annoys in every mode.
"""

from collections.abc import Callable, Sequence

from signoff.policy.commands.git_commands import verb_index

_ROOTS = frozenset(
    "/ /* /. ~ ~/ ~/* . ./ .. ../ * ./* .* /bin /boot /dev /etc /home /lib /lib64 /opt /proc /root /sbin /srv /sys /usr /var "
    "$HOME ${HOME} $HOME/* /home/* /usr/* /etc/* /var/*".split()
)  # fmt: skip
_HARMLESS_DEVICES = (
    "/dev/null",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/tty",
    "/dev/zero",
    "/dev/full",
    "/dev/shm/",
    "/dev/fd/",
)


def _short(words: Sequence[str]) -> tuple[set[str], list[str], list[str]]:
    """Letters of all clusters, long options, operands."""
    letters: set[str] = set()
    long: list[str] = []
    operands: list[str] = []
    for index, word in enumerate(words[1:], start=1):
        if word == "--":
            operands.extend(words[index + 1 :])
            break
        if word.startswith("--"):
            long.append(word)
        elif word[:1] == "-" and len(word) > 1:
            letters.update(word[1:])
        else:
            operands.append(word)
    return letters, long, operands


def _abbreviates(words: list[str], *names: str, least: int = 3) -> bool:
    """Whether one of the words is one of the long options or a shortening of it."""
    heads = [word.partition("=")[0] for word in words]
    return any(len(head) >= least and name.startswith(head) for head in heads for name in names)


def _rm(words: Sequence[str]) -> str | None:
    letters, long, operands = _short(words)
    if "f" in letters or _abbreviates(long, "--force"):
        return "forced removal"
    if _abbreviates(long, "--no-preserve-root", least=5):
        return "removal of the root directory"
    recursive = bool(letters & {"r", "R"}) or _abbreviates(long, "--recursive")
    if recursive and any(_is_root(operand) for operand in operands):
        return "recursive removal of a whole tree"
    return None


def _is_root(operand: str) -> bool:
    return operand in _ROOTS or (operand.rstrip("/") or "/") in _ROOTS


def _change_mode(words: Sequence[str]) -> str | None:
    letters, long, operands = _short(words)
    recursive = "R" in letters or _abbreviates(long, "--recursive")
    system = [word for word in operands if _is_root(word) and word not in (".", "./", "*", "./*", "..", "../", ".*")]
    return "recursive change of a system directory" if recursive and system else None


def _dd(words: Sequence[str]) -> str | None:
    return next(("writes to a device" for word in words if word.startswith("of=") and _device(word[3:])), None)


def _tee(words: Sequence[str]) -> str | None:
    return next(("writes to a device" for word in words[1:] if _device(word)), None)


def _device(path: str) -> bool:
    return path.startswith("/dev/") and not path.startswith(_HARMLESS_DEVICES)


def _git(words: Sequence[str]) -> str | None:
    at = verb_index(words)
    if at is None:
        return None
    check = _GIT.get(words[at])
    return check(words[at:]) if check is not None else None


def _git_push(words: Sequence[str]) -> str | None:
    letters, long, operands = _short(words)
    forced = letters & {"f", "d"} or _abbreviates(
        long, "--force", "--force-with-lease", "--force-if-includes", "--delete", "--mirror", "--prune", least=4
    )
    if forced or any(operand[:1] in ("+", ":") for operand in operands):
        return "rewrites or deletes what others have"
    return None


def _git_clean(words: Sequence[str]) -> str | None:
    letters, long, _ = _short(words)
    forced = "f" in letters or _abbreviates(long, "--force")
    return "deletes untracked files" if forced and "n" not in letters and not _abbreviates(long, "--dry-run") else None


def _git_checkout(words: Sequence[str]) -> str | None:
    letters, long, operands = _short(words)
    discards = "f" in letters or "--" in words or "." in operands or _abbreviates(long, "--force")
    return "discards changes" if discards else None


def _git_branch(words: Sequence[str]) -> str | None:
    letters, long, _ = _short(words)
    return (
        "deletes or moves a branch"
        if letters & {"d", "D", "M", "f"} or _abbreviates(long, "--delete", "--force", least=4)
        else None
    )


def _git_stash(words: Sequence[str]) -> str | None:
    return "drops stashed changes" if words[1:2] and words[1] in ("drop", "clear") else None


def _git_restore(words: Sequence[str]) -> str | None:
    letters, long, operands = _short(words)
    staged_only = ("S" in letters or "--staged" in long) and not ("W" in letters or "--worktree" in long)
    return "discards changes" if operands and not staged_only else None


def _git_deleting(words: Sequence[str]) -> str | None:
    letters, long, _ = _short(words)
    return "deletes a tag" if letters & {"d", "f"} or _abbreviates(long, "--delete", "--force", least=4) else None


def _always(reason: str) -> Callable[[Sequence[str]], str | None]:
    return lambda words: reason


def _unless_only(reason: str, *harmless: str) -> Callable[[Sequence[str]], str | None]:
    """Dangerous unless the first word after the program is one of these, or there is none."""
    return lambda words: None if len(words) < 2 or words[1] in harmless or words[1] in _ASKING else reason


_ASKING = frozenset("--help -h --version -V -l --list status show is-active is-enabled is-failed list-units list-unit-files list-timers list-sockets list-dependencies cat get-default".split())  # fmt: skip
_GIT: dict[str, Callable[[Sequence[str]], str | None]] = {
    "reset": _always("resets the work tree or the index"),
    "rm": _always("deletes tracked files"),
    "branch": _git_branch,
    "push": _git_push,
    "clean": _git_clean,
    "checkout": _git_checkout,
    "switch": lambda words: "discards changes" if {"-f", "--force", "--discard-changes"} & set(words) else None,
    "restore": _git_restore,
    "stash": _git_stash,
    "tag": _git_deleting,
    "filter-branch": _always("rewrites history"),
    "filter-repo": _always("rewrites history"),
    "update-ref": _always("moves references"),
    "reflog": lambda words: "forgets history" if {"expire", "delete"} & set(words[1:2]) else None,
}


def _kill(words: Sequence[str]) -> str | None:
    targets = words[1:]
    if targets and targets[0] in ("-s", "-n", "--signal"):
        targets = targets[2:]
    elif targets and targets[0][:1] == "-" and targets[0] != "--" and len(targets) > 1:
        targets = targets[1:]
    return "ends every process" if "-1" in targets else None


def _crontab(words: Sequence[str]) -> str | None:
    return None if "-l" in words or "--help" in words else "leaves something behind that runs later"


def _find(words: Sequence[str]) -> str | None:
    roots = [word for word in words[1:3] if word[:1] not in ("-", "(")]
    return (
        "deletes a whole tree" if "-delete" in words and any(_is_root(root) and root != "." for root in roots) else None
    )


_TABLE: dict[str, Callable[[Sequence[str]], str | None]] = {
    "rm": _rm, "dd": _dd, "tee": _tee, "git": _git, "kill": _kill, "crontab": _crontab, "find": _find,
    **dict.fromkeys("chmod chown chgrp".split(), _change_mode),
    **dict.fromkeys("mke2fs mkswap wipefs sfdisk cfdisk gdisk sgdisk parted blkdiscard cryptsetup lvremove vgremove pvremove hdparm badblocks".split(), _unless_only("changes a disk")),
    **dict.fromkeys("fdisk losetup mount umount swapoff swapon".split(), _unless_only("changes a disk", "-l", "-a")),
    **dict.fromkeys("shutdown reboot halt poweroff telinit kexec killall5".split(), _always("stops the machine")),
    "init": lambda words: "stops the machine" if words[1:2] and words[1] in ("0", "6", "1", "s", "S") else None,
    **dict.fromkeys("systemctl service launchctl rc-service".split(), _unless_only("changes a service")),
    **dict.fromkeys("useradd userdel usermod groupadd groupdel groupmod adduser deluser passwd chpasswd visudo vipw chsh chfn".split(), _always("changes users")),
    **dict.fromkeys("iptables ip6tables nft ufw firewall-cmd".split(), _unless_only("changes the firewall", "-L", "-S", "status", "--list-all")),
    **dict.fromkeys("insmod modprobe rmmod setenforce setcap chattr".split(), _unless_only("changes the system")),
    **dict.fromkeys("at batch".split(), _always("leaves something behind that runs later")),
    **dict.fromkeys("nc ncat netcat socat telnet".split(), _unless_only("opens a raw connection")),
    "shred": _always("destroys files"),
}  # fmt: skip
DANGEROUS_PROGRAMS = frozenset(_TABLE)


def danger(name: str, words: Sequence[str]) -> str | None:
    """Why this command is dangerous, None if it is not known to be. A word only the shell knows is a NUL text."""
    check = _TABLE.get(name)
    if check is not None:
        return check(words)
    return "changes a disk" if name.startswith("mkfs") and len(words) > 1 else None
