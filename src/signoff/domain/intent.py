"""What a call will touch, said before it happens. An intent is a set of aspects; each is judged alone, the strictest wins.

What could not be read is `Opaque`: an intent is never silently empty of something that was there.
"""

import enum

import msgspec


class Action(enum.StrEnum):
    """What a call does in one word, as the tool-event protocol spells it."""

    READ = "read"
    WRITE = "write"
    NET = "net"
    EXEC = "exec"


class Permission(enum.StrEnum):
    """The rights a tool declares and a rule can name."""

    FS_READ = "fs.read"
    FS_WRITE = "fs.write"
    FS_DELETE = "fs.delete"
    PROC_EXEC = "proc.exec"
    NET_CONNECT = "net.connect"
    GIT_WRITE = "git.write"


class Escalation(enum.StrEnum):
    """What a call asks of the sandbox (`sandbox_permissions` in an approval key)."""

    USE_DEFAULT = "use_default"
    REQUIRE_ESCALATED = "require_escalated"


class Command(msgspec.Struct, frozen=True, tag="command"):
    """One program start. `words` is what the program would see; a word only the shell can know is None.

    `plain` says that the script around it was read completely, so that a rule may grant it; every other command
    can only be restricted. A wrapper (`timeout 5 make`) is a command of its own, followed by what it starts at
    `depth` + 1. A rule speaks for both only if its pattern reaches `inner`; otherwise both have to be granted, and a
    `transparent` wrapper is as good as what it starts.
    """

    words: tuple[str | None, ...]
    text: str
    plain: bool = True
    depth: int = 0  # how many wrappers are around it
    inner: int | None = None  # where in `words` the wrapped command begins; None: it wraps nothing
    transparent: bool = False
    directory: str | None = None  # where the script moved to before it; None: it did not move


class FileRead(msgspec.Struct, frozen=True, tag="file_read"):
    path: str  # absolute, normalised, links resolved by the caller


class FileWrite(msgspec.Struct, frozen=True, tag="file_write"):
    path: str


class FileDelete(msgspec.Struct, frozen=True, tag="file_delete"):
    path: str


class GitWrite(msgspec.Struct, frozen=True, tag="git_write"):
    """A git operation that changes a repository: commit, push, branch …"""

    operation: str


class Host(msgspec.Struct, frozen=True, tag="host"):
    name: str
    port: int | None = None
    protocol: str | None = None


class Opaque(msgspec.Struct, frozen=True, tag="opaque"):
    """Something that cannot be understood, with the reason.

    `asks`: a person has to look at it. Otherwise it is understood in outline: too little to grant anything, but no
    question of its own.
    """

    text: str
    reason: str
    asks: bool = True


Aspect = Command | FileRead | FileWrite | FileDelete | GitWrite | Host | Opaque


class Intent(msgspec.Struct, frozen=True):
    """Everything one call will touch. `tool` and `action` are the caller's own words for it."""

    tool: str
    action: Action
    aspects: tuple[Aspect, ...] = ()
    escalation: Escalation = Escalation.USE_DEFAULT
    justification: str | None = None
    prefix_rule: tuple[str, ...] | None = None  # what the model suggests to remember
    argv: tuple[str, ...] | None = None  # the process that would be started, for commands
