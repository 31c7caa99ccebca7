"""What has to be saved before a call: the files it names, or everything. Pure."""

from signoff.domain.intent import Command, FileDelete, FileWrite, Intent, Opaque
from signoff.domain.verdict import Verdict

_ONLY_READS = "builtin.command.safe"


def reach(intent: Intent, verdict: Verdict) -> tuple[str, ...] | None:
    """The paths a call may change; None: a command, which may change anything it can write."""
    changed = tuple(aspect.path for aspect in intent.aspects if isinstance(aspect, FileWrite | FileDelete))
    if intent.argv is None:
        return changed
    commands = [one for one in verdict.judgements if isinstance(one.aspect, Command)]
    known = commands and all(any(match.rule_id == _ONLY_READS for match in one.matches) for one in commands)
    opaque = any(isinstance(one.aspect, Opaque) for one in verdict.judgements)
    return () if known and not changed and not opaque else None
