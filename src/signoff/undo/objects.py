"""Content, kept once under the hash of itself. What does not hash to its name any more is not given back."""

import contextlib
import fcntl
import hashlib
import os
from typing import TYPE_CHECKING

from signoff.domain.errors import FileRefused, NotFound
from signoff.domain.late import late

if TYPE_CHECKING:
    import tempfile
else:
    tempfile = late("tempfile")

_CLONE = 0x40049409  # FICLONE: share the blocks where the file system can
_PIECE = 1 << 20


class Objects:
    def __init__(self, directory: str) -> None:
        self._directory = directory

    def keep(self, descriptor: int) -> str:
        """Keep what an open file contains, and give its name."""
        os.makedirs(self._directory, mode=0o700, exist_ok=True)
        copy, temporary = tempfile.mkstemp(dir=self._directory)
        try:
            try:
                name = _copied(descriptor, copy)
            finally:
                os.close(copy)
            place = self._place(name)
            os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
            os.replace(temporary, place)
        except BaseException as error:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            if isinstance(error, OSError):
                raise FileRefused(f"cannot save a copy to undo with: {error.strerror}") from error
            raise
        return name

    def has(self, name: str) -> bool:
        return os.path.exists(self._place(name))

    def content(self, name: str) -> bytes:
        try:
            with open(self._place(name), "rb") as file:
                data = file.read()
        except FileNotFoundError as error:
            raise NotFound(f"the saved copy {name[:12]} is gone") from error
        if hashlib.sha256(data).hexdigest() != name:
            raise FileRefused(f"the saved copy {name[:12]} was damaged, so it is not put back")
        return data

    def _place(self, name: str) -> str:
        return os.path.join(self._directory, name[:2], name[2:])


def _copied(source: int, target: int) -> str:
    """Copy and hash. A clone costs no space and is hashed afterwards, so that nobody changes it in between."""
    digest = hashlib.sha256()
    try:
        fcntl.ioctl(target, _CLONE, source)
        reading, copying = target, False
    except OSError:
        reading, copying = source, True
    offset = 0
    while piece := os.pread(reading, _PIECE, offset):
        digest.update(piece)
        offset += len(piece)
        while copying and piece:
            piece = piece[os.write(target, piece) :]
    return digest.hexdigest()
