"""What `signoff doctor` looks at: a table of small checks, each a function from the surroundings to one finding.

Here stand those that are about the machine; those about our own files are in `checks_files`, those about programs in
`checks_programs`. A room that needs something from the machine adds a function and a row.
"""

import sys
from collections.abc import Callable, Mapping

from signoff.cli import checks_access as access
from signoff.cli import checks_files as files
from signoff.cli import checks_programs as programs
from signoff.cli import checks_records as records
from signoff.cli.finding import Finding, Surroundings, fail, ok, warn
from signoff.domain.errors import SignoffError
from signoff.files import beneath
from signoff.sandbox import cgroups as control_groups
from signoff.sandbox.bubblewrap import PLACES as BUBBLEWRAP
from signoff.sandbox.inside import landlock as kernel_landlock
from signoff.sandbox.report import examine
from signoff.sandbox.toolchains import Machine, plan

OLDEST_PYTHON = (3, 11)
OLDEST_KERNEL = (5, 13)  # the first with Landlock
ARCHITECTURES = ("x86_64", "aarch64")
NEEDED_SECCOMP = {"errno", "kill_process"}
LANDLOCK_WITH_NETWORK = 4


def python(_: Surroundings) -> Finding:
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < OLDEST_PYTHON:
        return fail("python.old", f"Python {found} is too old", fix="Install Python 3.11 or newer.")
    return ok(f"Python {found}", sys.executable)


def kernel(here: Surroundings) -> Finding:
    if here.system != "Linux":
        return warn(
            "kernel.unknown", f"{here.system} has no sandbox here", "Commands run without walls of the system.",
            "Use Linux where the sandbox matters.",
        )  # fmt: skip
    numbers = tuple(int(part) for part in here.release.split("-")[0].split(".")[:2] if part.isdigit())
    if numbers < OLDEST_KERNEL:
        return warn(
            "kernel.old", f"Linux {here.release} is older than 5.13", fix="Install a newer kernel: it brings Landlock."
        )
    return ok(f"Linux {here.release}")


def architecture(here: Surroundings) -> Finding:
    if here.machine in ARCHITECTURES:
        return ok(here.machine)
    return warn(
        "architecture.unknown", f"{here.machine} has no system-call filter here",
        f"Known are {', '.join(ARCHITECTURES)}.", "Use one of these where the sandbox matters.",
    )  # fmt: skip


def landlock(here: Surroundings) -> Finding:
    abi = kernel_landlock.level() if here.system == "Linux" else 0
    if abi == 0:
        fix = "Boot a kernel with CONFIG_SECURITY_LANDLOCK and landlock in the lsm= list."
        return warn("landlock.missing", "Landlock is not available", fix=fix)
    if abi < LANDLOCK_WITH_NETWORK:
        return warn("landlock.old", f"Landlock ABI {abi} cannot restrict the network", fix="Linux 6.7 brings ABI 4.")
    return ok(f"Landlock ABI {abi}")


def user_namespaces(here: Surroundings) -> Finding:
    if not (here.root / "proc/self/ns/user").exists():
        fix = "Boot a kernel with CONFIG_USER_NS."
        return warn("user-namespaces.missing", "user namespaces are not available", fix=fix)
    switches = {
        "user.max_user_namespaces": here.read("proc/sys/user/max_user_namespaces") == "0",
        "kernel.unprivileged_userns_clone": here.read("proc/sys/kernel/unprivileged_userns_clone") == "0",
        "kernel.apparmor_restrict_unprivileged_userns": here.read(
            "proc/sys/kernel/apparmor_restrict_unprivileged_userns"
        )
        == "1",
    }
    closed = [name for name, is_closed in switches.items() if is_closed]
    if closed:
        fix = "Install bubblewrap with its AppArmor profile, or change the setting with sysctl."
        return warn("user-namespaces.restricted", "user namespaces are restricted", f"by {', '.join(closed)}", fix)
    return ok("user namespaces are open")


def seccomp(here: Surroundings) -> Finding:
    actions = set((here.read("proc/sys/kernel/seccomp/actions_avail") or "").split())
    if not actions >= NEEDED_SECCOMP:
        fix = "Boot a kernel with CONFIG_SECCOMP_FILTER."
        return warn("seccomp.missing", "system calls cannot be filtered", "seccomp is missing or too old", fix)
    return ok("system calls can be filtered", " ".join(sorted(actions)))


