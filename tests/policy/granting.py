"""What a reading would be granted without asking: the rule of the house in its smallest form, to test readings with."""

from collections.abc import Sequence

from signoff.domain.intent import Command, FileDelete, FileRead, FileWrite, Opaque
from signoff.policy.commands import Dangerous, Safe, classify, unusual_options
from signoff.policy.commands.credentials import is_credential
from signoff.policy.shell import Reading, read_script

CWD, HOME = "/ws", "/home/u"


def read(script: str) -> Reading:
    return read_script(script, cwd=CWD, home=HOME)


def commands(script: str) -> list[tuple[str | None, ...]]:
    return [aspect.words for aspect in read(script).aspects if isinstance(aspect, Command)]


def is_dangerous(reading: Reading) -> bool:
    return any(
        (isinstance(aspect, Command) and isinstance(classify(aspect.words), Dangerous))
        or (isinstance(aspect, Opaque) and aspect.asks)
        for aspect in reading.aspects
    )


def granted(reading: Reading, allowed: Sequence[Sequence[str]] = ()) -> bool:
    """Plain, nothing opaque, and every command known-safe or covered by one of the allowed prefixes."""
    aspects = reading.aspects
    if not reading.plain or not aspects or any(isinstance(aspect, Opaque) for aspect in aspects):
        return False
    if any(isinstance(aspect, FileRead) and is_credential(aspect.path) for aspect in aspects):
        return False
    found = [aspect for aspect in aspects if isinstance(aspect, Command)]
    covered_below: int | None = None
    by_rule = False
    for index, command in enumerate(found):
        if covered_below is not None and command.depth > covered_below:
            continue
        covered_below = None
        rule = max((len(prefix) for prefix in allowed if command.words[: len(prefix)] == tuple(prefix)), default=0)
        if rule and set(unusual_options(command.words)) <= set(command.words[:rule]):
            by_rule = True
            if command.inner is not None and rule > command.inner:
                covered_below = command.depth
        elif isinstance(classify(command.words, moved=command.directory is not None), Safe):
            pass
        elif not (command.transparent and found[index + 1 : index + 2] and found[index + 1].depth > command.depth):
            return False
    return by_rule or not any(isinstance(aspect, FileWrite | FileDelete) for aspect in aspects)
