"""What a kind of place is to a rule: something an aspect of a call touches, named by a pattern."""

from typing import Protocol

from signoff.domain.context import Context
from signoff.domain.intent import Aspect


class Kind(Protocol):
    def covers(self, pattern: str, aspect: Aspect, context: Context, *, strict: bool) -> bool:
        """Does the pattern name what this aspect touches? `strict`: the rule restricts, so a doubt counts as a yes."""

    def problem(self, pattern: str) -> str | None:
        """What is wrong with a pattern, if anything."""

    def example(self, text: str, context: Context) -> Aspect:
        """What `match` and `not_match` of a rule speak about."""
