"""Read a script, or the argv that would run one. The entrance of this room."""

import importlib
from collections.abc import Iterable

from signoff.domain.intent import Command, Opaque
from signoff.domain.late import late_pattern
from signoff.policy.commands.places import is_the_systems_own
from signoff.policy.shell.characters import MAX_CHARACTERS, objection
from signoff.policy.shell.directories import Places
from signoff.policy.shell.examine import (
    DOWNLOADERS,
    MAX_DEPTH,
    SPECIAL,
    Findings,
    base_name,
    is_simple_start,
    reads_commands,
    shown,
)
from signoff.policy.shell.plain import RESERVED, read_plain
from signoff.policy.shell.reading import Reading
from signoff.policy.shell.segments import Join, Segment
from signoff.policy.shell.unwrap import Script, Unwrapped
from signoff.policy.shell.words import Dialect, Refused

SIMPLE = late_pattern(r"[ \t]*[A-Za-z0-9_./+-]+(?:[ \t]+[A-Za-z0-9_./:=@%+,-]+)*[ \t]*")
_WORD = r"""([A-Za-z0-9_./:=@%+,-]+)|'([^'\n]*)'|"([^"\\$`\n]*)\""""
_WORDS = late_pattern(_WORD)
_QUOTED = late_pattern(rf"[ \t]*[A-Za-z0-9_./+-]+(?:[ \t]+(?:{_WORD}))*[ \t]*")
_DIALECTS = {"bash": Dialect.BASH, "zsh": Dialect.ZSH, "sh": Dialect.POSIX, "dash": Dialect.POSIX}


def read_script(script: str, *, cwd: str, home: str, dialect: Dialect = Dialect.BASH) -> Reading:
    """What the script would do when a shell runs it in `cwd`."""
    words = None if dialect is Dialect.ZSH else words_of_one_command(script)
    if words is None:
        findings = Findings(cwd, home)
        follow_script(findings, script, 0, dialect)
        return finished(findings)
    name = base_name(words[0])
    if name not in SPECIAL and name[:2] != "ld":
        return Reading(True, (Command(tuple(words), script),))
    findings = Findings(cwd, home)
    follow_segment(findings, Segment(words, script, literal=True), 0)
    return finished(findings)


def words_of_one_command(script: str) -> list[str] | None:
    """The words, if the script is one command in characters and quotes that mean themselves: no parser is needed."""
    match = SIMPLE.fullmatch(script)
    if match is not None:
        words = script.split()
        doubtful = len(script) > MAX_CHARACTERS or "        " in script
    else:
        match = _QUOTED.fullmatch(script)
        if match is None:
            return None
        words = [bare or single or double for bare, single, double in _WORDS.findall(script)]
        doubtful = objection(script) is not None
    return None if doubtful or words[0] in RESERVED else words


def read_argv(argv: tuple[str, ...], *, cwd: str, home: str) -> Reading:
    """What starting this process would do; for `bash -lc SCRIPT` that is what the script does."""
    dialect = _DIALECTS.get(base_name(argv[0])) if len(argv) == 3 and argv[1] in ("-c", "-lc") else None
    if dialect is not None and is_the_systems_own(argv[0]):
        return read_script(argv[2], cwd=cwd, home=home, dialect=dialect)
    findings = Findings(cwd, home)
    problem = next(filter(None, map(objection, argv)), None) if argv and argv[0] else "no program"
    if problem is not None:
        findings.ask(shown(argv), problem)
    if argv:
        follow_segment(findings, Segment(list(argv), shown(argv)), 0)
    return finished(findings)


def finished(findings: Findings) -> Reading:
    aspects = findings.aspects
    if findings.reason is None:
        return Reading(True, tuple(aspects))
    found = [_only_restricted(aspect) if type(aspect) is Command else aspect for aspect in aspects]
    if not any(type(aspect) is Opaque for aspect in found):
        found.append(Opaque("", findings.reason, asks=False))
    return Reading(False, tuple(found), findings.reason)


def _only_restricted(it: Command) -> Command:
    return Command(it.words, it.text, False, it.depth, it.inner, it.transparent, it.directory)


def follow_script(findings: Findings, script: str, depth: int, dialect: Dialect) -> None:
    """Everything a script does, added to what was found."""
    if depth > MAX_DEPTH:
        findings.ask(script, f"more than {MAX_DEPTH} wrappers inside each other")
        return
    problem = objection(script)
    if problem is not None:
        findings.ask(script, problem)
        if len(script) > 100_000:
            return
    try:
        segments = read_plain(script, findings.home, dialect)
    except Refused as refusal:
        findings.not_plain(str(refusal))
        # the grammar costs more to load than everything else here, and most scripts do not need it
        importlib.import_module("signoff.policy.shell.tree").follow_tree(findings, script, depth)
        return
    if not segments:
        findings.ask(script, "an empty script")
    follow_list(findings, segments, depth)


def follow_list(findings: Findings, segments: list[Segment], depth: int) -> None:
    if len(segments) == 1:
        follow_segment(findings, segments[0], depth)
        return
    places = Places(findings, segments)
    for segment in segments:
        places.enter(segment)
        follow_segment(findings, segment, depth)
    places.leave()
    note_pipes(findings, segments)


def note_pipes(findings: Findings, segments: Iterable[Segment]) -> None:
    """A pipe into something that runs what it reads."""
    downloads = False
    for segment in segments:
        names = {base_name(word) for word in segment.words}
        if segment.join is not Join.PIPE:
            downloads = False
        elif downloads:
            name = base_name(segment.words[0])
            if reads_commands(name, segment.words):
                findings.ask(segment.text, "runs what it is fed from elsewhere")
        downloads = downloads or bool(names & DOWNLOADERS)


def follow_segment(findings: Findings, segment: Segment, depth: int) -> None:
    if depth > MAX_DEPTH:
        findings.ask(segment.text, f"more than {MAX_DEPTH} wrappers inside each other")
        return
    started = findings.examine(segment, depth)
    if started is not None:
        _follow_started(findings, segment, started, depth + 1)


def _follow_started(findings: Findings, segment: Segment, started: Unwrapped, depth: int) -> None:
    for start in started.starts:
        if isinstance(start, Script):
            follow_script(findings, start.text, depth, start.dialect)
        elif start:
            words = _without_construct(findings, start)
            inner = Segment(words, shown(words), segment.join, stdin=segment.stdin, fed=segment.fed)
            follow_segment(findings, inner, depth)


def _without_construct(findings: Findings, words: list[str]) -> list[str]:
    """`time x=1 make`: what follows a keyword need not begin with the program."""
    for index, word in enumerate(words):
        if is_simple_start(word):
            return words[index:]
        findings.not_plain("a construct of the shell behind a wrapper")
    return words
