"""Read a rule file: Starlark with three functions, `prefix_rule`, `host_executable` and `network_rule`.

A file is read completely or refused: the error names file, line and column and says what to change. Evaluation is
bounded in steps, not in memory; so a project's file, which somebody else wrote, may hold calls with literal arguments only.
"""

import itertools
import re
import shlex
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NoReturn

from signoff.domain.errors import RulesInvalid
from signoff.domain.late import late, late_pattern
from signoff.domain.verdict import Layer, Source
from signoff.policy.execpolicy.arguments import host_executable, network_rule, prefix_rule
from signoff.policy.execpolicy.match import PrefixIndex
from signoff.policy.execpolicy.rule import WORDS, HostExecutable, NetworkRule, PrefixRule, RuleFile, Words

if TYPE_CHECKING:
    import starlark
else:
    starlark = late("starlark")

# The functions a file calls are Starlark ones: they know the caller's line, and they keep a tuple apart from a list, both
# of which reach Python as a list. A value without a bracket in its spelling holds no tuple, which is the quick way.
_PRELUDE = """
def _seen(value):
    if type(value) == "list":
        return [_seen(item) for item in value]
    return {"got": "tuple"} if type(value) == "tuple" else value

def _said(function, values, stack):
    _rule(function, stack, [_seen(value) for value in values] if "(" in repr(values) else values)

def prefix_rule(pattern, decision = "allow", match = [], not_match = [], justification = None):
    _said("prefix_rule", [pattern, decision, match, not_match, justification], call_stack(strip_frames = 1))

def network_rule(host, protocol, decision, justification = None):
    _said("network_rule", [host, protocol, decision, justification], call_stack(strip_frames = 1))

def host_executable(name, paths):
    _said("host_executable", [name, paths], call_stack(strip_frames = 1))
"""
_PRELUDE_NAME = "signoff"
_TICKS = 20_000  # about 20 million steps: a second's work, and a thousand times what a large file needs
_QUOTED = re.compile(r"""\"(?:[^"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|#[^\n]*""")
_OPERATOR = re.compile(r"[-+*/%~.|&^<>=(]|\b(?:not|and|or|if|lambda)\b")
_GROWS = re.compile(r"[\w)\]}][ \t]*(?:\*(?!\*)|<<)|\*=")
_GROWS_BY_ITSELF = re.compile(r"^[ \t]*+(\w++)[ \t]*+(?:=(?!=)[^\n]*\b\1\b[^\n]*\b\1\b|\+=[^\n]*\b\1\b)", re.MULTILINE)
_LITERAL = late_pattern(
    r"[\s,()\[\]=\0]|\d+\b|(?:True|False|None)\b|(?:prefix_rule|network_rule|host_executable)(?=\s*\()"
    r"|(?:pattern|decision|match|not_match|justification|host|protocol|name|paths)(?=\s*=)"
)
_BRACKET = re.compile(r"[][(){}]")
_DEEPEST, _MOST_OPERATORS = 50, 500
_FRAME = late_pattern(r"^  \* (?P<file>.*):(?P<line>\d+), in ", re.MULTILINE)
_FUNCTION = late_pattern(r"prefix_rule|network_rule|host_executable")
_POSITION = late_pattern(r"^ *--> (?P<file>.*):(?P<line>\d+):(?P<column>\d+)$", re.MULTILINE)
_SHOWN = late_pattern(r"^ *\d+ \|", re.MULTILINE)
_MESSAGE = late_pattern(r"^error: (?:Refusal: )?(?P<message>.*)$", re.MULTILINE)


def read_rules(text: str, file: str, layer: Layer = Layer.FLAG) -> RuleFile:
    """Everything the file says. Raises RulesInvalid, also for an example that does not hold."""
    rules = parse_rules(text, file, layer)
    for prefix in rules.prefixes:
        if prefix.match or prefix.not_match:
            for problem in wrong_examples(prefix, rules.listed):
                line = prefix.source.line or 1
                _raise(file, *_place(text, line, problem), problem)
    return rules


