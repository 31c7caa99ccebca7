"""From verdict to requirement: the tables of the approvals protocol, its texts, and what is proposed to be remembered."""

import pytest

from signoff.domain.intent import Command, Intent
from signoff.domain.requirement import Forbidden, NeedsApproval, Requirement, Skip
from signoff.domain.settings import ApprovalPolicy, SandboxMode
from signoff.domain.verdict import Decision
from tests.clauses import requirement
from tests.policy.judged import (
    EXTERNAL,
    FULL_ACCESS,
    NEVER,
    ON_FAILURE,
    ON_REQUEST,
    READ_ONLY,
    UNTRUSTED,
    WORKSPACE_WRITE,
    call,
    command,
    context,
    judged,
    rules,
    script,
)

SKIP, ASK = Skip(), NeedsApproval()
DEFAULTS = [
    (NEVER, FULL_ACCESS, SKIP),
    (NEVER, READ_ONLY, SKIP),
    (ON_FAILURE, EXTERNAL, SKIP),
    (ON_FAILURE, WORKSPACE_WRITE, SKIP),
    (UNTRUSTED, FULL_ACCESS, ASK),
    (UNTRUSTED, READ_ONLY, ASK),
    (ON_REQUEST, FULL_ACCESS, SKIP),
    (ON_REQUEST, EXTERNAL, SKIP),
    (ON_REQUEST, READ_ONLY, ASK),
    (ON_REQUEST, WORKSPACE_WRITE, ASK),
]


@requirement("APR-031", "APR-032", "APR-033")
@pytest.mark.parametrize(("approval", "sandbox", "expected"), DEFAULTS)
def test_a_tool_about_which_nothing_speaks_follows_the_default_table(
    approval: ApprovalPolicy, sandbox: SandboxMode, expected: Requirement
) -> None:
    assert judged(call("mcp.unknown"), rules(), context(approval, sandbox))[1] == expected


# known to be harmless · dangerous · any other · any other that asks to run outside
HEURISTICS = [
    (NEVER, READ_ONLY, "allow", "forbidden", "allow", "forbidden"),
    (ON_FAILURE, READ_ONLY, "allow", "ask", "allow", "forbidden"),
    (ON_REQUEST, WORKSPACE_WRITE, "allow", "ask", "allow", "ask"),
    (UNTRUSTED, READ_ONLY, "allow", "ask", "ask", "forbidden"),
    (NEVER, FULL_ACCESS, "allow", "forbidden", "allow", "forbidden"),
    (ON_REQUEST, FULL_ACCESS, "allow", "ask", "allow", "allow"),
    (ON_REQUEST, EXTERNAL, "allow", "ask", "allow", "allow"),
    (UNTRUSTED, FULL_ACCESS, "allow", "ask", "ask", "forbidden"),
]
WORD = {Skip: "allow", NeedsApproval: "ask", Forbidden: "forbidden"}


@requirement("APR-034")
@pytest.mark.parametrize(("approval", "sandbox", "safe", "dangerous", "other", "escalated"), HEURISTICS)
def test_a_command_without_a_rule_follows_the_table_of_commands(
    approval: ApprovalPolicy, sandbox: SandboxMode, safe: str, dangerous: str, other: str, escalated: str
) -> None:
    intents = [command("ls -la"), command("rm -rf x"), command("cargo test"), command("cargo test", escalated=True)]
    answers = [WORD[type(judged(intent, rules(), context(approval, sandbox))[1])] for intent in intents]
    assert answers == [safe, dangerous, other, escalated]


def test_known_to_be_harmless_does_not_beat_a_request_to_escalate() -> None:
    assert isinstance(judged(command("ls", escalated=True), rules(), context(ON_REQUEST, READ_ONLY))[1], NeedsApproval)


