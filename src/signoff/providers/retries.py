"""How long to wait before trying again, and when to give up. Pure."""

import msgspec

from signoff.providers.dialect import Trouble


class Retries(msgspec.Struct, frozen=True):
    attempts: int = 5  # in all
    first_s: float = 0.5
    longest_s: float = 30.0
    patience_s: float = 120.0  # a vendor that wants more is told to the person instead

    def delay(self, trouble: Trouble, attempt: int, chance: float) -> float | None:
        """Seconds until the next attempt after number `attempt`, or None: it is over. `chance` is in [0, 1)."""
        if not trouble.again or attempt >= self.attempts:
            return None
        if trouble.after_s is not None:
            return None if trouble.after_s > self.patience_s else trouble.after_s * (1 + chance / 10)
        longest: float = min(self.first_s * 2.0 ** (attempt - 1), self.longest_s)
        return longest * (0.5 + chance / 2)
