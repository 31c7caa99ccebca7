"""The circumstances under which calls are judged, from the settings and the place."""

import os
from pathlib import Path

from signoff.config.document import read_bytes
from signoff.config.locations import Environment
from signoff.domain.context import Context
from signoff.domain.settings import Settings


def judging_context(settings: Settings, environ: Environment, workspace: Path, *, now_ms: int) -> Context:
    """Roots are resolved, and a `.git` that is only a pointer protects what it points to."""
    sandbox = settings.sandbox
    temporary = [] if sandbox.exclude_slash_tmp else ["/tmp"]  # noqa: S108  # the directory itself, as a root
    if not sandbox.exclude_tmpdir_env_var and environ.get("TMPDIR", "").startswith("/"):
        temporary.append(environ["TMPDIR"])
    return Context(
        workspace=str(workspace.resolve()),
        home=environ.get("HOME"),
        approval=settings.approval,
        sandbox=sandbox.mode,
        network=sandbox.network,
        writable_roots=tuple(dict.fromkeys(os.path.realpath(root) for root in [*sandbox.writable_roots, *temporary])),
        readable_roots=tuple(os.path.realpath(root) for root in sandbox.readable_roots),
        protected_paths=_git_directory(workspace),
        default_action=settings.policy.default_action,
        now_ms=now_ms,
    )


def _git_directory(workspace: Path) -> tuple[str, ...]:
    pointer = workspace / ".git"
    if not pointer.is_file():
        return ()
    text = (read_bytes(pointer) or b"").decode("utf-8", "surrogateescape")
    target = text.removeprefix("gitdir:").strip()
    return (os.path.realpath(workspace / target),) if text.startswith("gitdir:") and target else ()
