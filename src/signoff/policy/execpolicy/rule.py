"""What a rule file can say: frozen, and with the place it was said at."""

import enum

import msgspec

from signoff.domain.verdict import Decision, Source

DECISIONS = {"allow": Decision.ALLOW, "prompt": Decision.ASK, "forbidden": Decision.DENY}
WORDS = {decision: word for word, decision in DECISIONS.items()}

Words = tuple[str, ...]


class PrefixRule(msgspec.Struct, frozen=True):
    """Commands whose first words are these. Each position of the pattern lists the words that fit there."""

    pattern: tuple[Words, ...]
    decision: Decision
    source: Source
    justification: str | None = None
    match: tuple[Words, ...] = ()
    not_match: tuple[Words, ...] = ()
    expires_ms: int | None = None  # a grant for a while; never from a rule file

    @property
    def id(self) -> str:
        return f"{self.source}" if self.source.file else f"{self.source.layer}.{'.'.join(self.pattern[0])}"


class Protocol(enum.StrEnum):
    HTTP = "http"
    HTTPS = "https"
    SOCKS5_TCP = "socks5_tcp"
    SOCKS5_UDP = "socks5_udp"


class NetworkRule(msgspec.Struct, frozen=True):
    host: str
    protocol: Protocol
    decision: Decision
    source: Source
    justification: str | None = None


class HostExecutable(msgspec.Struct, frozen=True):
    """Where a program may live, so that a rule for its name also covers its path."""

    name: str
    paths: Words
    source: Source


class RuleFile(msgspec.Struct, frozen=True):
    """Everything one file says, in its order."""

    prefixes: tuple[PrefixRule, ...] = ()
    networks: tuple[NetworkRule, ...] = ()
    executables: tuple[HostExecutable, ...] = ()

    @property
    def listed(self) -> dict[str, Words]:
        """Where each program may live; the last word counts."""
        return {executable.name: executable.paths for executable in self.executables}
