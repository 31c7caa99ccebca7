"""The rule language: what a file may say, what it means, and how a mistake is reported."""

import pytest

from signoff.domain.errors import RulesInvalid
from signoff.domain.verdict import Decision, Layer, Source
from signoff.policy.execpolicy.language import read_rules
from signoff.policy.execpolicy.rule import HostExecutable, NetworkRule, PrefixRule, Protocol, RuleFile


def source(line: int) -> Source:
    return Source(Layer.USER, "a.rules", line)


def test_a_file_says_everything_it_can_say_in_its_order_with_its_lines() -> None:
    text = """# comment
prefix_rule(["git", ["status", "diff"]], justification = "only reads")
def forbid(name):
    prefix_rule(pattern = [name], decision = "forbidden")

for name in [f"a{n}" for n in range(2)]:
    forbid(name)
prefix_rule(
    pattern = [["npm", "pnpm"], ["run"]],
    decision = "prompt",
    match = ["npm run build", ["pnpm", "run"]],
    not_match = ["npm test"],
)
host_executable(name = "git", paths = ["/usr/bin/git", "/usr/bin/git", "/opt//git/bin/git"])
network_rule("Example.COM.:443", "http-connect", "deny", justification = "not there")
network_rule("[::1]:80", "http", "allow")
"""
    assert read_rules(text, "a.rules", Layer.USER) == RuleFile(
        prefixes=(
            PrefixRule((("git",), ("status", "diff")), Decision.ALLOW, source(2), "only reads"),
            PrefixRule((("a0",),), Decision.DENY, source(4)),
            PrefixRule((("a1",),), Decision.DENY, source(4)),
            PrefixRule(
                (("npm", "pnpm"), ("run",)),
                Decision.ASK,
                source(8),
                match=(("npm", "run", "build"), ("pnpm", "run")),
                not_match=(("npm", "test"),),
            ),
        ),
        networks=(
            NetworkRule("example.com", Protocol.HTTPS, Decision.DENY, source(15), "not there"),
            NetworkRule("::1", Protocol.HTTP, Decision.ALLOW, source(16)),
        ),
        executables=(HostExecutable("git", ("/usr/bin/git", "/opt/git/bin/git"), source(14)),),
    )


RULE = "prefix_rule(pattern=%s)"
EXAMPLE = 'prefix_rule(pattern=["a"], match=[%s])'
HOST = "network_rule(%s)"
REFUSALS = [
    ('prefix_rule(["a"], decision="deny")', "1:20: invalid decision: deny"),
    ('prefix_rule(\n  pattern = ["a"],\n  decision = "no",\n)\nprefix_rule(["b"])', "3:3: invalid decision: no"),
    ('prefix_rule(["a"], "no")\nprefix_rule(["b"], decision="allow")', "1:1: invalid decision: no"),
    ('network_rule("h", "http", None)', "1:1: invalid decision: NoneType"),
    (RULE % "[]", "1:13: invalid pattern element: pattern cannot be empty"),
    (RULE % '["a", []]', "1:13: invalid pattern element: pattern alternatives cannot be empty"),
    (RULE % '("a",)', "1:13: invalid pattern element: pattern must be a list (got tuple)"),
    (
        RULE % '["a", ("b",)]',
        "1:13: invalid pattern element: pattern element must be a string or list of strings (got tuple)",
    ),
    (
        RULE % '["a", 1]',
        "1:13: invalid pattern element: pattern element must be a string or list of strings (got int)",
    ),
    (RULE % '["a", ["b", True]]', "1:13: invalid pattern element: pattern alternative must be a string (got bool)"),
    ('\n\nprefix_rule(["a"], justification=" ")', "3:1: invalid rule: justification cannot be empty"),
    (EXAMPLE % '""', "1:1: invalid example: example cannot be an empty string"),
    (EXAMPLE % "[]", "1:1: invalid example: example cannot be an empty list"),
    (EXAMPLE % '"a \'b"', "1:1: invalid example: example string has invalid shell syntax"),
    (EXAMPLE % "1.5", "1:1: invalid example: example must be a string or list of strings (got float)"),
    (EXAMPLE % '["a", None]', "1:1: invalid example: example tokens must be strings (got NoneType)"),
    (
        "def f():\n    " + EXAMPLE % '"a x", "b"' + "\nf()",
        "2:32: expected every example to match at least one rule. rules: "
        "['prefix_rule(pattern=[\"a\"], decision=\"allow\")']; unmatched examples: ['b']",
    ),
    (
        'prefix_rule(["a", ["b", "c"]], match=["z"], not_match=["a c d"])',
        '1:45: expected example to not match rule `prefix_rule(pattern=["a", ["b", "c"]], decision="allow")`: a c d',
    ),
    ('prefix_rule(["a"], because="x")', "1:1: Found `because` extra named parameter(s)"),
    ("prefix_rule()", "1:1: Missing parameter `pattern`"),
    ('x = 1\nprefix_rule(["a"]\n\n', "2:18: Parse error: unexpected new line here"),
    ("x = (", "1:6: Parse error: unexpected new line here"),
    ("a = 1\nx = 'abc", "2:5: Parse error: unfinished string literal"),
    ('load("x.star", "y")', "1:1: `load` is not allowed in this dialect"),
    ('print("x")', "1:1: Variable `print` not found"),
    ("call_stack()", "1:1: Variable `call_stack` not found"),
    ("for i in range(1000000000):\n    x = i", "evaluation takes too long"),
    ("def f():\n    f()\nf()", "2:5: Starlark call stack overflow"),
    ('host_executable("a/b", [])', "1:1: invalid rule: host_executable name must be a bare executable name (got a/b)"),
    ('host_executable("a", ["a"])', "1:1: invalid rule: host_executable paths must be absolute (got a)"),
    ('host_executable("a", ["/b"])', "1:1: invalid rule: host_executable path `/b` must have basename `a`"),
    (HOST % '"*.x", "http", "allow"', "must be a specific host; wildcards are not allowed"),
    (HOST % '"http://x", "http", "allow"', "must be a hostname or IP literal (without scheme or path)"),
    (HOST % '"a b", "http", "allow"', "network_rule host cannot contain whitespace"),
    (HOST % '".", "http", "allow"', "network_rule host cannot be empty"),
    (HOST % '"[::1", "http", "allow"', "invalid bracketed IPv6 literal"),
    (HOST % '"[::1]x", "http", "allow"', "contains an unsupported suffix: [::1]x"),
    (HOST % '"x", "ftp", "allow"', "protocol must be one of http, https, socks5_tcp, socks5_udp (got ftp)"),
]


