"""How long rule files take to be read, against the Starlark interpreter evaluating the same text."""

import starlark

from benchmarks.figure import Figure, at_most, medians
from signoff.policy.execpolicy.language import read_rules
from signoff.policy.ruleset import Rules

REFERENCE = "starlark-pyo3 evaluating the file"
ROUNDS = 15


def measure() -> list[Figure]:
    plain = "".join(f'prefix_rule(pattern=["program{n}", "verb{n}"], decision="allow")\n' for n in range(1_000))
    rich = "".join(
        f'prefix_rule(pattern=["program{n}", ["verb{n}", "other"]], decision="prompt", justification="look at {n}",'
        f' match=["program{n} verb{n} x"], not_match=[["program{n}", "third"]])\n'
        for n in range(1_000)
    )
    return [figure("loading 1,000 rules", plain), figure("loading 1,000 rules with examples", rich)]


def figure(name: str, text: str) -> Figure:
    seconds = medians({REFERENCE: lambda: evaluate(text), "load": lambda: load(text)}, rounds=ROUNDS)
    return at_most(name, seconds["load"] / seconds[REFERENCE], 3, reference=REFERENCE)


def load(text: str) -> None:
    Rules.of([read_rules(text, "a.rules")])


def evaluate(text: str) -> None:
    module = starlark.Module()
    module.add_callable("prefix_rule", lambda **_: None)
    starlark.eval(module, starlark.parse("a.rules", text, starlark.Dialect.extended()), starlark.Globals.standard())
