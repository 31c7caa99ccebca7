"""What `signoff doctor` looks at: a table of small checks, each a function from the surroundings to one finding.

A room that needs something from the machine adds a function and a row.
"""

import enum
import os
import shutil
import stat
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from signoff.config import locations
from signoff.config.layers import load
from signoff.config.project import find_project, project_id
from signoff.config.rules import Places, find
from signoff.domain.errors import SignoffError
from signoff.files import beneath
from signoff.sandbox import cgroups as control_groups
from signoff.sandbox.inside import landlock as kernel_landlock
from signoff.sandbox.report import examine
from signoff.sandbox.toolchains import Machine, plan

OLDEST_PYTHON = (3, 11)
OLDEST_KERNEL = (5, 13)  # the first with Landlock
ARCHITECTURES = ("x86_64", "aarch64")
NEEDED_SECCOMP = {"errno", "kill_process"}
LANDLOCK_WITH_NETWORK = 4


class Status(enum.StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Finding(msgspec.Struct, frozen=True):
    status: Status
    summary: str
    detail: str | None = None
    fix: str | None = None


class Surroundings(msgspec.Struct, frozen=True):
    """What the checks may look at; a test gives another root, another environment, another system."""

    environ: Mapping[str, str]
    directory: Path
    flags: Mapping[str, str] = {}
    root: Path = Path("/")
    system: str = os.uname().sysname
    release: str = os.uname().release
    machine: str = os.uname().machine

    def read(self, path: str) -> str | None:
        try:
            return (self.root / path).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            return None


def python(_: Surroundings) -> Finding:
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < OLDEST_PYTHON:
        return Finding(Status.FAIL, f"Python {found} is too old", fix="Install Python 3.11 or newer.")
    return Finding(Status.OK, f"Python {found}", sys.executable)


def kernel(here: Surroundings) -> Finding:
    if here.system != "Linux":
        return Finding(Status.WARN, f"{here.system} has no sandbox here", "Commands run without walls of the system.")
    numbers = tuple(int(part) for part in here.release.split("-")[0].split(".")[:2] if part.isdigit())
    if numbers < OLDEST_KERNEL:
        return Finding(Status.WARN, f"Linux {here.release} is older than 5.13", fix="A newer kernel brings Landlock.")
    return Finding(Status.OK, f"Linux {here.release}")


def architecture(here: Surroundings) -> Finding:
    if here.machine in ARCHITECTURES:
        return Finding(Status.OK, here.machine)
    return Finding(
        Status.WARN, f"{here.machine} has no system-call filter here", f"Known are {', '.join(ARCHITECTURES)}."
    )


def landlock(here: Surroundings) -> Finding:
    abi = kernel_landlock.level() if here.system == "Linux" else 0
    if abi == 0:
        fix = "Boot a kernel with CONFIG_SECURITY_LANDLOCK and landlock in the lsm= list."
        return Finding(Status.WARN, "Landlock is not available", fix=fix)
    if abi < LANDLOCK_WITH_NETWORK:
        return Finding(Status.WARN, f"Landlock ABI {abi} cannot restrict the network", fix="Linux 6.7 brings ABI 4.")
    return Finding(Status.OK, f"Landlock ABI {abi}")


def user_namespaces(here: Surroundings) -> Finding:
    if not (here.root / "proc/self/ns/user").exists():
        return Finding(Status.WARN, "user namespaces are not available")
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
        return Finding(Status.WARN, "user namespaces are restricted", f"by {', '.join(closed)}", fix)
    return Finding(Status.OK, "user namespaces are open")


def seccomp(here: Surroundings) -> Finding:
    actions = set((here.read("proc/sys/kernel/seccomp/actions_avail") or "").split())
    if not actions >= NEEDED_SECCOMP:
        fix = "Boot a kernel with CONFIG_SECCOMP_FILTER."
        return Finding(Status.WARN, "system calls cannot be filtered", "seccomp is missing or too old", fix)
    return Finding(Status.OK, "system calls can be filtered", " ".join(sorted(actions)))


def bubblewrap(here: Surroundings) -> Finding:
    program = shutil.which("bwrap", path=here.environ.get("PATH", ""))
    if program:
        return Finding(Status.OK, "bubblewrap is installed", program)
    if user_namespaces(here).status is Status.OK:
        return Finding(Status.OK, "bubblewrap is not installed and not needed here")
    return Finding(Status.WARN, "bubblewrap is not installed", fix="Install the package bubblewrap.")


def cgroups(here: Surroundings) -> Finding:
    facts = control_groups.facts(proc=str(here.root / "proc/self"), root=str(here.root))
    if facts.unlimited:
        fix = "Start signoff in a delegated scope: systemd-run --user --scope -p Delegate=yes …"
        return Finding(Status.WARN, "not every limit can be enforced", "\n".join(facts.unlimited), fix)
    places = "\n".join(f"{place.resource}: {place.directory}" for place in facts.places)
    try:
        with control_groups.Group(facts.places, memory_bytes=1 << 30, processes=100):
            return Finding(Status.OK, "memory and processes of a command are limited together", places)
    except SignoffError as error:
        return Finding(Status.WARN, "not every limit can be enforced", error.message)


def file_tools(here: Surroundings) -> Finding:
    try:
        beneath.Root(str(here.root)).close()
    except SignoffError as error:
        return Finding(Status.FAIL, "file tools cannot be kept inside a directory", error.message, error.hint)
    return Finding(Status.OK, "file tools are kept inside their directory by the kernel")


def toolchains(here: Surroundings) -> Finding:
    found = plan(here.environ, Machine(), workspace=str(here.directory))
    lines = [f"{one.name}: {one.path}" + (f" (without {', '.join(one.masked)})" if one.masked else "") for one in found]
    return Finding(Status.OK, f"toolchains and caches commands may read: {len(found)}", "\n".join(lines) or None)


def terminal(here: Surroundings) -> Finding:
    if not (sys.stdin and sys.stdin.isatty() and sys.stderr and sys.stderr.isatty()):
        return Finding(Status.OK, "no terminal", "Nobody can be asked here: what needs a yes is denied.")
    return Finding(Status.OK, f"terminal {here.environ.get('TERM', 'of unknown type')}")


def configuration(here: Surroundings) -> Finding:
    try:
        loaded = load(here.environ, here.directory, here.flags)
    except SignoffError as error:
        return Finding(Status.FAIL, "the configuration cannot be used", error.message, error.hint)
    if loaded.warnings:
        return Finding(Status.WARN, "not all of the configuration is in force", "\n".join(loaded.warnings))
    layers = sorted({setting.layer for setting in loaded.origins.values()})
    return Finding(Status.OK, "the configuration is valid", f"values from: {', '.join(layers)}")


def directories(here: Surroundings) -> Finding:
    try:
        places = [
            locations.user_config(here.environ),
            *(find(here.environ) for find in (locations.state, locations.data, locations.cache)),
        ]
    except SignoffError as error:
        return Finding(Status.FAIL, "there is no place for our files", error.message, error.hint)
    closed = [place for place in places if not os.access(_nearest(place), os.W_OK | os.X_OK)]
    if closed:
        names = "\n".join(map(str, closed))
        return Finding(
            Status.FAIL, "not every directory can be written", names, "Make them yours, or set XDG_STATE_HOME."
        )
    exposed = [place for place in places if place.exists() and stat.S_IMODE(place.stat().st_mode) & 0o022]
    if exposed:
        names = " ".join(map(str, exposed))
        return Finding(Status.WARN, "others can write into our directories", names, f"chmod go-w {names}")
    return Finding(Status.OK, "our directories can be written", "\n".join(map(str, places)))


def rules(here: Surroundings) -> Finding:
    try:
        project = find_project(here.environ, here.directory)
        found, warnings = find(Places(dict(here.environ), project, project_id(project)))
        for file in found:
            file.rules()
    except SignoffError as error:
        return Finding(Status.FAIL, "the rules cannot be used", error.message, error.hint)
    if warnings:
        return Finding(Status.WARN, "not all rules are in force", "\n".join(warnings))
    return Finding(Status.OK, f"rule files: {len(found)}", "\n".join(str(file.path) for file in found) or None)


def sandbox(here: Surroundings) -> Finding:
    """Not what should be possible but what is: one is started."""
    try:
        found = examine(here.environ)
    except SignoffError as error:
        return Finding(Status.WARN, "no sandbox can be started here", error.message, error.hint)
    if found.open:
        return Finding(
            Status.WARN, f"the sandbox is {found.strength.name.lower()}, by {found.backend}", "\n".join(found.open)
        )
    return Finding(Status.OK, f"the sandbox is {found.strength.name.lower()}, by {found.backend}")


CHECKS: Mapping[str, Callable[[Surroundings], Finding]] = {
    "python": python,
    "kernel": kernel,
    "architecture": architecture,
    "landlock": landlock,
    "user-namespaces": user_namespaces,
    "seccomp": seccomp,
    "bubblewrap": bubblewrap,
    "cgroups": cgroups,
    "sandbox": sandbox,
    "file-tools": file_tools,
    "toolchains": toolchains,
    "terminal": terminal,
    "config": configuration,
    "directories": directories,
    "rules": rules,
}


def _nearest(place: Path) -> Path:
    """The directory itself, or the one it would be made in."""
    return next(path for path in (place, *place.parents) if path.exists())