def parse_rules(text: str, file: str, layer: Layer = Layer.FLAG) -> RuleFile:
    """The same with the examples unchecked."""
    prefixes: list[PrefixRule] = []
    networks: list[NetworkRule] = []
    executables: list[HostExecutable] = []

    def rule(function: str, stack: str, arguments: list[object]) -> None:
        source = Source(layer, file, _caller(stack))
        match function:
            case "prefix_rule":
                prefixes.append(prefix_rule(arguments, source))
            case "network_rule":
                networks.append(network_rule(arguments, source))
            case "host_executable":
                executables.append(host_executable(arguments, source))

    if layer is Layer.PROJECT:
        _require_literals(text, file)
    _refuse_bottomless(text, file)
    _evaluate(text, file, rule)
    return RuleFile(tuple(prefixes), tuple(networks), tuple(executables))


def _require_literals(text: str, file: str) -> None:
    """No name, operator or loop: what such a file says is as large as the file."""
    bare, at = _QUOTED.sub("\0", text), 0
    while at < len(bare):
        piece = _LITERAL.match(bare, at)
        if piece is None:
            number = bare.count("\n", 0, at) + 1
            _raise(file, number, 1, "a project's rules are calls with literal arguments, nothing else")
        at = piece.end()


def _refuse_bottomless(text: str, file: str) -> None:
    """The parser follows nesting and chains of operators on the stack of the process, which would end with it; and one
    multiplication or shift can fill the memory before anybody counts a step."""
    bare, depth = _QUOTED.sub("q", text), 0
    if ("*" in bare or "<<" in bare) and (grows := _GROWS.search(bare)) is not None:
        number = bare.count("\n", 0, grows.start()) + 1
        _raise(file, number, 1, "multiplication and shifts have no place in rules")
    if (grows := _GROWS_BY_ITSELF.search(bare)) is not None:
        number = bare.count("\n", 0, grows.start(1)) + 1
        _raise(file, number, 1, f"`{grows[1]}` is made of itself more than once, which has no place in rules")
    for number, line in enumerate(bare.split("\n"), start=1):
        before, opening = depth, sum(map(line.count, "([{"))
        depth += opening - sum(map(line.count, ")]}"))
        if before + opening > _DEEPEST or len(line) > 4 * _DEEPEST:  # a line that can be too much
            _refuse_line(line, before, file, number)


def _refuse_line(line: str, depth: int, file: str, number: int) -> None:
    deepest = max(itertools.accumulate((1 if mark in "([{" else -1 for mark in _BRACKET.findall(line)), initial=depth))
    indented = len(line) - len(line.lstrip())
    if deepest > _DEEPEST or len(_OPERATOR.findall(line)) > _MOST_OPERATORS or indented > 4 * _DEEPEST:
        _raise(file, number, 1, "nested too deeply")


def _evaluate(text: str, file: str, rule: Callable[[str, str, list[object]], None]) -> None:
    ticks = 0

    def exhausted() -> bool:
        nonlocal ticks
        ticks += 1
        return ticks > _TICKS

    dialect = starlark.Dialect.extended()
    dialect.enable_f_strings = True
    dialect.enable_load = False
    module = starlark.Module()
    module.add_callable("_rule", rule)
    with_stack = starlark.Globals.extended_by([starlark.LibraryExtension.CallStack])
    starlark.eval(module, starlark.parse(_PRELUDE_NAME, _PRELUDE, dialect), with_stack)
    options = starlark.EvalOptions(check_cancelled=exhausted)
    try:
        tree = starlark.parse(file, text, dialect)
        starlark.eval_with(options, module, tree, starlark.Globals.standard())
    except starlark.StarlarkError as error:
        _refuse(str(error), text, file, exhausted=ticks > _TICKS)
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # the evaluator's own end, where it is asked for too much at once
            raise
        _raise(file, 1, 1, "evaluation takes too much memory")


