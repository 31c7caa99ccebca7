"""Which hosts a command names, and what git would change. Only what can be read off the words."""

from collections.abc import Iterator, Sequence

from signoff.domain.intent import GitWrite, Host
from signoff.domain.late import late_pattern
from signoff.policy.commands.git_commands import verb_index
from signoff.policy.shell.words import seen

_URL = late_pattern(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?:[^/@\s]*@)?(?P<host>\[[^\]]*\]|[^/:\s?#]+)(?::(?P<port>\d{1,5}))?"
)
_REMOTE = late_pattern(r"(?:[\w.-]+@)?(?P<host>[\w-]+(?:\.[\w-]+)+|[\w-]+):(?!//)(?:[^\s]*)")
_DEFAULT_PORTS = {"http": 80, "https": 443, "ssh": 22, "ftp": 21, "git": 9418}
BY_URL = frozenset("aria2c http https xh pip pip3 npm go fetch lynx w3m elinks ftp svn hg docker".split())
BY_OPERAND = frozenset(
    "curl wget git ssh scp sftp rsync nc ncat netcat telnet ping ping6 dig host nslookup whois traceroute mosh socat nmap".split()
)
_HOST_OPERAND = late_pattern(r"@?(?:[\w.-]+@)?(?P<host>[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)\.?")
_BARE_URL = late_pattern(r"(?P<host>localhost|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)(?::(?P<port>\d{1,5}))?(?:[/?#]\S*)?")

GIT_WRITES = frozenset(
    "add am apply bisect branch checkout cherry-pick clean clone commit config fetch filter-branch filter-repo gc init maintenance merge mv "
    "notes pull push rebase reflog remote repack replace reset restore revert rm sparse-checkout stash submodule switch symbolic-ref tag "
    "update-index update-ref worktree write-tree commit-tree read-tree hash-object fast-import prune lfs subtree".split()
)  # fmt: skip


def hosts(name: str, words: Sequence[str]) -> Iterator[Host]:
    for word in words[1:]:
        text = seen(word)
        if text is None or (text[:1] == "-" and "://" not in text):
            continue
        url = _URL.search(text)
        if url is not None:
            scheme = url["scheme"].lower().rpartition("+")[2]
            port = int(url["port"]) if url["port"] else _DEFAULT_PORTS.get(scheme)
            yield Host(url["host"].strip("[]").lower().rstrip("."), port, scheme)
        elif name == "git":
            match = _REMOTE.fullmatch(text) if "@" in text else None
            if match is not None:
                yield Host(match["host"].lower(), 22, "ssh")
        elif name in ("curl", "wget"):
            if bare := _BARE_URL.fullmatch(text):
                yield Host(bare["host"].lower(), int(bare["port"] or 80), "http")
        else:
            match = _HOST_OPERAND.fullmatch(text) or _REMOTE.fullmatch(text)
            if match is not None:
                yield Host(match["host"].lower())


def git_writes(words: Sequence[str]) -> Iterator[GitWrite]:
    at = verb_index(words)
    if at is not None and words[at] in GIT_WRITES and not _only_lists(words[at], words[at + 1 :]):
        yield GitWrite(words[at])


_LISTING = {
    "branch": frozenset("-l --list --show-current -a --all -r --remotes -v -vv --verbose".split()),
    "tag": frozenset("-l --list".split()),
    "stash": frozenset({"list", "show"}),
    "remote": frozenset("-v --verbose show get-url".split()),
    "worktree": frozenset({"list"}),
    "config": frozenset("-l --list --get --get-all --get-regexp".split()),
    "reflog": frozenset({"show"}),
    "bisect": frozenset({"log", "view"}),
    "submodule": frozenset({"status", "summary"}),
    "notes": frozenset({"list", "show"}),
    "apply": frozenset("--check --stat --numstat --summary".split()),
}


def _only_lists(verb: str, rest: Sequence[str]) -> bool:
    """The same verb lists when nothing, or one of these words, follows."""
    listing = _LISTING.get(verb)
    if listing is None or (verb in ("apply", "config", "submodule", "notes", "bisect") and not rest):
        return False
    return (not rest and verb != "stash") or any(word in listing for word in rest[:1])
