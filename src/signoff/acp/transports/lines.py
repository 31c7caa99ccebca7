"""Cut a stream of bytes into lines, each a frame, in whatever pieces it comes. Pure."""


class Lines:
    """A line longer than `limit` is dropped as it comes, never gathered; `overlong` counts those."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._length = 0
        self._dropping = False
        self.overlong = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that are complete now. Blank ones are none."""
        if not self._parts and not self._dropping and chunk.endswith(b"\n"):
            if len(chunk) <= self._limit and chunk.find(b"\n") == len(chunk) - 1 and not chunk.isspace():
                return [chunk[:-1]]  # nearly always
            lines = chunk[:-1].split(b"\n")
        else:
            lines = self._joined(chunk)
        whole = [line for line in lines if line and len(line) <= self._limit and not line.isspace()]
        if len(whole) < len(lines):
            self.overlong += sum(len(line) > self._limit for line in lines)
        return whole

    def _joined(self, chunk: bytes) -> list[bytes]:
        first, newline, rest = chunk.partition(b"\n")
        if not newline:
            self._keep(chunk)
            return []
        lines = [] if self._dropping else [b"".join((*self._parts, first))]
        self._parts, self._length, self._dropping = [], 0, False
        *complete, tail = rest.split(b"\n")
        self._keep(tail)
        return lines + complete

    def _keep(self, tail: bytes) -> None:
        self._length += len(tail)
        if self._length > self._limit and not self._dropping:
            self._dropping = True
            self.overlong += 1
            self._parts = []
        if tail and not self._dropping:
            self._parts.append(tail)

    def finish(self) -> bytes:
        """What came after the last newline."""
        rest = b"".join(self._parts)
        self._parts = []
        return rest