def _caller(stack: str) -> int:
    """The line of the innermost call outside the prelude."""
    lines = [int(frame["line"]) for frame in _FRAME.finditer(stack) if frame["file"] != _PRELUDE_NAME]
    return lines[-1] if lines else 1


def _place(text: str, line: int, message: str) -> tuple[int, int]:
    """Line and column of the argument the message is about; else of the call; else where the line begins."""
    lines = text.split("\n")
    start = sum(len(one) + 1 for one in lines[: line - 1])
    call = _FUNCTION.search(lines[line - 1])
    at = start + (call.start() if call else len(lines[line - 1]) - len(lines[line - 1].lstrip()))
    name = next((name for said, name in _ABOUT.items() if message.startswith(said)), None)
    if call and name:
        following = _FUNCTION.search(text, start + call.end())
        argument = late_pattern(rf"\b{name}\s*=").search(text, at, following.start() if following else len(text))
        at = argument.start() if argument else at
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def _refuse(report: str, text: str, file: str, *, exhausted: bool) -> NoReturn:
    said = _MESSAGE.search(report)
    message = "evaluation takes too long" if exhausted or said is None else said["message"]
    position = _POSITION.search(report)
    if position and position["file"] != _PRELUDE_NAME:
        if not _SHOWN.search(report):  # it ran into the end of the file
            lines = text.rstrip().split("\n")
            _raise(file, len(lines), len(lines[-1]) + 1, message)
        _raise(file, int(position["line"]), int(position["column"]), message)
    _raise(file, *_place(text, _caller(report), message), message)  # it happened inside one of our functions


def _raise(file: str, line: int, column: int, message: str) -> NoReturn:
    raise RulesInvalid(f"{file}:{line}:{column}: {message}", hint=_hint(message))


def _hint(message: str) -> str:
    for start, advice in _ADVICE.items():
        if message.startswith(start):
            return advice
    return "Correct this line; `signoff policy init --print` shows a rule file with every form."


_ABOUT = {
    "invalid decision": "decision",
    "invalid pattern element": "pattern",
    "expected every example": "match",
    "expected example to not match": "not_match",
}
_ADVICE = {
    "invalid decision": 'Write decision="allow", "prompt" or "forbidden".',
    "invalid pattern element": 'Write pattern=["git", ["status", "diff"]]: words, or lists of words that may stand there.',
    "invalid example": 'Write examples as strings ("git status") or as lists of words (["git", "status"]).',
    "expected every example": "Correct the example under `match`, or the pattern.",
    "expected example to not match": "Take the example out of `not_match`, or make the pattern longer.",
    "multiplication and shifts": "Write the rules out.",
    "a project's rules": 'Write prefix_rule(pattern = ["git", "push"], decision = "prompt"), once for each rule.',
    "evaluation takes too much": "Write the rules out.",
    "evaluation takes too long": "Write the rules out, or make the loop smaller.",
}


def wrong_examples(rule: PrefixRule, listed: dict[str, Words]) -> Iterator[str]:
    """What the rule's examples say and the rule does not do. They are tried against this rule alone."""
    index = PrefixIndex.of((rule,), executables=listed)
    for example in rule.not_match:
        if index.lookup(example, resolve=True):
            yield f"expected example to not match rule `{shown(rule)}`: {shlex.join(example)}"
    unmatched = [shlex.join(example) for example in rule.match if not index.lookup(example, resolve=True)]
    if unmatched:
        rules = [shown(rule)]
        yield f"expected every example to match at least one rule. rules: {rules}; unmatched examples: {unmatched}"


def shown(rule: PrefixRule) -> str:
    """The rule as one would write it, without its examples."""
    words = ", ".join(
        _quoted(position[0]) if len(position) == 1 else f"[{', '.join(map(_quoted, position))}]"
        for position in rule.pattern
    )
    return f'prefix_rule(pattern=[{words}], decision="{WORDS[rule.decision]}")'


def _quoted(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
