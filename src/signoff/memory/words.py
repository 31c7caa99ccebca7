"""Words worth looking for. Identifiers are split, words that stand in every sentence are dropped; SQLite stems the rest."""

import datetime
import re

STOP = frozenset(
    "a about above after again against all also am an and any are as at be because been before being below between both but by "
    "can cannot could d did do does doing don down during each else ever few for from further get gets got had has have having he "
    "her here hers herself him himself his how i if in into is it its itself just let ll m may me might more most must my myself "
    "no nor not now of off on once only or other our ours ourselves out over own please re s same shall she should so some such t "
    "than that the their theirs them themselves then there these they this those through to too under until up upon us ve very "
    "was we were what when where which while who whom whose why will with within would you your yours yourself yourselves".split()
)
MOST_WORDS = 32
_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def wanted(text: str, most: int = MOST_WORDS) -> tuple[str, ...]:
    """The words to search for, lower case, each once, in their order; all of them if nothing else is left."""
    found = list(dict.fromkeys(part.lower() for word in _WORD.findall(text) for part in parts(word)))
    return tuple([word for word in found if word not in STOP][:most] or found[:most])


def parts(word: str) -> list[str]:
    """`getUserName` is three words and a name."""
    split = _HUMP.split(word)
    return [word, *split] if len(split) > 1 else [word]


def indexed(text: str) -> str:
    """What the index gets: the text itself, and after it the parts of every identifier in it that has humps."""
    if not _HUMP.search(text):
        return text
    humps = [part for word in _WORD.findall(text) if len(split := _HUMP.split(word)) > 1 for part in split]
    return f"{text}\n{' '.join(humps)}"


def dated(moment: str | None) -> str:
    """A date in the words a question would use."""
    if moment is None:
        return ""
    try:
        when = datetime.datetime.fromisoformat(moment)
    except ValueError:
        return ""
    return f"{when.day} {when:%B} {when.year} {when:%A}"


def signature(text: str) -> frozenset[str]:
    """The words of a text as a set, to compare two texts by."""
    return frozenset(_WORD.findall(text.lower()))


def alike(one: frozenset[str], other: frozenset[str]) -> float:
    """How much two sets of words have in common, from 0 to 1."""
    if not one and not other:
        return 1.0
    common = len(one & other)
    return common / (len(one) + len(other) - common)
