"""What a command may touch, as data. A profile is fixed for a session: another profile means another zygote."""

import os

import msgspec

from signoff.domain.errors import UsageError
from signoff.domain.settings import Network, Reads, SandboxMode, SandboxSettings

UNCONFINED = frozenset({SandboxMode.DANGER_FULL_ACCESS, SandboxMode.EXTERNAL_SANDBOX})


class Limits(msgspec.Struct, frozen=True):
    """Time and output may be set per request; the others are hard limits of the zygote."""

    timeout_ms: int = 300_000
    grace_ms: int = 2_000  # between SIGTERM and SIGKILL
    max_output_bytes: int = 1_048_576  # per stream
    max_memory_bytes: int = 2 * 1024**3
    max_processes: int = 256
    max_file_bytes: int = 512 * 1024**2
    max_open_files: int = 2_048


class Profile(msgspec.Struct, frozen=True):
    """All paths are absolute and free of symbolic links; `resolve` makes such a profile from what a person wrote."""

    workspace: str
    mode: SandboxMode = SandboxMode.WORKSPACE_WRITE
    writable: tuple[str, ...] = ()  # beside the workspace; only in workspace-write
    readable: tuple[str, ...] = ()  # beside the workspace, the system and the toolchains
    network: Network = Network.OFF
    reads: Reads = Reads.LIMITED
    exclude_tmpdir: bool = False  # do not point TMPDIR at the private /tmp
    exclude_slash_tmp: bool = False  # no writable /tmp at all, not even a private one
    git_write: bool = False  # the gitdir is open but for hooks, config, config.worktree and info
    unmasked: tuple[str, ...] = ()  # files that would be masked (.env and the like) and that a rule opened
    limits: Limits = Limits()

    @property
    def confined(self) -> bool:
        return self.mode not in UNCONFINED

    @property
    def writable_roots(self) -> tuple[str, ...]:
        """Directories of the host that a command can change."""
        return (self.workspace, *self.writable) if self.mode is SandboxMode.WORKSPACE_WRITE else ()


def resolve(settings: SandboxSettings, workspace: str) -> Profile:
    """A profile from settings: every root must exist and is followed to where it really is."""
    root = existing_directory(workspace, "workspace")
    return Profile(
        workspace=root,
        mode=settings.mode,
        writable=tuple(
            existing_directory(os.path.join(root, path), "writable root") for path in settings.writable_roots
        ),
        readable=tuple(_existing(os.path.join(root, path), "readable root") for path in settings.readable_roots),
        network=settings.network,
        reads=settings.reads,
        exclude_tmpdir=settings.exclude_tmpdir_env_var,
        exclude_slash_tmp=settings.exclude_slash_tmp,
        limits=Limits(
            timeout_ms=settings.timeout_ms,
            max_output_bytes=settings.max_output_bytes,
            max_memory_bytes=settings.max_memory_bytes,
            max_processes=settings.max_processes,
            max_file_bytes=settings.max_file_bytes,
            max_open_files=settings.max_open_files,
        ),
    )


def existing_directory(path: str, role: str) -> str:
    found = _existing(path, role)
    if not os.path.isdir(found):
        raise UsageError(f"the {role} {path} is not a directory")
    return found


def _existing(path: str, role: str) -> str:
    try:
        return os.path.realpath(os.path.expanduser(path), strict=True)
    except OSError as error:
        raise UsageError(f"the {role} {path} cannot be used: {error.strerror}") from error
