"""httpx without its command line program, which nobody here uses and which is two fifths of its import."""

import sys

_PROGRAM = "httpx._main"

_unknown = _PROGRAM not in sys.modules
if _unknown:
    sys.modules[_PROGRAM] = None  # type: ignore[assignment]  # makes the import fail, which httpx foresees
try:
    import httpx
finally:
    if _unknown:
        del sys.modules[_PROGRAM]

__all__ = ["httpx"]
