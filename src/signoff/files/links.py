"""Follow links before judging: what counts is the file that would be touched, not the name it is called by."""

import os

import msgspec

from signoff.domain.intent import Aspect, FileDelete, FileRead, FileWrite, Intent


def followed(intent: Intent) -> Intent:
    """The intent with every path as it was written and, where links lead elsewhere, as it really is: both are judged."""
    aspects: dict[Aspect, None] = {}
    for aspect in intent.aspects:
        aspects[aspect] = None
        match aspect:
            case FileRead(path=path) | FileWrite(path=path):
                real = os.path.realpath(path)
            case FileDelete(path=path):  # a delete takes the link away, not what it points to
                real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
            case _:
                continue
        aspects[msgspec.structs.replace(aspect, path=real)] = None
    return intent if len(aspects) == len(intent.aspects) else msgspec.structs.replace(intent, aspects=tuple(aspects))
