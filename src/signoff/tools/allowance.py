"""What a cleared call may touch beyond the profile of the run. Pure."""

from signoff.domain.intent import FileRead, GitWrite, Intent
from signoff.domain.verdict import Decision, Verdict
from signoff.sandbox.outcome import Allowance


def allowance(intent: Intent, verdict: Verdict, outside: bool, granted: tuple[str, ...]) -> Allowance:
    """What was cleared by name is open to the command: the repository it may write, a file that a written rule opens."""
    opened = tuple(
        judgement.aspect.path
        for judgement in verdict.judgements
        if isinstance(judgement.aspect, FileRead)
        and any(match.decision is Decision.ALLOW and not match.heuristic for match in judgement.matches)
    )
    writes_git = any(isinstance(aspect, GitWrite) for aspect in intent.aspects)
    return Allowance(outside=outside, git_write=writes_git, writable=granted, unmasked=opened)
