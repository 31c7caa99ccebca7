"""From segments to aspects: what each command starts, touches and reaches, wrapper by wrapper."""

import posixpath
from collections.abc import Callable, Iterable, Sequence

from signoff.domain.intent import Aspect, Command, FileDelete, FileRead, FileWrite, Host, Opaque
from signoff.domain.late import late_pattern
from signoff.policy.commands.cautious import CAUTIOUS, OPERANDS_COUNT
from signoff.policy.commands.credentials import is_credential, may_be_credential
from signoff.policy.commands.inert import INERT
from signoff.policy.commands.places import is_the_systems_own
from signoff.policy.commands.safe import CHECKED_PROGRAMS
from signoff.policy.shell import network, operands, unwrap
from signoff.policy.shell.plain import RESERVED, is_assignment
from signoff.policy.shell.segments import Segment
from signoff.policy.shell.words import Dynamic, Kind, seen
from signoff.policy.shell.wrappers import INTERPRETERS, SHELLS

MAX_COMMANDS = 50
MAX_DEPTH = 8
SPECIAL = frozenset(unwrap.names()) | operands.PROGRAMS | network.BY_URL | network.BY_OPERAND | {"cd", "pushd", "popd", "source", "."} | INTERPRETERS  # fmt: skip
"""Programs about which more can be said than their words."""

DOWNLOADERS = frozenset("curl wget fetch nc ncat netcat base64 base32 xxd openssl aria2c gpg uudecode socat".split())
_HARMLESS_DEVICES = frozenset("/dev/null /dev/stdout /dev/stderr /dev/tty /dev/zero /dev/full".split())
_PLAIN_TEXT = late_pattern(r"[A-Za-z0-9_./:=@%+,-]+(?: [A-Za-z0-9_./:=@%+,-]+)*")
_HAS_DOTS = late_pattern(r"(?:^|/)\.{0,2}(?:/|$)")
_QUOTE = late_pattern(r"[^A-Za-z0-9_./:=@%+,-]")
_USES: dict[operands.Use, Callable[[str], Aspect]] = {
    operands.Use.READ: FileRead,
    operands.Use.WRITE: FileWrite,
    operands.Use.DELETE: FileDelete,
}
_RECURSIVE = frozenset("grep egrep fgrep rg ag ack".split())


def base_name(word: str) -> str:
    return word.rpartition("/")[2] if "/" in word else word


