"""Follow links before judging: what counts is the file that would be touched, not the name it is called by."""

import operator
import os
import sys

import msgspec

from signoff.domain.intent import Aspect, FileDelete, FileRead, FileWrite, Intent


def followed(intent: Intent) -> Intent:
    """The intent with every path as it was written and, where links lead elsewhere, as it really is: both are judged."""
    led = [_led(aspect) for aspect in intent.aspects]
    if all(map(operator.is_, led, intent.aspects)):
        return intent
    aspects = dict.fromkeys(each for both in zip(intent.aspects, led, strict=True) for each in both)
    return intent if len(aspects) == len(intent.aspects) else msgspec.structs.replace(intent, aspects=tuple(aspects))


def _led(aspect: Aspect) -> Aspect:
    match aspect:
        case FileRead(path=path) | FileWrite(path=path):
            target = real(path)
        case FileDelete(path=path):  # a delete takes the link away, not what it points to
            target = os.path.join(real(os.path.dirname(path)), os.path.basename(path))
        case _:
            return aspect
    return aspect if target == path else msgspec.structs.replace(aspect, path=target)


def real(path: str) -> str:
    """As os.path.realpath, by asking the kernel once instead of once for every directory on the way."""
    missing: list[str] = []  # the part that is there still counts
    while True:
        try:
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC) if sys.platform == "linux" else -1
        except FileNotFoundError:
            parent, name = os.path.split(path)
            if not os.path.islink(path) and name not in ("", ".", "..") and parent != path:
                missing.append(name)
                path = parent or "."
                continue
            descriptor = -1
        except OSError:
            descriptor = -1
        break
    place = _place(descriptor, path)
    return os.path.join(place, *reversed(missing)) if missing else place


def _place(descriptor: int, path: str) -> str:
    """Where an open file lies; without one, where the path leads as far as can be told."""
    if descriptor < 0:
        return os.path.realpath(path)
    try:
        found = os.readlink(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)
    return found if found.startswith("/") and not found.endswith(" (deleted)") else os.path.realpath(path)