@pytest.mark.parametrize(
    ("approval", "name"), [(UNTRUSTED, "UnlessTrusted"), (ON_FAILURE, "OnFailure"), (NEVER, "Never")]
)
def test_escalation_is_refused_where_nobody_may_be_asked_for_it_whatever_the_rules_say(
    approval: ApprovalPolicy, name: str
) -> None:
    allow = rules('prefix_rule(["cargo"])')
    assert judged(command("cargo test", escalated=True), allow, context(approval))[1] == Forbidden(
        f"approval policy is {name}; reject command — you should not ask for escalated permissions "
        f"if the approval policy is {name}"
    )


TEXTS = [
    ('prefix_rule(["a"], decision="forbidden")', "`a b` rejected: policy forbids commands starting with `a`"),
    ('prefix_rule(["a"], decision="forbidden", justification="use c")', "`a b` rejected: use c"),
    (
        'prefix_rule(["a"], decision="forbidden", justification="short")\nprefix_rule(["a", "b"], decision="forbidden")',
        "`a b` rejected: policy forbids commands starting with `a b`",
    ),
]


@requirement("APR-029", "APR-048")
@pytest.mark.parametrize(("text", "reason"), TEXTS)
def test_a_forbidden_command_says_why_by_its_longest_rule(text: str, reason: str) -> None:
    assert judged(command("a b"), rules(text), context())[1] == Forbidden(reason)


QUESTIONS = [
    ('prefix_rule(["a"], decision="prompt")', "`a b` requires approval by policy"),
    ('prefix_rule(["a"], decision="prompt", justification="look")', "`a b` requires approval: look"),
    (
        'prefix_rule(["a"], decision="prompt", justification="look")\nprefix_rule(["a", "b"])',
        "`a b` requires approval: look",
    ),
]


@requirement("APR-028", "APR-048")
@pytest.mark.parametrize(("text", "reason"), QUESTIONS)
def test_a_question_says_why_and_a_rule_that_asks_is_not_to_be_overruled(text: str, reason: str) -> None:
    assert judged(command("a b"), rules(text), context())[1] == NeedsApproval(reason, None)


def test_the_text_shows_the_process_that_would_be_started() -> None:
    found = judged(script("echo f"), rules('prefix_rule(["echo"], decision="forbidden")'), context())[1]
    assert found == Forbidden("`/bin/bash -lc 'echo f'` rejected: policy forbids commands starting with `echo`")


def test_a_prompt_is_forbidden_where_nobody_is_asked() -> None:
    found = judged(command("a"), rules('prefix_rule(["a"], decision="prompt")'), context(NEVER))[1]
    assert found == Forbidden("approval required by policy, but AskForApproval is set to Never")


def test_a_dangerous_command_is_blocked_where_nobody_is_asked() -> None:
    assert judged(command("rm -rf x"), rules(), context(NEVER))[1] == Forbidden(
        "`rm -rf x` rejected: blocked by policy"
    )


@requirement("APR-027")
def test_the_sandbox_is_left_only_when_a_rule_allows_every_segment() -> None:
    both = rules('prefix_rule(["a"])\nprefix_rule(["b"])')
    assert judged(script("a && b"), both, context())[1] == Skip(bypass_sandbox=True)
    assert judged(script("a && ls"), both, context())[1] == Skip(bypass_sandbox=False)
    assert judged(script("a && cargo"), both, context())[1] == Skip(bypass_sandbox=False)


@requirement("APR-030")
def test_only_skip_and_needs_approval_can_carry_a_proposal() -> None:
    assert judged(command("cargo test"), rules(), context())[1].proposed_execpolicy_amendment == ("cargo", "test")
    assert judged(command("cargo test"), rules(), context(UNTRUSTED))[1].proposed_execpolicy_amendment == (
        "cargo",
        "test",
    )
    assert judged(command("rm -rf x"), rules(), context(NEVER))[1].proposed_execpolicy_amendment is None


