"""What has to happen before a call may run, one of three: nothing, a yes from a person, or it never may."""

import msgspec


class Skip(msgspec.Struct, frozen=True, tag="skip"):
    """No question. `bypass_sandbox`: the first attempt may run outside the sandbox."""

    bypass_sandbox: bool = False
    proposed_execpolicy_amendment: tuple[str, ...] | None = None


class NeedsApproval(msgspec.Struct, frozen=True, tag="needs_approval"):
    reason: str | None = None
    proposed_execpolicy_amendment: tuple[str, ...] | None = None


class Forbidden(msgspec.Struct, frozen=True, tag="forbidden"):
    reason: str

    @property
    def proposed_execpolicy_amendment(self) -> None:
        return None


Requirement = Skip | NeedsApproval | Forbidden
