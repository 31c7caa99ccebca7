"""What each layer is good for: without it, exactly these attacks get through. As an ordinary user only."""

import pytest

from tests.sandbox import attacks
from tests.sandbox.arena import NOBODY, Arm, arena, arms, through_a_session, usable

BOMBS = {"fork bomb", "memory bomb", "fill private /tmp"}
DANGEROUS_WITHOUT_A_SANDBOX = {*BOMBS, "signal every process", "priority of all", "priority of the zygote", "limits of the zygote",
                               "processors of the zygote", "reboot", "kexec", "disks", "controlling terminal", "disk priority of the zygote"}  # fmt: skip

SECCOMP = {
    "set-user-id", "set-user-id by install", "set-user-id by open", "set-user-id by mknod", "set-user-id by fchmodat2",
    "set-user-id by openat2", "trace a child", "read another's memory", "limits of the zygote", "priority of the zygote",
    "priority of all", "processors of the zygote", "user namespace", "namespace by clone", "namespace by clone, high bits",
    "namespace by clone3", "no filter", "io_uring", "add_key", "keyctl", "userfaultfd", "personality", "core limit",
    "netlink", "vsock",
}  # fmt: skip
THROUGH: dict[tuple[str, ...], set[str]] = {
    ("network",): set(),
    ("landlock",): set(),
    ("masks",): {"environment file", "environment file by link"},
    ("capabilities",): {"capabilities to come"},
    ("limits",): {"disk fill", "descriptor exhaustion", "core limit"},
    ("protected",): {
        "git hook", "git config", "git config by rename", "git renamed away", "git exchanged", "git over-linked",
        "git alternate path", "git made writable", "create .codex", "create .claude", "create .gemini", "create .agents",
        "create .signoff", "create .vscode", "create .idea", "create .mcp.json", "create .bashrc", "create .zshenv",
        "create .profile", "placeholder renamed",
    },
    ("seccomp",): SECCOMP,
    ("network", "landlock", "seccomp"): SECCOMP | {"TCP to the host", "abstract service", "bash /dev/tcp"},
}  # fmt: skip
OPTIONAL = {"io_uring", "userfaultfd", "vsock", "add_key", "keyctl"}  # whether the kernel offers them at all

# The kernel, the environment filter or an earlier attack stops these for an ordinary user, sandbox or not.
STOPPED_ANYWAY = {
    "capabilities", "open_tree with attributes", "trusted attributes", "capabilities of a file", "crash handler",
    "identity map", "handler of programs", "spared by the killer", "before everybody",
    "git hard-linked", "placeholder exchanged", "device node", "system files", "kernel settings", "control groups",
    "environment file by parent", "shadow", "sudoers and host keys", "other homes", "kernel memory and log",
    "environment of the supervisor", "memory of the zygote", "descriptors of the zygote", "inherited descriptors",
    "secret variables", "loader variables", "addresses of agents", "file handle", "ptrace the zygote", "disk fill",
    "descriptor exhaustion", "mount namespace", "mount", "remount root", "unmount a pin", "open_tree", "fsopen",
    "pivot_root", "chroot", "join a namespace", "request_key", "bpf", "perf_event_open", "fanotify", "module", "clock",
    "host name", "TIOCSTI", "TIOCSTI, high bits", "TIOCLINUX", "x32 calls", "IPv6", "name lookup", "raw socket",
    "packet socket", "crypto sockets", "other families", "state of signoff", "io_uring", "userfaultfd", "vsock", "docker and run",
}  # fmt: skip
LAST = ("delete outside", "signal a host process")  # nothing to attack is left after them


def ordinary() -> Arm:
    return usable(next((arm for arm in arms() if arm.user == NOBODY), arms()[0]))


@pytest.mark.parametrize("dropped", THROUGH, ids="+".join)
def test_exactly_these_attacks_need_this_layer(dropped: tuple[str, ...]) -> None:
    relevant = set().union(*THROUGH.values()) | {one.name for one in attacks.NETWORK}
    chosen = [one for one in attacks.ALL if one.name in relevant]
    with arena(ordinary()) as place:
        commands = [place.with_facts(one.language, one.code) for one in chosen]
        results = through_a_session(place, commands, without=list(dropped))
        through = {
            one.name
            for one, result in zip(chosen, results, strict=True)
            if one.judge == "both" and result["status"] == 0
        }
    assert through - OPTIONAL == THROUGH[dropped] - OPTIONAL
    assert through <= THROUGH[dropped]


def test_the_attacks_bite_where_there_is_no_sandbox() -> None:
    """Else a sandbox in which nothing runs would look perfect."""
    chosen = [one for one in attacks.ALL if one.name not in DANGEROUS_WITHOUT_A_SANDBOX]
    chosen.sort(key=lambda one: one.name in LAST)
    with arena(ordinary()) as place:
        before = place.photograph()
        commands = [place.with_facts(one.language, one.code) for one in chosen]
        results = through_a_session(place, commands, mode="danger-full-access")
        stopped = {one.name for one, result in zip(chosen, results, strict=True) if result["status"] != 0}
        after = place.photograph()
    assert {name for name in after if after[name] != before[name]} >= {"out", "home", "git", "protected", "contacts"}
    assert stopped <= STOPPED_ANYWAY, stopped - STOPPED_ANYWAY