@pytest.mark.parametrize(("text", "said"), REFUSALS)
def test_a_mistake_is_reported_with_its_place_and_what_to_do(text: str, said: str) -> None:
    with pytest.raises(RulesInvalid) as refused:
        read_rules(text, "dir/a.rules")
    assert refused.value.message.startswith("dir/a.rules:")
    assert said in refused.value.message
    assert refused.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "[" * 5_000 + "]" * 5_000,
        "x = " + "[\n" * 5_000 + "]" * 5_000,
        "x = " + "-" * 20_000 + "1",
        "x = " + "not " * 20_000 + "1",
        "x = " + "+".join(["1"] * 20_000),
        "x = f" + "()" * 20_000,
        "x = f" + ".a" * 20_000,
        "x = " + "lambda: " * 20_000 + "1",
        "".join(" " * depth + "if True:\n" for depth in range(500)) + " " * 500 + "pass",
    ],
    ids=range(9),
)
def test_a_bottomless_file_is_refused_before_it_overflows_the_stack(text: str) -> None:
    with pytest.raises(RulesInvalid, match="nested too deeply"):
        read_rules(text, "a.rules")


def test_brackets_in_strings_and_long_flat_lists_are_not_nesting() -> None:
    words = ", ".join('"[[(("' for _ in range(1_000))
    assert len(read_rules(f"prefix_rule(pattern=[[{words}]])  # {'[' * 200}", "a.rules").prefixes) == 1


def test_an_example_may_use_the_path_of_a_program_the_file_lists() -> None:
    listed = 'host_executable("git", ["/usr/bin/git"])\n'
    rule = 'prefix_rule(["git"], match=["/usr/bin/git status"], not_match=["/opt/git status"])'
    assert len(read_rules(listed + rule, "a.rules").prefixes) == 1


@pytest.mark.parametrize("text", ["", "\n# nothing\n", "x = 1"])
def test_a_file_may_say_nothing(text: str) -> None:
    assert read_rules(text, "a.rules") == RuleFile()


@pytest.mark.parametrize(
    "text", ["x = [1] * 100000000", 'x = "a" * 1000000000', "x = 3 *\\\n[1]", "x = 1 << 99999999", "x *= 9"]
)
def test_one_step_that_fills_the_memory_is_refused_before_it_is_taken(text: str) -> None:
    with pytest.raises(RulesInvalid, match="multiplication and shifts"):
        read_rules(text, "a.rules")


def test_stars_that_multiply_nothing_are_fine() -> None:
    text = 'words = ["a", "*"]  # * 9\ndef f(*x, **y):\n    prefix_rule(pattern = list(x))\nf(*words)\n'
    assert read_rules(text, "a.rules").prefixes[0].pattern == (("a",), ("*",))


@pytest.mark.parametrize(
    "line", ["x = x + x", "x += x", 'x = "%s%s" % (x, x)', "x = [x, x]", "x = x.replace('a', x)", "x = (x, x)"]
)
def test_a_file_cannot_grow_out_of_itself(line: str) -> None:
    with pytest.raises(RulesInvalid, match=r"a\.rules:2:1: `x` is made of itself"):
        read_rules('x = "a"\n' + f"{line}\n" * 60, "a.rules")


def test_what_is_too_much_for_the_evaluator_is_a_mistake_in_the_file() -> None:
    with pytest.raises(RulesInvalid, match="takes too much memory"):
        read_rules("x = list(range(1000000000))\n", "a.rules")


@pytest.mark.parametrize(
    "text",
    [
        'q = "a"', "x = 1", 'prefix_rule(pattern = [f"a"])', 'prefix_rule(pattern = ["a"] + ["b"])', 'prefix_rule(pattern = ["a" if True else "b"])',
        '[prefix_rule(pattern = [word]) for word in ["a"]]', "def f():\n    pass", 'pattern = ["a"]\nprefix_rule(pattern = pattern)', 'prefix_rule(pattern = "a".split())',
    ],
)  # fmt: skip
def test_a_project_writes_its_rules_out(text: str) -> None:
    with pytest.raises(RulesInvalid, match="calls with literal arguments"):
        read_rules(text, "a.rules", Layer.PROJECT)


def test_a_project_says_all_that_narrows() -> None:
    text = """# why
prefix_rule(pattern = ["git", ["push", 'reset']], decision = "prompt", match = ["git push"], not_match = ["git log"])
network_rule(host = "h", protocol = "https", decision = "deny", justification = "no # way + more")
"""
    assert read_rules(text, "a.rules", Layer.PROJECT).prefixes[0].decision is Decision.ASK
