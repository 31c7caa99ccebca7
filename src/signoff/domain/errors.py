"""Everything that can go wrong, once.

The `code` of an error is `error.code` in a tool result, `error.kind` in a span, and picks the exit code of the process.
The message is for people: what happened, then what to do.

    SignoffError                     internal                     5
    ├─ UsageError                    usage                        2
    ├─ ConfigError                   config.invalid               3
    │  ├─ ConfigUnreadable           config.unreadable            3
    │  ├─ ConfigUntrusted            config.untrusted             3
    │  ├─ NoModel                    config.no_model              3
    │  └─ RulesInvalid               rules.invalid                3
    ├─ UpstreamError                 upstream.failed              4
    │  ├─ ModelError                 model.failed                 4
    │  │  ├─ ModelTimeout            model.timeout                4
    │  │  ├─ ModelUnauthorized       model.unauthorized           4
    │  │  ├─ ModelRateLimited        model.rate_limited           4
    │  │  ├─ ModelUnreachable        model.unreachable            4
    │  │  ├─ ModelCut                model.cut                    4
    │  │  ├─ ModelRejected           model.rejected               4
    │  │  ├─ ModelBadResponse        model.bad_response           4
    │  │  └─ ContextOverflow         model.context_overflow       4
    │  ├─ MemoryFailed               memory.failed                4
    │  │  ├─ MemoryTimeout           memory.timeout               4
    │  │  ├─ MemoryUnavailable       memory.unavailable           4
    │  │  ├─ MemoryUnauthorized      memory.unauthorized          4
    │  │  ├─ MemoryRateLimited       memory.rate_limited          4
    │  │  ├─ MemoryBadRequest        memory.bad_request           4
    │  │  └─ MemoryUndecodable       memory.undecodable           4
    │  └─ PeerError                  acp.peer                     4
    ├─ ChildFailed                   runner.spawn                20
    │  ├─ ChildLost                  runner.lost                 20
    │  └─ ControlLost                control.stdin_broken        20
    ├─ Refused                       policy.denied               40
    │  ├─ RefusedByPerson            review.denied               40
    │  └─ Aborted                    review.aborted              40
    ├─ ReviewTimeout                 review.timeout              41
    ├─ BudgetReached                 agent.budget                42
    ├─ LoopDetected                  agent.loop                  43
    ├─ NotEnforceable                sandbox.unavailable         44
    ├─ Interrupted                   interrupted                130
    ├─ LedgerError                   ledger.failed                5
    │  ├─ LedgerUnwritable           ledger.unwritable            5
    │  ├─ LedgerEdited               ledger.edited               60
    │  ├─ LedgerMissing              ledger.missing              61
    │  ├─ LedgerReordered            ledger.reordered            62
    │  ├─ LedgerTorn                 ledger.torn                 63
    │  └─ LedgerUnfinished           ledger.unfinished           64
    ├─ ParseError                    parse.failed                 2
    │  ├─ InvalidJson                parse.invalid_json           2
    │  ├─ UnknownType                parse.unknown_type           2
    │  ├─ MissingField               parse.missing_field          2
    │  └─ SchemaMismatch             parse.schema_mismatch        2
    └─ ToolError                     tool.failed                  1
       ├─ ToolUnknown                tool.unknown                 2
       ├─ ToolVersion                tool.version                 2
       ├─ InvalidArguments           tool.invalid_arguments       2
       ├─ ToolTimeout                tool.timeout               124
       ├─ ToolConflict               tool.conflict                1
       ├─ FileRefused                file.refused                 1
       ├─ NotFound                   file.not_found               1
       ├─ SandboxDenied              sandbox.denied              40
       └─ ResourceExhausted          resource.exhausted           1
"""

import enum
from typing import ClassVar


class Exit(enum.IntEnum):
    """Every exit status signoff itself can give. Otherwise a child's own status passes through, 128+N for signal N."""

    OK = 0
    FOUND = 1
    USAGE = 2
    CONFIG = 3
    UPSTREAM = 4
    INTERNAL = 5
    CHILD = 20
    DENIED = 40
    REVIEW_TIMEOUT = 41
    BUDGET = 42
    LOOP = 43
    NOT_ENFORCEABLE = 44
    LEDGER_EDITED = 60
    LEDGER_MISSING = 61
    LEDGER_REORDERED = 62
    LEDGER_TORN = 63
    LEDGER_UNFINISHED = 64
    TIMEOUT = 124
    INTERRUPTED = 130
    PIPE_CLOSED = 141  # nobody reads our output any more, as if SIGPIPE had ended us


class SignoffError(Exception):
    code: ClassVar[str] = "internal"
    exit: ClassVar[Exit] = Exit.INTERNAL

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint  # what to do next, one sentence


def exit_of(code: str) -> Exit:
    """The exit status that goes with an error's code; a code nobody knows is a mistake of ours."""
    kind = kind_of(code)
    return Exit.INTERNAL if kind is None else kind.exit


def kind_of(code: str) -> "type[SignoffError] | None":
    kinds: list[type[SignoffError]] = [SignoffError]
    for kind in kinds:
        if kind.code == code:
            return kind
        kinds += kind.__subclasses__()
    return None


