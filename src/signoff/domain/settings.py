"""Every setting with its type, its default and, for safety settings, which way is stricter. Where values come from is
the business of `config/`."""

import enum

import msgspec


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
    DENY = "deny"
    FAIL = "fail"


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
    decision_timeout_ms: int = 300_000


class SandboxSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    mode: SandboxMode = SandboxMode.WORKSPACE_WRITE
    writable_roots: tuple[str, ...] = ()
    network: Network = Network.OFF
    reads: Reads = Reads.LIMITED
    readable_roots: tuple[str, ...] = ()
    exclude_tmpdir_env_var: bool = False
    exclude_slash_tmp: bool = False
    timeout_ms: int = 300_000
    max_output_bytes: int = 1_048_576
    max_memory_bytes: int = 2 * 1024**3
    max_processes: int = 256
    max_file_bytes: int = 512 * 1024**2
    max_open_files: int = 2_048


class LedgerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    redact: Redact = Redact.BASIC


class MemorySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    enabled: bool = True
    url: str | None = None  # None: the embedded store
    token_file: str | None = None
    timeout_ms: int = 10_000
    inject_mode: Inject = Inject.SYSTEM
    gatekeeper: GatekeeperMode = GatekeeperMode.SOFT
    limit: int = 6
    min_score: float = 0.2
    session_file: str | None = None
    query_sources: tuple[str, ...] = ("prompt", "session_file")


class ModelSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str | None = None  # provider/model
    key_file: str | None = None


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that can be configured; the keys of `config.toml` are these names, joined by dots."""

    approval: ApprovalPolicy = ApprovalPolicy.ON_REQUEST
    project_id: str | None = None
    policy: PolicySettings = PolicySettings()
    sandbox: SandboxSettings = SandboxSettings()
    ledger: LedgerSettings = LedgerSettings()
    memory: MemorySettings = MemorySettings()
    model: ModelSettings = ModelSettings()
