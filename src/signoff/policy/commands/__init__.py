"""What is known about programs: which only read, which destroy, which options turn one into the other."""

from signoff.policy.commands.classify import Classification, Dangerous, Other, Safe, classify
from signoff.policy.commands.unusual import unusual_options

__all__ = ["Classification", "Dangerous", "Other", "Safe", "classify", "unusual_options"]
