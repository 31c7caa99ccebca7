"""Reading a command line, all of it: against the bare parse that other products start with, over real command lines."""

import pathlib

import tree_sitter
import tree_sitter_bash

from benchmarks.figure import Figure, Unavailable, at_most, medians
from signoff.domain.intent import Command
from signoff.policy.commands import classify
from signoff.policy.shell import read_script

LINES = pathlib.Path(__file__).parents[2] / "shared" / "cases" / "commands" / "tldr.txt"


def measure() -> list[Figure]:
    if not LINES.is_file():
        raise Unavailable("the command lines beside the repository are not here")
    lines = LINES.read_text(encoding="utf-8").splitlines()
    encoded = [line.encode() for line in lines]
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))

    def parse() -> None:
        for line in encoded:
            parser.parse(line)

    def read() -> None:
        for line in lines:
            for aspect in read_script(line, cwd="/ws", home="/home/u").aspects:
                if isinstance(aspect, Command):
                    classify(aspect.words)

    seconds = medians({"parse": parse, "read": read}, rounds=7)
    reference = f"tree-sitter-bash parsing the same {len(lines):,} lines"
    return [at_most("shell reading and tables", seconds["read"] / seconds["parse"], 2.5, reference=reference)]
