"""Start a command with everything prepared that is the same for all of them.

A command inherits our own descriptors 0, 1 and 2, which are set up for it beforehand: the kernel is asked for nothing
between the copy of the process and the new program but a session and default signals.
"""

import ctypes
import os

_SET_DEFAULT_SIGNALS, _SET_SESSION = 0x04, 0x80
_ATTRIBUTES_SIZE, _SIGNALS_SIZE = 1_024, 128  # room for the C library's own structures, never smaller than they are

_libc = ctypes.CDLL(None)
_libc.posix_spawn.argtypes = [ctypes.c_void_p, ctypes.c_char_p, *[ctypes.c_void_p] * 4]


class Spawner:
    """The environment and the search path, prepared once for the session."""

    def __init__(self, environment: dict[bytes, bytes]) -> None:
        self.path = [part or b"." for part in environment.get(b"PATH", b"/usr/bin:/bin").split(b":")]
        self.found: dict[bytes, bytes] = {}
        words = [name + b"=" + value for name, value in environment.items()]
        self._environment = (ctypes.c_char_p * (len(words) + 1))(*words, None)
        self._process = ctypes.c_int()
        self._attributes = ctypes.create_string_buffer(_ATTRIBUTES_SIZE)
        every_signal = ctypes.create_string_buffer(b"\xff" * _SIGNALS_SIZE, _SIGNALS_SIZE)
        _libc.posix_spawnattr_init(self._attributes)
        _libc.posix_spawnattr_setflags(self._attributes, ctypes.c_short(_SET_DEFAULT_SIGNALS | _SET_SESSION))
        _libc.posix_spawnattr_setsigdefault(self._attributes, every_signal)
        self._places = (ctypes.addressof(self._process), ctypes.addressof(self._attributes),
                        ctypes.addressof(self._environment))  # fmt: skip

    def spawn(self, words: list[bytes]) -> int:
        """The new process; raises OSError."""
        known = self.found.get(words[0])
        if known is not None:
            try:
                return self._start(known, words)
            except FileNotFoundError:
                del self.found[words[0]]
        return self._start(self._find(words[0]), words)

    def _start(self, program: bytes, words: list[bytes]) -> int:
        process, attributes, environment = self._places
        arguments = (ctypes.c_char_p * (len(words) + 1))(*words, None)
        error = _libc.posix_spawn(process, program, None, attributes, arguments, environment)
        if error:
            raise OSError(error, os.strerror(error))
        return self._process.value

    def _find(self, name: bytes) -> bytes:
        """As a shell does, and like a shell remembering it, but only what no command can replace."""
        if b"/" in name:
            return name
        for directory in self.path:
            candidate = directory + b"/" + name
            if os.access(candidate, os.X_OK) and not os.path.isdir(candidate):
                if not any(os.access(place, os.W_OK) for place in self.path):
                    self.found[name] = candidate
                return candidate
        raise FileNotFoundError(2, "not found on PATH")
