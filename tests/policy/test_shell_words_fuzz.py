"""Random scripts that we call plain give bash the same words. bash runs unprivileged, with no program to find."""

import os
import random
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator

import pytest

from signoff.domain.intent import Command, Opaque
from signoff.policy.shell import Reading, read_script
from tests.policy.nobody import as_nobody

FRAGMENTS = [
    *["a", "b", "x", "-o", "--long=v", "1", "22", "echo", "f.txt", "./p", "/etc/x", "a=b", "é", "日本"],
    *[" "] * 12, "\t", "\n", "\n\n", "\\\n", "\\", "\\\\", "\\ ", "\\a", "\\n", "\\$", "\\#", "\\'", '\\"', "\\;", "\\|",
    "'", "'", '"', '"', "'a b'", '"a b"', '"a$"', '"$"', '"a\\qb"', '"\\""', "'\\'", "''", '""', "$'a\\tb'", "$'", "$'\\x41'", "$'\\''",
    *["&&", "||", ";", ";", "|", "|", "&", "|&", ";;", "&&&", "(", ")", "{", "}", "{}", "{a,b}", "[", "]", "[ a ]", "[[", "]]", "[a]"],
    *["#", "# c", "a#b", "~", "~/x", "a~", "=~", ":~", "*", "?", "a*", "!", "^", "%", "@", ",", ":", "+"],
    *["$", "$x", "$?", '"$?"', '"$HOME"', '"${HOME}/x"', "${x}", "$(b)", "`b`", "$((1))"],
    *[">", "<", ">>", "2>&1", "2>/dev/null", ">/dev/null", "&>/dev/null", "</dev/null", "<a", "2>&-", "1>&2", ">&", "<<E", "<<<", "<>"],
    *["if", "then", "fi", "for", "do", "done", "time", "case", "esac", "in", "function", "coproc", "while", "select", "until"],
]  # fmt: skip
PRELUDE = r"""
show() { set -- "${@//$'\n'/$'\3'}"; printf '%s\0' "$number" "$@" $'\1' >&9; }
command_not_found_handle() { show "$@"; }
for name in a b x f.txt; do eval "$name() { show $name \"\$@\"; }"; done
echo() { show echo "$@"; }
exec </dev/null 9>&1 >/dev/null 2>/dev/null
"""
LOOP = r"""
number=0
for script in "$@"; do ( eval -- "$script"; wait ); number=$((number + 1)); done
"""
BASH = shutil.which("bash") or ""
SCRIPTS_PER_RUN = 700
RUNS = 3
SEED = int(os.environ.get("SIGNOFF_FUZZ_SEED", "1000"))


def random_scripts(seed: int) -> Iterator[str]:
    chance = random.Random(seed)
    while True:
        parts = chance.choices(FRAGMENTS, k=chance.randint(2, 12))
        yield chance.choice(["a", "b", "echo", ""]) + chance.choice([" ", " ", ""]) + "".join(parts)


def literal_commands(reading: Reading) -> list[list[str]] | None:
    """The commands as words, None if the reading leaves something to the shell or to files."""
    found = []
    for aspect in reading.aspects:
        if isinstance(aspect, Command):
            if None in aspect.words or aspect.depth or aspect.inner is not None or aspect.directory is not None:
                return None
            found.append([word or "" for word in aspect.words])
    return found


def bash_words(scripts: list[str], scratch: str) -> list[list[list[str]]]:
    """What bash makes of each script: every program start as words, in order."""
    run = subprocess.run(
        [BASH, "--norc", "--noprofile", "-c", PRELUDE + LOOP, "fuzz", *scripts],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=120, cwd=scratch,
        env={"PATH": "/nonexistent", "HOME": "/home/u", "LC_ALL": "C.UTF-8"}, **as_nobody(),
    )  # fmt: skip
    # a new line would end bash's write, and in a pipe two writes can mix
    starts = run.stdout.decode().replace("\3", "\n").split("\0\1\0")[:-1]
    results: list[list[list[str]]] = [[] for _ in scripts]
    for number, *words in (start.split("\0") for start in starts):
        results[int(number)].append(words)
    return results


@pytest.mark.skipif(not BASH, reason="no bash here")
@pytest.mark.parametrize("seed", range(RUNS))
def test_what_we_call_plain_has_the_words_that_bash_sees(seed: int) -> None:
    plain: list[tuple[str, list[list[str]]]] = []
    for script in random_scripts(SEED + seed):
        reading = read_script(script, cwd="/ws", home="/home/u")
        words = literal_commands(reading) if reading.plain else None
        if words is not None and all(shows_itself(start[0]) for start in words):
            plain.append((script, words))
        if len(plain) == SCRIPTS_PER_RUN:
            break
    with tempfile.TemporaryDirectory() as scratch:
        os.chmod(scratch, 0o777)
        seen = bash_words([script for script, _ in plain], scratch)
    wrong = [
        (script, ours, theirs)
        for (script, ours), theirs in zip(plain, seen, strict=True)
        if differs(script, ours, theirs)
    ]
    assert wrong == []


