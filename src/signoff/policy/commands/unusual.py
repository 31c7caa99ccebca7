"""Options with which an ordinary program runs another one or writes a file."""


def unusual_options(words: tuple[str | None, ...]) -> tuple[str, ...]:
    """The words that do so, as written; an allow rule does not cover them unless its pattern names them."""
    return tuple(word for word in words if word in ("--output", "--exec"))
