"""Did the sandbox stop this command, at what, and what is the least that would have let it pass?

What the kernel said comes first: the signal, the limit that was hit, the hosts our proxy refused. Words a program printed
count only as a hint where to look: a path must be named, the profile must forbid what was tried there, and the machine
outside must permit it; otherwise the command would have failed anywhere and there is nothing to ask a person about.
"""

import os
import re
import shlex
import signal
from collections.abc import Iterator, Sequence
from typing import Protocol

import msgspec

from signoff.domain.settings import Network
from signoff.sandbox.notices import Refusal
from signoff.sandbox.outcome import Cause, Denial
from signoff.sandbox.protected import CLOSED_IN_A_GITDIR

_LINES, _WIDTH = 40, 4_096  # a failure is told at the end, and briefly


class Reach(msgspec.Struct, frozen=True):
    """What a command could do inside, as paths of the host. `readable` is None where everything may be read."""

    writable: tuple[str, ...]
    protected: tuple[str, ...]
    readable: tuple[str, ...] | None
    network: Network
    private: tuple[str, ...] = ()  # writable, but the command's own: what the host has there is out of sight


class Evidence(msgspec.Struct, frozen=True):
    """What is known about a command that ended."""

    argv: tuple[str, ...]
    cwd: str
    exit_code: int | None
    signal: int | None
    stdout: str = ""
    stderr: str = ""
    exhausted: str | None = None  # a limit that the sandbox itself saw exceeded
    refused_hosts: tuple[str, ...] = ()  # host:port, as our proxy refused them
    refused_calls: tuple[Refusal, ...] | None = None  # as the kernel told; None: it could not be asked


class Outside(Protocol):
    """What the same person could do without the sandbox."""

    def can_read(self, path: str) -> bool: ...

    def can_write(self, path: str) -> bool: ...


class Host:
    """The machine we run on."""

    def can_read(self, path: str) -> bool:
        return os.access(path, os.R_OK, effective_ids=True)

    def can_write(self, path: str) -> bool:
        """To a file, or to the nearest directory that exists, where it would be made."""
        while not os.path.lexists(path):
            path = os.path.dirname(path)
        return os.access(path, os.W_OK, effective_ids=True)


def explain(evidence: Evidence, reach: Reach, outside: Outside) -> Denial | None:
    """None: the command did what it would have done anywhere."""
    if evidence.exit_code == 0:
        return None
    certain = _from_facts(evidence)
    if certain is not None or _answers_with_its_status(evidence):
        return certain
    told = evidence.stderr if evidence.stderr.strip() else evidence.stdout  # `2>&1` is how many commands end
    lines = [line[:_WIDTH] for line in told.splitlines()[-_LINES:] if line.strip(" ^~")]
    for before, line in reversed(list(zip(["", *lines], lines, strict=False))):
        denial = (
            _network(line, before, reach, evidence.refused_calls)
            or _call(line, evidence.refused_calls)
            or _limit(line)
            or _path(line, evidence.cwd, reach, outside)
        )
        if denial is not None:
            return denial
    return None


def _from_facts(evidence: Evidence) -> Denial | None:
    if evidence.exhausted == "memory":
        return Denial(Cause.MEMORY, None, "a higher memory limit", certain=True)
    if evidence.exhausted == "processes":
        return Denial(Cause.PROCESSES, None, "a higher process limit", certain=True)
    ended_by = evidence.signal or (evidence.exit_code or 0) - 128  # a shell tells its child's signal this way
    if ended_by == signal.SIGSYS:
        return Denial(Cause.SYSCALL, None, "running outside the sandbox", certain=evidence.signal is not None)
    if ended_by == signal.SIGXFSZ:
        return Denial(Cause.FILE_SIZE, None, "a higher file size limit", certain=evidence.signal is not None)
    if evidence.refused_hosts:
        host = evidence.refused_hosts[-1]
        return Denial(Cause.NETWORK, host, f"network {host}", certain=True)
    return None


