"""What the system call filter refused, told by the kernel itself: the call waits until we have said no.

The answer is always the same error, whatever was asked: nothing that comes from inside is acted upon, only remembered.
"""

import errno
import fcntl
import struct

import msgspec

from signoff.sandbox.inside.architecture import numbers

_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_NOTICE = struct.Struct("<QIIiIQ6Q")  # id, process, flags; then the call: number, machine, address, arguments
_ANSWER = struct.Struct("<QqiI")  # id, value, error, flags
_REMEMBERED = 64


class Refusal(msgspec.Struct, frozen=True):
    """A call that was not made, and the low half of its first argument: of a socket, the family."""

    call: str
    first: int


class Notices:
    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._seen: list[Refusal] = []
        self._names = {number: name for name, number in numbers().items()}

    def answer(self) -> None:
        """Refuse the call that waits; one whose process has died meanwhile is gone."""
        notice = bytearray(_NOTICE.size)
        try:
            fcntl.ioctl(self.descriptor, _RECEIVE, notice)
            which, _, _, number, _, _, first, *_ = _NOTICE.unpack(notice)
            fcntl.ioctl(self.descriptor, _SEND, bytearray(_ANSWER.pack(which, 0, -errno.EPERM, 0)))
        except OSError:
            return
        if len(self._seen) < _REMEMBERED:
            self._seen.append(Refusal(self._names.get(number, str(number)), first & 0xFFFFFFFF))

    def take(self) -> tuple[Refusal, ...]:
        """What the command that ended was refused; the next starts with nothing."""
        seen, self._seen = tuple(self._seen), []
        return seen
