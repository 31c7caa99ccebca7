"""Put what the words found into the order of what was meant, where the extra `embedding` is installed.

Words decide what is found, meaning decides what comes first among it: the two are added after each is brought to the same
measure. Only the few best pieces are looked at, so nothing has to be kept beside the index.
"""

from signoff.memory.embedding import load
from signoff.tools.search_index import Found, words

_SHARE = 0.5  # of the meaning in the whole


def available() -> bool:
    return load() is not None


def by_meaning(question: str, found: list[Found]) -> list[Found]:
    """The same pieces, the best first; unchanged where there is no model."""
    model = load()
    if model is None or len(found) < 2:
        return found
    means = model.words([words(question), *(words(f"{one.path} {one.text}"[:1_000]) for one in found)])
    near = (means[1:] @ means[0]).tolist()
    by_words = _measured([one.score for one in found])
    by_sense = _measured(near)
    scores = [(1 - _SHARE) * one + _SHARE * other for one, other in zip(by_words, by_sense, strict=True)]
    order = sorted(range(len(found)), key=lambda place: -scores[place])
    return [found[place]._replace(score=round(scores[place], 4)) for place in order]


def _measured(values: list[float]) -> list[float]:
    """From 0 for the least to 1 for the best."""
    least, best = min(values), max(values)
    return [(value - least) / (best - least) if best > least else 1.0 for value in values]
