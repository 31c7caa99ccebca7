"""What a full check costs: reading a real command line, finding its rules among many, judging; against parsing it."""

import pathlib

import tree_sitter
import tree_sitter_bash

from benchmarks.figure import Figure, Unavailable, at_most, medians
from signoff.domain.context import Context
from signoff.domain.verdict import Decision, Layer, Source
from signoff.policy.decide import decide
from signoff.policy.execpolicy.rule import PrefixRule
from signoff.policy.intents import script_intent
from signoff.policy.ruleset import Rules

LINES = pathlib.Path(__file__).parents[2] / "shared" / "cases" / "commands" / "tldr.txt"
REFERENCE = "bare tree-sitter parse of the same lines"
EVERY = 10  # a tenth of the lines in each round, so that the arms take turns quickly
ROUNDS = 31


def measure() -> list[Figure]:
    if not LINES.exists():
        raise Unavailable("the command lines beside the repository are not here")
    lines = LINES.read_text(encoding="utf-8").splitlines()[::EVERY]
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
    context = Context(workspace="/work", home="/home/user")

    def parse() -> None:
        for line in lines:
            parser.parse(line.encode())

    def check(rules: Rules) -> None:
        for line in lines:
            decide(script_intent(line, cwd="/work", home="/home/user"), rules, context)

    sizes = {size: rule_set(size) for size in (10, 1_000, 10_000)}
    arms = {str(size): lambda rules=rules: check(rules) for size, rules in sizes.items()}
    seconds = medians({REFERENCE: parse, **arms}, rounds=ROUNDS)
    return [
        at_most("policy check, 1,000 rules", seconds["1000"] / seconds[REFERENCE], 3, reference=REFERENCE),
        at_most(
            "policy check, 10,000 rules", seconds["10000"] / seconds["10"], 1.25, reference="the same with 10 rules"
        ),
    ]


def rule_set(size: int) -> Rules:
    """Rules for made-up programs and for real ones, of every decision."""
    names = ["git", "docker", "npm", "cargo", "kubectl"]
    return Rules(
        tuple(
            PrefixRule(
                ((names[number % 5] if number % 10 == 0 else f"program{number}",), (f"verb{number}", f"other{number}")),
                Decision(number % 3),
                Source(Layer.USER, "a.rules", number),
            )
            for number in range(size)
        )
    )