_ONE_MEANS_NO = frozenset(
    ("grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "diff", "cmp", "test", "[", "[[", "false")
)
_SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh"))


def _answers_with_its_status(evidence: Evidence) -> bool:
    """Status 1 of a search or a comparison is its answer, whatever else was printed; 126 and 127 are the shell's own."""
    if evidence.exit_code in (126, 127):
        return True
    if evidence.exit_code != 1:
        return False
    words = list(evidence.argv)
    if os.path.basename(words[0]) in _SHELLS and len(words) > 2 and re.fullmatch(r"-[a-z]*c", words[1]):
        last = re.split(r"&&|\|\||[;|\n]", words[2].rstrip(" ;\n"))[-1]
        try:
            words = shlex.split(last)
        except ValueError:
            return False
    programs = [word for word in words if not re.fullmatch(r"\w+=.*", word)]
    if programs[:2] in (["git", "grep"], ["git", "diff"]):
        return True
    return bool(programs) and os.path.basename(programs[0]) in _ONE_MEANS_NO


_HOST = r"[‘'\"`]?(?:https?://)?([A-Za-z0-9][A-Za-z0-9.-]*\.[A-Za-z0-9-]+|[A-Za-z0-9-]+)"
# Texts, compiled when first needed: most commands end well, and compiling takes longer than starting one.
_NO_NETWORK = (
    rf"could ?n[o']t resolve (?:host(?:name)?|proxy)(?: name)?:? \(?(?:could not resolve host: )?{_HOST}",
    rf"unable to resolve host address {_HOST}",
    rf"temporary failure resolving {_HOST}",
    rf"failed to resolve {_HOST}",
    rf"getaddrinfo (?:EAI_AGAIN|ENOTFOUND|EPERM) {_HOST}",
    rf"dial tcp: lookup {_HOST}",
    rf"failed to lookup address information.*?{_HOST}",
    rf"connect E(?:PERM|NETUNREACH|ACCES) {_HOST}",
    rf"failed to connect to {_HOST} port \d+.*(?:not permitted|unreachable)",
    r"(?:temporary failure in name resolution|name or service not known)()",
    r"network is unreachable()",
    r"\bsocket\b.*: operation not permitted()$",
)
_NO_SOCKET = r"operation not permitted$"


_REACHING_OUT = (2, 10, 16)  # families of sockets: internet, old and new, and netlink, by which names are looked up


def _network(line: str, before: str, reach: Reach, told: tuple[Refusal, ...] | None) -> Denial | None:
    """Where the kernel told, its word decides: no socket refused, no denial, whatever is printed."""
    if reach.network is Network.ON:
        return None
    certain = told is not None and any(one.call == "socket" and one.first in _REACHING_OUT for one in told)
    if told is not None and not certain and reach.network is Network.OFF:
        return None
    if "socket." in before and re.search(_NO_SOCKET, line, re.I):  # how a traceback tells it
        return Denial(Cause.NETWORK, None, "network access", certain)
    for pattern in _NO_NETWORK:
        if found := re.search(pattern, line, re.I):
            host = found[1] or None
            if host in ("localhost", "127.0.0.1"):
                return None
            return Denial(Cause.NETWORK, host, f"network {host or 'access'}", certain)
    return None


_CALLS = (
    r"\b(unshare|setns|mount|umount|chroot|pivot_root|ptrace|bpf|perf_event_open|keyctl|add_key|io_uring_\w+|userfaultfd"
    r"|kexec_load|init_module|bwrap)\b.*(operation not permitted|function not implemented)"
)


_UNTOLD = r"bpf|perf_event_open|keyctl|add_key|io_uring_\w+|userfaultfd"  # answered without a word: programs try them


def _call(line: str, told: tuple[Refusal, ...] | None) -> Denial | None:
    """A call that the kernel told us of and that the program complains about; where it could not tell, by name alone."""
    refused = next((one.call for one in reversed(told or ()) if one.call != "socket"), None)
    if refused is not None and re.search(r"operation not permitted", line, re.I):
        return Denial(Cause.SYSCALL, refused, "running outside the sandbox", certain=True)
    found = re.search(_CALLS, line, re.I)
    if found is None or (told is not None and not re.fullmatch(_UNTOLD, found[1], re.I)):
        return None
    return Denial(Cause.SYSCALL, found[1], "running outside the sandbox", certain=False)


_LIMITS = (
    (r"\bfork\b.*resource temporarily unavailable|can't start new thread", Cause.PROCESSES, "a higher process limit"),
    (r"^MemoryError\b|: cannot allocate memory$|std::bad_alloc", Cause.MEMORY, "a higher memory limit"),
    (r": file too large$|file size limit exceeded", Cause.FILE_SIZE, "a higher file size limit"),
)  # fmt: skip


def _limit(line: str) -> Denial | None:
    for pattern, cause, permission in _LIMITS:
        if re.search(pattern, line, re.I):
            return Denial(cause, None, permission, certain=False)
    return None


_WRITE_ERRORS = (
    "read-only file system",
    "permission denied",
    "operation not permitted",
    "device or resource busy",
    "is a directory",
)
_HIDDEN = "no such file or directory"
_READ_ERRORS = (_HIDDEN, "permission denied", "operation not permitted")
_TOLD = rf"({'|'.join(sorted({*_WRITE_ERRORS, *_READ_ERRORS}))})(?: \(os error \d+\))?(?:[.)]?$|: ['\"]|, \w+ ['\"]|; )"
_QUOTED = r"'([^']+)'|\"([^\"]+)\"|`([^`']+)[`']|‘([^’]+)’"


def _path(line: str, cwd: str, reach: Reach, outside: Outside) -> Denial | None:
    told = re.search(_TOLD, line.rstrip(), re.I)
    if told is None:
        return None
    error = told[1].lower()
    for name in _names(line, told.start()):
        path = os.path.normpath(os.path.join(cwd, name))
        denial = _write(path, error, reach, outside) or _read(path, error, reach, outside)
        if denial is not None:
            return denial
    return None


def _names(line: str, until: int) -> Iterator[str]:
    """What in an error message may be a path: everything quoted, and what stands before the error's own words."""
    for found in re.findall(_QUOTED, line):
        yield next(filter(None, found))
    before = line[:until].rstrip(": ").rsplit(": ", 1)[-1]
    if before.startswith(("/", "./", "../")):
        yield before
    yield before.rsplit(" ", 1)[-1]


def _write(path: str, error: str, reach: Reach, outside: Outside) -> Denial | None:
    if error not in _WRITE_ERRORS:
        return None
    root = next((place for place in reach.protected if _within(path, (place,))), None)
    if root is not None:
        return Denial(Cause.PROTECTED, path, _opening(path, root), certain=False)
    # what is private is never read-only: such an error comes from something of the host's below it
    open_to_it = reach.writable if error == "read-only file system" else (*reach.writable, *reach.private)
    if error == "is a directory" or _within(path, open_to_it) or not outside.can_write(path):
        return None
    above = os.path.dirname(path)
    return Denial(Cause.WRITE, path, f"writable root {above if above != '/' else path}", certain=False)


def _opening(path: str, root: str) -> str:
    """Git may be let write its own records, never what it runs or obeys."""
    section = path[len(root) + 1 :].split("/")[0]
    if os.path.basename(root) == ".git" and section and section not in CLOSED_IN_A_GITDIR:
        return "git.write"
    return f"protected path {root}"


def _read(path: str, error: str, reach: Reach, outside: Outside) -> Denial | None:
    if error not in _READ_ERRORS or reach.readable is None or _within(path, (*reach.readable, *reach.writable)):
        return None
    if error != _HIDDEN and _within(path, reach.private):
        return None
    return Denial(Cause.READ, path, f"readable root {path}", certain=False) if outside.can_read(path) else None


def _within(path: str, roots: Sequence[str]) -> bool:
    return any(path == root or path.startswith(f"{root.rstrip('/')}/") for root in roots)