def shows_itself(program: str) -> bool:
    """A path is not looked up, a builtin is not a function, and `%` is a job: these print nothing."""
    return "/" not in program and program not in ("[", ":", "time", ".", "") and program[0] != "%"


def differs(script: str, ours: list[list[str]], theirs: list[list[str]]) -> bool:
    """Behind `||` or a failed `<` a command may not run, and in a pipe the order is open; what ran was announced."""
    if any(mark in script for mark in ("|", "&&", "<")):
        return any(start not in ours for start in theirs)
    return ours != theirs


CONSTRUCTS = [
    "if {0}; then {1}; fi", "if {0}; then {1}; else {2}; fi", "if false; then {0}; elif {1}; then {2}; fi", "! {0}", "time {0}", "{0} & {1}",
    "for i in 1 $({0}); do {1}; done", "for ((i=0; i<1; i++)); do {0}; done", "while {0}; do {1}; break; done", "until {0}; do {1}; break; done",
    "case x in x) {0};; *) {1};; esac", "( {0} )", "({0}; {1})", "{{ {0}; {1}; }}", "{0} && {1} || {2}", "{0} | {1}", "{0} |& {1}", "{0}; {1}", "{0}\n{1}",
    "a $({0})", "a \"$({0})\"", "a `{3}`", "a \"`{3}`\"", "x=$({0})", "x=1 {0}", "x=($({0}))", "export x=$({0})", "local x=$({0})", "a ${{x:-$({0})}}", "a \"${{x:-`{3}`}}\"",
    "a $(( $({0}) + 1 ))", "[[ -n $({0}) ]]", "[ -n \"$({0})\" ]", "a <({0})", "a <<E\n$({0})\n`{3}`\nE\n", "a <<'E'\n$({0})\nE\n{1}", "a <<-E\n\tx\n\tE\n{0}",
    "a <<< $({0})", "f() {{ {0}; }}; f", "function g {{ {0}; }}; g", "eval '{3}'", "eval {3}", "trap '{3}' EXIT", "{0} 2>/dev/null", "{0} >/dev/null 2>&1", ">/dev/null {0}", "{0} # comment",
    "command {3}", "builtin eval '{3}'", "a {{b,c}} && {0}", "\\{3}", "a;{0}", "a \\\n; {0}", "a\\\n b && {0}", "exec 8>&1; {0}", "declare -a y=($({0}))", "a x\\\n{1}", "(({0}=1)); {1}", "let x=1; {0}",
    "a ${{x}}; {0}", "a [x]; {0}", "a 'q\nr'; {0}", "a \"q\nr\"; {0}", "\n\n{0}\n", "  {0}  ;", "a=b\n{0}", "while read -r l; do {0}; done <<< x", "{0} <<E | {1}\nx\nE\n", "{0} <<E && {1}\nx\nE\n", "select x in 1; do {0}; break; done </dev/null",
]  # fmt: skip


def nested_scripts(seed: int) -> Iterator[str]:
    """Commands marked by a number, inside every construct of the shell, inside another."""
    chance = random.Random(seed)
    count = 0

    def leaf() -> str:
        nonlocal count
        count += 1
        return chance.choice(["a m{}", "b 'm{}'", 'x "m{}"', "a m{} -f", "b''b m{}", "zz m{}"]).format(count)

    def script(depth: int) -> str:
        if depth == 0:
            return leaf()
        parts = [script(chance.randrange(depth)) for _ in range(3)]
        return chance.choice(CONSTRUCTS).format(*parts, leaf().replace("'", ""))

    while True:
        yield script(chance.randint(1, 3))


def covers(ours: tuple[str | None, ...], theirs: list[str]) -> bool:
    """Whether the words bash used fit ours, where None stands for any number of words."""
    if ours[:1] == (None,):
        return True
    pattern = "".join("(?:[^\0]*\0)*" if word is None else re.escape(word) + "\0" for word in ours)
    return re.fullmatch(pattern, "".join(word + "\0" for word in theirs)) is not None


@pytest.mark.skipif(not BASH, reason="no bash here")
@pytest.mark.parametrize("source", [random_scripts, nested_scripts])
def test_whatever_bash_starts_was_found(source: Callable[[int], Iterator[str]]) -> None:
    """In scripts of any form that we claim to read, no command that bash starts is missing from ours."""
    read: list[tuple[str, list[tuple[str | None, ...]]]] = []
    for script in source(SEED):
        reading = read_script(script, cwd="/ws", home="/home/u")
        if not reading.plain and not any(isinstance(aspect, Opaque) and aspect.asks for aspect in reading.aspects):
            read.append((script, [aspect.words for aspect in reading.aspects if isinstance(aspect, Command)]))
        if len(read) == SCRIPTS_PER_RUN:
            break
    with tempfile.TemporaryDirectory() as scratch:
        os.chmod(scratch, 0o777)
        seen = bash_words([script for script, _ in read], scratch)
    missed = [
        (script, start)
        for (script, ours), starts in zip(read, seen, strict=True)
        for start in starts
        if not any(covers(words, start) for words in ours)
    ]
    assert missed == []