def bubblewrap(here: Surroundings) -> Finding:
    program = next((place for place in BUBBLEWRAP if (here.root / place[1:]).exists()), None)
    if program:
        return ok("bubblewrap is installed", program)
    if user_namespaces(here).code is None:
        return ok("bubblewrap is not installed and not needed here")
    return warn("bubblewrap.missing", "bubblewrap is not installed", fix="Install the package bubblewrap.")


def cgroups(here: Surroundings) -> Finding:
    facts = control_groups.facts(proc=str(here.root / "proc/self"), root=str(here.root))
    summary = "not every limit can be enforced"
    fix = "Start signoff in a delegated scope: systemd-run --user --scope -p Delegate=yes …"
    if facts.unlimited:
        return warn("cgroups.closed", summary, "\n".join(facts.unlimited), fix)
    places = "\n".join(f"{place.resource}: {place.directory}" for place in facts.places)
    try:
        with control_groups.Group(facts.places, memory_bytes=1 << 30, processes=100):
            return ok("memory and processes of a command are limited together", places)
    except SignoffError as error:
        return warn("cgroups.closed", summary, error.message, fix)


def sandbox(here: Surroundings) -> Finding:
    """Not what should be possible but what is: one is started."""
    try:
        found = examine(here.environ)
    except (SignoffError, OSError) as error:
        summary, fix = (
            "no sandbox can be started here",
            getattr(error, "hint", None) or "See what the other checks say.",
        )
        if here.system != "Linux":
            return warn("sandbox.impossible", summary, str(error), fix)
        return fail("sandbox.impossible", summary, str(error), fix)
    summary = f"the sandbox is {found.strength.name.lower()}, by {found.backend}"
    if found.open:
        fix = "The checks above say what would close this; --require full refuses to run with less."
        return warn("sandbox.partial", summary, "\n".join(found.open), fix)
    return ok(summary)


def file_tools(here: Surroundings) -> Finding:
    try:
        beneath.Root(str(here.root)).close()
    except SignoffError as error:
        summary = "file tools cannot be kept inside a directory"
        return fail("file-tools.open", summary, error.message, error.hint or "Install Linux 5.6 or newer.")
    return ok("file tools are kept inside their directory by the kernel")


def toolchains(here: Surroundings) -> Finding:
    found = plan(here.environ, Machine(), workspace=str(here.directory))
    lines = [f"{one.name}: {one.path}" + (f" (without {', '.join(one.masked)})" if one.masked else "") for one in found]
    return ok(f"toolchains and caches commands may read: {len(found)}", "\n".join(lines) or None)


def terminal(here: Surroundings) -> Finding:
    if not (sys.stdin and sys.stdin.isatty() and sys.stderr and sys.stderr.isatty()):
        return ok("no terminal", "Nobody can be asked here: what needs a yes is denied.")
    return ok(f"terminal {here.environ.get('TERM', 'of unknown type')}")


CHECKS: Mapping[str, Callable[[Surroundings], Finding]] = {
    "python": python,
    "limits": access.limits,  # first: where too little is allowed, others fail for that
    "kernel": kernel,
    "architecture": architecture,
    "landlock": landlock,
    "user-namespaces": user_namespaces,
    "seccomp": seccomp,
    "bubblewrap": bubblewrap,
    "cgroups": cgroups,
    "placeholders": records.placeholders,  # before a sandbox is started, which takes them away
    "sandbox": sandbox,
    "file-tools": file_tools,
    "path": programs.path,
    "git": programs.git,
    "search": programs.search,
    "ports": access.ports,
    "toolchains": toolchains,
    "terminal": terminal,
    "config": files.configuration,
    "keys": files.keys,
    "rules": files.rules,
    "tool-servers": files.tool_servers,
    "trust": files.trust,
    "directories": files.directories,
    "permissions": access.permissions,
    "disk": files.disk,
    "locks": files.locks,
    "clock": records.clock,
    "ledger": records.ledger,
    "undo": records.undo,
    "sessions": records.sessions,
    "memory": records.memory,
}
