"""Programs for which a file name that begins with a dash, or one operand more, makes a difference."""

from signoff.policy.commands.dangerous import DANGEROUS_PROGRAMS
from signoff.policy.commands.safe import CHECKED_PROGRAMS
from signoff.policy.commands.unusual import UNUSUAL

CAUTIOUS = frozenset(UNUSUAL) | CHECKED_PROGRAMS | DANGEROUS_PROGRAMS
OPERANDS_COUNT = frozenset({"test", "[", "[[", "cd", "uniq", "xxd", "printf", "hostname", "date", "eval", "trap"})
"""Programs that give a meaning to how many operands there are."""