PROPOSALS: list[tuple[Intent, str, ApprovalPolicy, tuple[str, ...] | None]] = [
    (script("ls && rm -rf a"), "", ON_REQUEST, None),  # what destroys something is asked about every time
    (command("git push --force origin x"), "", ON_REQUEST, None),
    (command("cargo"), "", UNTRUSTED, None),  # it would cover every subcommand
    (command("python3"), "", UNTRUSTED, None),
    (command("git"), "", UNTRUSTED, None),
    (script("ls && cargo test"), 'prefix_rule(["ls"], decision="prompt")', UNTRUSTED, None),
    (command("cargo test"), 'prefix_rule(["cargo"])', ON_REQUEST, None),
    (command("cargo test", escalated=True, suggests=("cargo",)), "", ON_REQUEST, ("cargo", "test")),
    (command("make test", escalated=True, suggests=("make",)), "", ON_REQUEST, ("make",)),
    (command("rm -rf a", escalated=True, suggests=("rm", "-rf")), "", ON_REQUEST, None),
    (command("python3 x.py", escalated=True, suggests=("python3",)), "", ON_REQUEST, ("python3", "x.py")),
    (command("echo hi", escalated=True, suggests=("echo", "zz")), "", ON_REQUEST, ("echo", "hi")),
    (command("cargo test", suggests=("cargo",)), "", UNTRUSTED, ("cargo", "test")),
    (command("cat /home/u/.ssh/id_rsa"), "", UNTRUSTED, None),
    (script("cargo test > out.txt"), "", UNTRUSTED, None),
]


@pytest.mark.parametrize(("intent", "text", "approval", "expected"), PROPOSALS)
def test_nothing_is_proposed_that_is_banned_or_would_not_settle_the_command(
    intent: Intent, text: str, approval: ApprovalPolicy, expected: tuple[str, ...] | None
) -> None:
    assert judged(intent, rules(text), context(approval))[1].proposed_execpolicy_amendment == expected


def test_an_allow_rule_covers_the_ordinary_use_of_a_program() -> None:
    allow = rules('prefix_rule(["git"])')
    verdict, _ = judged(command("git push --force"), allow, context())
    assert verdict.decision == Decision.ASK
    named = rules('prefix_rule(["git", "push", "--force"])')
    assert judged(command("git push --force"), named, context())[0].decision == Decision.ALLOW


WRAPPED = [
    ('prefix_rule(["sudo"])', False),
    ('prefix_rule(["sudo", "apt"])', True),
    ('prefix_rule(["sudo"])\nprefix_rule(["apt"])', True),
    ('prefix_rule(["apt"])', False),
]


@pytest.mark.parametrize(("text", "granted"), WRAPPED)
def test_a_rule_for_a_wrapper_covers_what_it_starts_only_if_it_reaches_it(text: str, granted: bool) -> None:
    words = ("sudo", "apt", "update")
    outer = Command(words, "sudo apt update", inner=1)
    inner = Command(words[1:], "apt update", depth=1)
    intent = call("shell", outer, inner, argv=words)
    verdict, needed = judged(intent, rules(text), context(UNTRUSTED))
    assert (verdict.decision == Decision.ALLOW) == granted
    assert (needed == Skip(bypass_sandbox=True)) == granted


BEYOND = [
    ("cp a b", Skip(bypass_sandbox=True)),
    ("cp a /etc/cron.d/x", Skip(bypass_sandbox=False)),  # the rule speaks about cp, not about that place
    ("cp a /dev/null", Skip(bypass_sandbox=True)),
]


@pytest.mark.parametrize(("line", "expected"), BEYOND)
def test_a_rule_about_words_does_not_open_a_place_outside(line: str, expected: Skip) -> None:
    allowing = rules('prefix_rule(["cp"])')
    assert judged(command(line), allowing, context())[1] == expected
    escalated = judged(command(line, escalated=True), allowing, context())[1]
    assert isinstance(escalated, NeedsApproval) == (not expected.bypass_sandbox)
