"""Whose rights the commands of a sandbox have on the host, and who they seem to be inside.

An ordinary user's commands are that user, without capabilities. Root's commands are nobody known to the host: they run
under an id that owns nothing, and the workspace is shown to them as theirs, so that on disk files keep their owner.
Where the file system cannot do that they become the owner of the workspace; only where that is root again do they keep
root's id, still without capabilities, and everything in /etc that is closed to others is masked.
"""

import os

import msgspec

STRANGER = 1_999_999_999  # beyond every range that systems hand out to users and containers
INSIDE = 1_000  # never 0 inside: programs that believe they are root try to change owners, and fail
_SETGID, _SETUID, _SYS_ADMIN = 1 << 6, 1 << 7, 1 << 21


class Identity(msgspec.Struct, frozen=True):
    outer: tuple[int, int]  # user and group on the host
    inner: tuple[int, int]
    privileged: bool  # started with root's rights, so that trees can be opened before giving them up
    mapped: bool  # roots are shown under another owner

    @property
    def root(self) -> bool:
        return self.outer[0] == 0


def choose(workspace: str, *, mappable: bool = True) -> Identity:
    """`mappable`: whether the file system of the workspace can show files under another owner, as far as is known."""
    user, group = os.geteuid(), os.getegid()
    if user != 0:
        return Identity((user, group), (user, group), privileged=False, mapped=False)
    if not _has_rights_of_root():
        return Identity((0, group), (INSIDE, INSIDE), privileged=False, mapped=False)
    if mappable:
        return Identity((STRANGER, STRANGER), (INSIDE, INSIDE), privileged=True, mapped=True)
    owner = os.stat(workspace)
    if owner.st_uid != 0:
        outer = (owner.st_uid, owner.st_gid)
        return Identity(outer, outer, privileged=True, mapped=False)
    return Identity((0, 0), (INSIDE, INSIDE), privileged=True, mapped=False)


def _has_rights_of_root() -> bool:
    """In a container root may lack them."""
    with open("/proc/self/status", encoding="ascii", errors="replace") as status:
        effective = next((int(line.split()[1], 16) for line in status if line.startswith("CapEff:")), 0)
    needed = _SETGID | _SETUID | _SYS_ADMIN
    return effective & needed == needed
