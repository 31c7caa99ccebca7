"""The circumstances of a call: everything but the call itself and the rules that a judgement may depend on.

Nothing is looked up while judging. Whoever asks has normalised the paths, resolved the links and read the clock.
"""

import msgspec

from signoff.domain.settings import ApprovalPolicy, DefaultAction, Network, SandboxMode


class Context(msgspec.Struct, frozen=True):
    workspace: str
    home: str | None = None
    approval: ApprovalPolicy = ApprovalPolicy.ON_REQUEST
    sandbox: SandboxMode = SandboxMode.WORKSPACE_WRITE
    network: Network = Network.OFF
    writable_roots: tuple[str, ...] = ()  # besides the workspace; they count in workspace-write only
    readable_roots: tuple[str, ...] = ()  # besides the workspace, for tools that read files themselves
    protected_paths: tuple[str, ...] = ()  # besides those known by name: the directory a `.git` file points to
    default_action: DefaultAction = DefaultAction.ASK
    sandbox_available: bool = True  # is there a sandbox that keeps the process inside these bounds at all?
    now_ms: int = 0  # milliseconds since the epoch, for rules that expire

    @property
    def restricted(self) -> bool:
        """Is there something for the sandbox to hold back?"""
        return self.sandbox in (SandboxMode.READ_ONLY, SandboxMode.WORKSPACE_WRITE)

    @property
    def unguarded(self) -> bool:
        """There are bounds, and nothing but the policy to keep them."""
        return not self.sandbox_available and self.restricted

    @property
    def roots(self) -> tuple[str, ...]:
        """Where files may be written, when the sandbox is restricted."""
        return (self.workspace, *self.writable_roots) if self.sandbox == SandboxMode.WORKSPACE_WRITE else ()