class UsageError(SignoffError):
    code = "usage"
    exit = Exit.USAGE


class ConfigError(SignoffError):
    code = "config.invalid"
    exit = Exit.CONFIG


class ConfigUnreadable(ConfigError):
    code = "config.unreadable"


class ConfigUntrusted(ConfigError):
    code = "config.untrusted"


class NoModel(ConfigError):
    """Nobody said which model to ask, or there is no key for it."""

    code = "config.no_model"


class RulesInvalid(ConfigError):
    code = "rules.invalid"


class UpstreamError(SignoffError):
    code = "upstream.failed"
    exit = Exit.UPSTREAM


class ModelError(UpstreamError):
    code = "model.failed"


class ModelTimeout(ModelError):
    code = "model.timeout"


class ModelUnauthorized(ModelError):
    code = "model.unauthorized"


class ModelRateLimited(ModelError):
    code = "model.rate_limited"


class ModelUnreachable(ModelError):
    code = "model.unreachable"


class ModelCut(ModelError):
    """The answer ended before it was whole."""

    code = "model.cut"


class ModelRejected(ModelError):
    """The vendor does not take the request as it is: an unknown model, a parameter it does not have."""

    code = "model.rejected"


class ModelBadResponse(ModelError):
    code = "model.bad_response"


class ContextOverflow(ModelError):
    code = "model.context_overflow"


class MemoryFailed(UpstreamError):
    code = "memory.failed"


class MemoryTimeout(MemoryFailed):
    code = "memory.timeout"


class MemoryUnavailable(MemoryFailed):
    code = "memory.unavailable"


class MemoryUnauthorized(MemoryFailed):
    code = "memory.unauthorized"


class MemoryRateLimited(MemoryFailed):
    code = "memory.rate_limited"


class MemoryBadRequest(MemoryFailed):
    code = "memory.bad_request"


class MemoryUndecodable(MemoryFailed):
    code = "memory.undecodable"


class PeerError(UpstreamError):
    code = "acp.peer"


class ChildFailed(SignoffError):
    code = "runner.spawn"
    exit = Exit.CHILD


class ChildLost(ChildFailed):
    code = "runner.lost"


class ControlLost(ChildFailed):
    code = "control.stdin_broken"


class Refused(SignoffError):
    code = "policy.denied"
    exit = Exit.DENIED


class RefusedByPerson(Refused):
    code = "review.denied"


class Aborted(Refused):
    code = "review.aborted"


class ReviewTimeout(SignoffError):
    code = "review.timeout"
    exit = Exit.REVIEW_TIMEOUT


class BudgetReached(SignoffError):
    code = "agent.budget"
    exit = Exit.BUDGET


class LoopDetected(SignoffError):
    code = "agent.loop"
    exit = Exit.LOOP


class NotEnforceable(SignoffError):
    code = "sandbox.unavailable"
    exit = Exit.NOT_ENFORCEABLE


class Interrupted(SignoffError):
    code = "interrupted"
    exit = Exit.INTERRUPTED


class LedgerError(SignoffError):
    code = "ledger.failed"


class LedgerUnwritable(LedgerError):
    code = "ledger.unwritable"


class LedgerEdited(LedgerError):
    code = "ledger.edited"
    exit = Exit.LEDGER_EDITED


class LedgerMissing(LedgerError):
    code = "ledger.missing"
    exit = Exit.LEDGER_MISSING


class LedgerReordered(LedgerError):
    code = "ledger.reordered"
    exit = Exit.LEDGER_REORDERED


class LedgerTorn(LedgerError):
    code = "ledger.torn"
    exit = Exit.LEDGER_TORN


class LedgerUnfinished(LedgerError):
    code = "ledger.unfinished"
    exit = Exit.LEDGER_UNFINISHED


class ParseError(SignoffError):
    code = "parse.failed"
    exit = Exit.USAGE


class InvalidJson(ParseError):
    code = "parse.invalid_json"


class UnknownType(ParseError):
    code = "parse.unknown_type"


class MissingField(ParseError):
    code = "parse.missing_field"


class SchemaMismatch(ParseError):
    code = "parse.schema_mismatch"


class ToolError(SignoffError):
    code = "tool.failed"
    exit = Exit.FOUND


class ToolUnknown(ToolError):
    code = "tool.unknown"
    exit = Exit.USAGE


class ToolVersion(ToolError):
    code = "tool.version"
    exit = Exit.USAGE


class InvalidArguments(ToolError):
    code = "tool.invalid_arguments"
    exit = Exit.USAGE


class ToolTimeout(ToolError):
    code = "tool.timeout"
    exit = Exit.TIMEOUT


class ToolConflict(ToolError):
    code = "tool.conflict"


class FileRefused(ToolError):
    code = "file.refused"


class NotFound(ToolError):
    code = "file.not_found"


class SandboxDenied(ToolError):
    code = "sandbox.denied"
    exit = Exit.DENIED


class ResourceExhausted(ToolError):
    code = "resource.exhausted"
