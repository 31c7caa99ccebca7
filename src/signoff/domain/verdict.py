"""The answer of the policy, with every rule that spoke. Pure data; ordered, so that the strictest is `max`."""

import enum
import functools

import msgspec

from signoff.domain.intent import Aspect


class Decision(enum.IntEnum):
    """May it happen? Compare with < and max: deny is the strictest."""

    ALLOW = 0
    ASK = 1
    DENY = 2

    @property
    def word(self) -> str:
        return _WORDS[self]


_WORDS = {decision: decision.name.lower() for decision in Decision}  # looking a name up takes longer than judging


class Layer(enum.StrEnum):
    """Where a rule comes from, weakest authority last."""

    BUILTIN = "builtin"
    SYSTEM = "system"
    USER = "user"
    PROJECT = "project"
    GRANT = "grant"
    SESSION = "session"
    FLAG = "flag"


class Source(msgspec.Struct, frozen=True):
    layer: Layer
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        if self.file is None:
            return str(self.layer)
        return self.file if self.line is None else f"{self.file}:{self.line}"


class Match(msgspec.Struct, frozen=True):
    """One rule that spoke about one aspect."""

    rule_id: str
    decision: Decision
    source: Source
    reason: str | None = None
    prefix: tuple[str, ...] = ()  # the words of the command that the rule matched
    resolved_program: str | None = None
    heuristic: bool = False  # from the built-in tables, not from a rule somebody wrote
    constraints: dict[str, object] | None = None
    expires_in_ms: int | None = None

    def cited(self) -> dict[str, str]:
        said = {"rule_id": self.rule_id, "decision": self.decision.word, "source": str(self.source)}
        return {**said, "reason": self.reason} if self.reason else said


class Judgement(msgspec.Struct, frozen=True):
    """One aspect with its own verdict: a line of the explanation. No aspect: the call as a whole."""

    aspect: Aspect | None
    decision: Decision
    matches: tuple[Match, ...]


class Verdict(msgspec.Struct, frozen=True, dict=True):  # with a place to keep what follows from it
    decision: Decision
    judgements: tuple[Judgement, ...]

    @functools.cached_property
    def matches(self) -> tuple[Match, ...]:
        return tuple([match for judgement in self.judgements for match in judgement.matches])

    @functools.cached_property
    def cited(self) -> tuple[dict[str, str], ...]:
        """Every rule that spoke, as a record has it."""
        return tuple([match.cited() for match in self.matches])

    @functools.cached_property
    def winner(self) -> Match | None:
        """The rule to cite: of those with the final decision, a written one before a built-in one, the longest first."""
        candidates = [match for match in self.matches if match.decision == self.decision]
        if len(candidates) == 1:
            return candidates[0]
        return max(candidates, key=lambda match: (not match.heuristic, len(match.prefix)), default=None)
