"""How the models that need no network cut a text up and count it."""

from signoff.domain.late import late_pattern
from signoff.providers.provider import ModelRequest

_WORD = late_pattern(r"\S+\s*|\s+")


def words(text: str) -> list[str]:
    """The pieces a streaming model would send; joined they are the text."""
    return _WORD.findall(text)


def tokens(request: ModelRequest) -> int:
    """Not a real count, but one that grows as a real one would."""
    return sum(len(message.text.split()) for message in request.messages)
