"""Where a list of commands is after each `cd`: exact for `&&` and `;`, all possibilities where it depends."""

import posixpath

from signoff.policy.shell.examine import Findings, base_name
from signoff.policy.shell.segments import Join, Segment
from signoff.policy.shell.words import seen

_MOVERS = frozenset({"cd", "pushd", "popd", "chdir"})
_MOST = 8
Set = tuple[str, ...]


class Places:
    """Directories after success and after failure of what ran so far, as `&&` and `||` need them."""

    def __init__(self, findings: Findings, segments: list[Segment]) -> None:
        self.findings = findings
        self.moves = any(base_name(segment.words[0]) in _MOVERS for segment in segments)
        self.success: Set = findings.directories
        self.failure: Set = findings.directories
        self.previous: Segment | None = None

    def enter(self, segment: Segment) -> None:
        if not self.moves:
            return
        self._after(segment.join is Join.PIPE)
        if segment.join is Join.START:
            self.success = self.failure = _union(self.success, self.failure)
        if segment.join is not Join.PIPE:
            self.findings.directories = self.failure if segment.join is Join.OR else self.success
        self.previous = segment

    def leave(self) -> None:
        if self.moves:
            self._after(piped=False)
            self.findings.directories = _union(self.success, self.failure)

    def _after(self, piped: bool) -> None:
        """The effect of the previous command; in a pipe it has none, or one that some shells give the last member."""
        previous = self.previous
        if previous is None or base_name(previous.words[0]) not in _MOVERS:
            return
        here = self.findings.directories
        target = _target(previous.words, self.findings.home)
        if target is None:
            self.findings.not_plain("a change to a directory that is not known")
            return
        there = tuple(posixpath.normpath(posixpath.join(place, target)) for place in here)[:_MOST]
        if piped or previous.join is Join.PIPE:
            self.success = self.failure = _union(self.success, there)
        elif previous.join is Join.OR:
            self.success = _union(self.success, there)
            self.failure = here
        else:
            before = self.failure if previous.join is Join.AND else ()
            self.success, self.failure = there, _union(before, here)


def _target(words: list[str], home: str) -> str | None:
    operands = [seen(word) for word in words[1:] if word not in ("-L", "-P", "-e", "--")]
    if words[0] == "popd" or len(operands) > 1:
        return None
    if not operands:
        return home if words[0] != "pushd" else None
    target = operands[0]
    return None if target is None or target[:1] in ("-", "+") else target


def _union(first: Set, second: Set) -> Set:
    return tuple(dict.fromkeys(first + second))[:_MOST]
