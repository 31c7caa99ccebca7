"""Every setting with its type, its bounds and its default, which of them are secret, and what a project may change.

Where values come from is the business of `config/`.
"""

import enum
from collections.abc import Mapping
from typing import Annotated

import msgspec

Milliseconds = Annotated[int, msgspec.Meta(ge=1, le=7 * 24 * 3_600_000)]
Bytes = Annotated[int, msgspec.Meta(ge=1)]
Count = Annotated[int, msgspec.Meta(ge=1)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Price = Annotated[float, msgspec.Meta(ge=0)]


class ApprovalPolicy(enum.StrEnum):
    """When a person is asked."""

    UNTRUSTED = "untrusted"
    ON_FAILURE = "on-failure"
    ON_REQUEST = "on-request"
    NEVER = "never"


class SandboxMode(enum.StrEnum):
    READ_ONLY = "read-only"
    WORKSPACE_WRITE = "workspace-write"
    EXTERNAL_SANDBOX = "external-sandbox"
    DANGER_FULL_ACCESS = "danger-full-access"


class Network(enum.StrEnum):
    OFF = "off"
    LIMITED = "limited"
    ON = "on"


class Reads(enum.StrEnum):
    LIMITED = "limited"
    ALL = "all"


class DefaultAction(enum.StrEnum):
    DENY = "deny"
    ASK = "ask"
    ALLOW = "allow"


class Audit(enum.StrEnum):
    """`off` judges nothing, `prompt` asks a person, `auto` never asks."""

    PROMPT = "prompt"
    AUTO = "auto"
    OFF = "off"


class OnAsk(enum.StrEnum):
    """What happens to a run in which something had to be asked and nobody was there."""

    FAIL = "fail"
    DENY = "deny"


class DenyExit(enum.StrEnum):
    """Whether a denied request shows in the exit status of a run that ended well."""

    DENIED = "denied"
    CHILD = "child"


class Redact(enum.StrEnum):
    STRICT = "strict"
    BASIC = "basic"
    OFF = "off"


class Inject(enum.StrEnum):
    SYSTEM = "system"
    USER = "user"
    BOTH = "both"
    NONE = "none"


class GatekeeperMode(enum.StrEnum):
    OFF = "off"
    SOFT = "soft"
    HARD = "hard"


class PolicySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    default_action: DefaultAction = DefaultAction.ASK
    audit: Audit = Audit.PROMPT
    on_ask: OnAsk = OnAsk.DENY
    decision_timeout_ms: Milliseconds = 300_000
    tools: tuple[str, ...] = ()  # what another agent's tools do: NAME=command, read, write, delete, host or harmless


class SandboxSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    mode: SandboxMode = SandboxMode.WORKSPACE_WRITE
    writable_roots: tuple[str, ...] = ()
    network: Network = Network.OFF
    reads: Reads = Reads.LIMITED
    readable_roots: tuple[str, ...] = ()
    exclude_tmpdir_env_var: bool = False
    exclude_slash_tmp: bool = False
    timeout_ms: Milliseconds = 300_000
    max_output_bytes: Bytes = 1_048_576
    max_memory_bytes: Bytes = 2 * 1024**3
    max_processes: Count = 256
    max_file_bytes: Bytes = 512 * 1024**2
    max_open_files: Count = 2_048


class UndoSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    max_bytes: Bytes = 2 * 1024**3  # of saved copies; beyond it the oldest calls can no longer be undone
    keep_days: Count = 30


class LedgerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    redact: Redact = Redact.BASIC


class Source(enum.StrEnum):
    """Where the words of a question to the memory come from."""

    PROMPT = "prompt"
    SESSION_FILE = "session_file"
    RECENT_OUTPUT = "recent_output"
    REPOSITORY = "repository"


class MemorySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    enabled: bool = True
    url: str | None = None  # None: the embedded store
    token: str | None = None
    token_file: str | None = None
    timeout_ms: Milliseconds = 10_000
    inject_mode: Inject = Inject.SYSTEM
    gatekeeper: GatekeeperMode = GatekeeperMode.SOFT
    limit: Annotated[int, msgspec.Meta(ge=1, le=20)] = 6
    min_score: Share = 0.2
    session_file: str | None = None
    query_sources: tuple[Source, ...] = (Source.PROMPT, Source.SESSION_FILE)


class ModelSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str | None = None  # provider/model
    provider: str | None = None  # whose key and base_url these are
    key: str | None = None
    key_file: str | None = None
    base_url: str | None = None
    timeout_ms: Milliseconds = 300_000  # the longest silence
    attempts: Annotated[int, msgspec.Meta(ge=1, le=20)] = 5
    input_price: Price | None = None  # USD for a million tokens, where the vendor does not report the cost
    output_price: Price | None = None
    cached_price: Price | None = None
    record: str | None = None  # a file that exchanges are written to


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that can be configured; the keys of `config.toml` are these names, joined by dots."""

    approval: ApprovalPolicy = ApprovalPolicy.ON_REQUEST
    project_id: str | None = None
    policy: PolicySettings = PolicySettings()
    sandbox: SandboxSettings = SandboxSettings()
    ledger: LedgerSettings = LedgerSettings()
    undo: UndoSettings = UndoSettings()
    memory: MemorySettings = MemorySettings()
    model: ModelSettings = ModelSettings()


SECRETS = frozenset({"memory.token", "model.key"})
"""Settings whose value is never shown."""


class Change(enum.Enum):
    """What a project's own file may do to a setting."""

    FREELY = "to anything"
    STRICTER = "to a stricter one"
    LOWER = "to a lower one"
    FEWER = "to fewer of them"
    TURN_ON = "to true"
    TURN_OFF = "to false"


PROJECT_MAY: Mapping[str, Change] = {
    "approval": Change.STRICTER,
    "policy.default_action": Change.STRICTER,
    "policy.audit": Change.STRICTER,
    "policy.on_ask": Change.STRICTER,
    "policy.decision_timeout_ms": Change.LOWER,
    "sandbox.mode": Change.STRICTER,
    "sandbox.writable_roots": Change.FEWER,
    "sandbox.network": Change.STRICTER,
    "sandbox.reads": Change.STRICTER,
    "sandbox.readable_roots": Change.FEWER,
    "sandbox.exclude_tmpdir_env_var": Change.TURN_ON,
    "sandbox.exclude_slash_tmp": Change.TURN_ON,
    "sandbox.timeout_ms": Change.LOWER,
    "sandbox.max_output_bytes": Change.LOWER,
    "sandbox.max_memory_bytes": Change.LOWER,
    "sandbox.max_processes": Change.LOWER,
    "sandbox.max_file_bytes": Change.LOWER,
    "sandbox.max_open_files": Change.LOWER,
    "ledger.redact": Change.STRICTER,
    "memory.enabled": Change.TURN_OFF,
    "memory.timeout_ms": Change.FREELY,
    "memory.inject_mode": Change.FREELY,
    "memory.gatekeeper": Change.STRICTER,
    "memory.limit": Change.FREELY,
    "memory.min_score": Change.FREELY,
    "memory.query_sources": Change.FEWER,
    "model.timeout_ms": Change.FREELY,
    "model.attempts": Change.LOWER,
}
"""A setting that is not listed is the user's alone: it names a person's file, key, account, where data is sent, what a
foreign tool is taken for, or how long there is a way back."""

# Under `never` what would be asked is forbidden; under `untrusted` more is asked. Neither contains the other.
_STRICTER_APPROVAL: Mapping[ApprovalPolicy, frozenset[ApprovalPolicy]] = {
    ApprovalPolicy.ON_FAILURE: frozenset({ApprovalPolicy.UNTRUSTED, ApprovalPolicy.NEVER}),
    ApprovalPolicy.ON_REQUEST: frozenset({ApprovalPolicy.UNTRUSTED, ApprovalPolicy.NEVER}),
}


def project_may_change(key: str, before: object, after: object) -> bool:
    """May a project's file turn `before` into `after`? Saying again what already holds is always allowed."""
    if before == after:
        return True
    match PROJECT_MAY.get(key), before, after:
        case Change.FREELY, _, _:
            return True
        case Change.STRICTER, ApprovalPolicy(), ApprovalPolicy():
            return after in _STRICTER_APPROVAL.get(before, frozenset())
        case Change.STRICTER, enum.Enum(), enum.Enum():
            order = list(type(before))  # the members of these enums are written strictest first
            return order.index(after) < order.index(before)
        case Change.LOWER, int(), int():
            return after < before
        case Change.FEWER, tuple(), tuple():
            return set(after) <= set(before)
        case (Change.TURN_ON, _, True) | (Change.TURN_OFF, _, False):
            return True
        case _:
            return False