class Findings:
    """What was found so far. `directories`: where the script may be at this point, more than one if that is open."""

    def __init__(self, cwd: str, home: str) -> None:
        self.cwd, self.home = cwd, home
        self.directories: tuple[str, ...] = (cwd,)
        self.aspects: list[Aspect] = []
        self.reason: str | None = None
        self.commands = 0

    def not_plain(self, reason: str) -> None:
        self.reason = self.reason or reason

    def ask(self, text: str, reason: str) -> None:
        self.not_plain(reason)
        aspect = Opaque(text, reason)
        if aspect not in self.aspects:
            self.aspects.append(aspect)

    def examine(self, segment: Segment, depth: int) -> "unwrap.Unwrapped | None":
        """Record one command and all it touches; what it starts is given back for the caller to follow."""
        self.commands += 1
        if self.commands > MAX_COMMANDS:
            self.ask(segment.text, f"more than {MAX_COMMANDS} commands")
            if self.commands > 4 * MAX_COMMANDS:
                return None
        words = segment.words
        name = base_name(words[0])
        if segment.literal and name not in SPECIAL and name[:2] != "ld" and not segment.reads and not segment.writes:
            self._record(segment, depth, None)
            return None
        if isinstance(words[0], Dynamic):
            self.not_plain("a program name that only the shell knows")
            known = words[0].value
            name = base_name(known) if known else name
        if not segment.literal and any(type(word) is Dynamic for word in words[1:]):
            self._admit(name, words)
        started = unwrap.unwrap(words, name, segment.stdin) if name in SPECIAL or name.startswith("ld") else None
        self._record(segment, depth, started)
        for target in segment.reads:
            if isinstance(target, Dynamic) and (target.kind is not Kind.HOME or target.value is None):
                self.not_plain("input from a file that only the shell knows")
            elif target.startswith("/dev/") and is_credential(target):
                self.not_plain("input from a device")
            self._path(operands.Use.READ, target)
        for target in segment.writes:
            self.not_plain("a redirection that writes a file")
            self._path(operands.Use.WRITE, target)
        if name in SPECIAL:
            self._touched(name, words, segment.text)
        if started is not None and started.unknown:
            self.ask(segment.text, started.unknown)
        return started

    def _record(self, segment: Segment, depth: int, started: "unwrap.Unwrapped | None") -> None:
        words: tuple[str | None, ...] = tuple(segment.words)
        if not segment.literal:
            words = tuple(word.value if isinstance(word, Dynamic) else word for word in segment.words)
        moved = None if self.directories == (self.cwd,) else self.directories[0]
        inner, transparent = (None, False) if started is None else (started.inner, started.transparent)
        transparent = transparent and is_the_systems_own(segment.words[0])
        self.aspects.append(Command(words, segment.text, True, depth, inner, transparent, moved))

    def _admit(self, name: str, words: list[str]) -> None:
        """Words that only the shell completes are granted only where they cannot become an option or reach a secret."""
        after_dashes = False
        for word in words[1:]:
            after_dashes = after_dashes or word == "--"
            if not isinstance(word, Dynamic):
                continue
            if may_be_credential(word.pattern) or (word.value is not None and is_credential(word.value)):
                self.not_plain("a word that may name a place where secrets are kept")
            elif word.kind is Kind.GLOB:
                certain = after_dashes or (word.lead and word.lead[0] != "-")
                if name in OPERANDS_COUNT or not (certain or name in INERT or name not in CAUTIOUS | SPECIAL):
                    self.not_plain("file names that could be read as options")
            elif word.kind is Kind.HOME and (word.value or "").startswith("/") and name in CHECKED_PROGRAMS:
                continue  # a path, whatever it is
            elif word.kind is Kind.UNKNOWN or name not in INERT:
                self.not_plain("a word that only the shell knows")

    def _touched(self, name: str, words: list[str], text: str) -> None:
        if name in operands.PROGRAMS:
            for use, word in operands.files(name, words):
                self._path(use, word)
            if name in _RECURSIVE:
                self._recursive_read(words)
        if name in network.BY_OPERAND or (name in network.BY_URL and "://" in text):
            self.aspects.extend(network.hosts(name, words))
        if name == "git":
            self.aspects.extend(network.git_writes(words))

    def _recursive_read(self, words: Iterable[str]) -> None:
        """A search below a parent of the home directory reads the secrets in it."""
        for aspect in tuple(self.aspects):
            if isinstance(aspect, FileRead) and (self.home + "/").startswith(aspect.path.rstrip("/") + "/"):
                self.aspects.append(FileRead(f"{self.home}/.ssh"))
                return

    def _path(self, use: operands.Use, word: str) -> None:
        text = seen(word)
        if isinstance(word, Dynamic) and text is None:
            if word.kind is not Kind.GLOB:
                if use is not operands.Use.READ:
                    self.aspects.append(Opaque(word.raw, "writes to a path that only the shell knows", asks=False))
                return
            text = posixpath.dirname(word.lead) or "."  # something in there
        elif text is None or text == "-" or not text:
            return
        if text.startswith(("/dev/tcp/", "/dev/udp/")):
            host, _, port = text[9:].partition("/")
            self.aspects.append(Host(host, int(port) if port.isdecimal() else None, text[5:8]))
            self.ask(text, "a network connection by the shell")
            return
        if use is not operands.Use.READ and text.startswith("/dev/"):
            if text not in _HARMLESS_DEVICES and not text.startswith(("/dev/shm/", "/dev/fd/")):
                self.ask(text, "writes to a device")
            elif text == "/dev/null":
                return
        for directory in self.directories if text[0] != "/" else self.directories[:1]:
            aspect = _USES[use](_absolute(directory, text))
            if aspect not in self.aspects:
                self.aspects.append(aspect)


def _absolute(directory: str, text: str) -> str:
    if text[0] != "/" and directory != "/" and not _HAS_DOTS.search(text):
        return f"{directory}/{text}"  # nothing to normalise
    return "/" + posixpath.normpath(posixpath.join(directory, text)).lstrip("/")


def shown(words: Sequence[str]) -> str:
    """Words as a person would type them."""
    joined = " ".join(words)
    if joined.count(" ") == len(words) - 1 and _PLAIN_TEXT.fullmatch(joined):
        return joined
    texts = (word.raw if isinstance(word, Dynamic) else word for word in words)
    return " ".join(_quoted(text) if not text or _QUOTE.search(text) else text for text in texts)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\"'\"'") + "'"


def reads_commands(name: str, words: list[str]) -> bool:
    """Whether the program takes its program text from its input: a shell or an interpreter without a file or `-c`."""
    if name in SHELLS:
        return True
    return name in INTERPRETERS and all(
        word == "-" or (word[:1] == "-" and len(word) == 2 and word[1] not in "cemr") for word in words[1:]
    )


def is_simple_start(word: str) -> bool:
    """Whether a command can begin with the word: it is no construct of the shell and no assignment."""
    return word not in RESERVED and not is_assignment(word)
