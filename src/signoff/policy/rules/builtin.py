"""The rules nobody had to write. Each has an id that a verdict cites and `signoff policy list` explains.

A rule somebody wrote overrides a built-in one only by allowing; where `opened_by` says so, only by naming the place.
"""

import enum

import msgspec

from signoff.domain.verdict import Decision, Layer, Match, Source


class OpenedBy(enum.StrEnum):
    ANY_RULE = "any allow rule for the call"
    NAMED_PLACE = "an allow rule that names the path or host"
    NOTHING = "nothing"


class Builtin(msgspec.Struct, frozen=True):
    id: str
    decision: Decision
    says: str
    opened_by: OpenedBy = OpenedBy.ANY_RULE

    @property
    def match(self) -> Match:
        return Match(self.id, self.decision, Source(Layer.BUILTIN), reason=self.says, heuristic=True)


def _all(*rules: Builtin) -> dict[str, Builtin]:
    return {rule.id: rule for rule in rules}


_ALLOW, _ASK, _DENY = Decision.ALLOW, Decision.ASK, Decision.DENY
_NAMED, _NOTHING = OpenedBy.NAMED_PLACE, OpenedBy.NOTHING

BUILTINS = _all(
    Builtin("builtin.command.safe", _ALLOW, "only reads"),
    Builtin("builtin.command.sandboxed", _ALLOW, "runs under the sandbox in force"),
    Builtin("builtin.command.unguarded", _ALLOW, "nothing speaks against it; no sandbox holds it"),
    Builtin("builtin.command.wrapper", _ALLOW, "as good as the command it starts"),
    Builtin("builtin.command.untrusted", _ASK, "not known to be harmless, and the approval policy is untrusted"),
    Builtin("builtin.command.escalated", _ASK, "asks to run outside the sandbox"),
    Builtin("builtin.command.dangerous", _ASK, "destroys or takes over something"),
    Builtin("builtin.command.dangerous-unattended", _DENY, "destroys or takes over something, and nobody may be asked"),
    Builtin("builtin.command.option", _ASK, "an option runs another program or writes a file", _NOTHING),
    Builtin("builtin.command.may-match", _ASK, "a word only the shell knows may complete a restrictive rule", _NOTHING),
    Builtin("builtin.opaque", _ASK, "cannot be read", _NOTHING),
    Builtin("builtin.path.invalid", _DENY, "is not an absolute, normal path", _NOTHING),
    Builtin("builtin.path.credentials", _DENY, "holds credentials", _NAMED),
    Builtin("builtin.path.credentials-touched", _ASK, "holds credentials", _NAMED),
    Builtin("builtin.path.protected", _ASK, "changes what programs run or trust", _NAMED),
    Builtin("builtin.path.root", _DENY, "is the workspace itself", _NAMED),
    Builtin("builtin.path.outside", _DENY, "lies outside of the workspace", _NAMED),
    Builtin("builtin.path.outside-asked", _ASK, "lies outside of the workspace", _NAMED),
    Builtin("builtin.path.read", _ALLOW, "reads where reading is free"),
    Builtin("builtin.path.write", _ALLOW, "writes inside a writable root; the change can be undone"),
    Builtin("builtin.path.write-untrusted", _ASK, "changes a file, and the approval policy is untrusted"),
    Builtin("builtin.path.delete", _ASK, "deletes a file"),
    Builtin("builtin.path.sandboxed", _ALLOW, "left to the sandbox, where the command runs in it"),
    Builtin(
        "builtin.path.unguarded", _ASK, "changes something outside of the workspace, and no sandbox holds it", _NAMED
    ),
    Builtin("builtin.path.unguarded-read", _ALLOW, "only reads; no sandbox holds it"),
    Builtin("builtin.bulk", _ASK, "changes more than 20 files in one call"),
    Builtin("builtin.git.write", _ALLOW, "changes the repository, less its hooks and configuration"),
    Builtin("builtin.git.write-untrusted", _ASK, "changes the repository, and the approval policy is untrusted"),
    Builtin("builtin.network.on", _ALLOW, "the network is on"),
    Builtin("builtin.network.off", _DENY, "is out of reach: the network is off unless a rule names the host", _NAMED),
    Builtin("builtin.network.unlisted", _ASK, "is not in the allowed_domains", _NAMED),
    Builtin("builtin.network.sandboxed", _ALLOW, "left to the sandbox, where the command runs in it"),
    Builtin("builtin.tool.harmless", _ALLOW, "touches nothing"),
    Builtin("default.allow", _ALLOW, "no rule speaks about this tool; the default is allow"),
    Builtin("default.ask", _ASK, "no rule speaks about this tool; the default is ask"),
    Builtin("default.deny", _DENY, "no rule speaks about this tool; the default is deny"),
)
MATCHES = {name: rule.match for name, rule in BUILTINS.items()}
HARMLESS_TOOLS = frozenset({"ask_user", "display", "list_jobs", "read_job_output", "stop_job", "update_plan"})
BULK = 20
