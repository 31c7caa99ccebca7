"""What holds for every rule set and every command, not only for the examples."""

import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signoff.domain.intent import Action, Aspect, FileDelete, FileRead, FileWrite, GitWrite, Host, Intent, Opaque
from signoff.domain.settings import ApprovalPolicy, SandboxMode
from signoff.domain.verdict import Decision, Layer, Source
from signoff.policy.decide import decide
from signoff.policy.execpolicy.rule import PrefixRule
from signoff.policy.intents import argv_intent
from signoff.policy.rules.written import PolicyRule
from signoff.policy.ruleset import Rules
from tests.policy.judged import HOME, ON_REQUEST, UNTRUSTED, WORKSPACE, call, context, judged, rules, script

HERE = Source(Layer.FLAG, "a.rules", 1)
WORDS = st.sampled_from(["git", "ls", "rm", "push", "status", "-rf", "-C", "x", "sudo", "cargo"])
COMMANDS = st.lists(WORDS, min_size=1, max_size=4).map(tuple)
PREFIXES = st.builds(
    lambda words, decision: PrefixRule(tuple((word,) for word in words), decision, HERE),
    st.lists(WORDS, min_size=1, max_size=3),
    st.sampled_from(Decision),
)
PATHS = st.sampled_from(["/ws/a", "/ws/.git/x", "/etc/x", "/home/u/.ssh/k", "/ws/.env", "/ws/b/c", "bad", "/ws"])
ASPECTS: st.SearchStrategy[Aspect] = st.one_of(
    PATHS.map(FileRead),
    PATHS.map(FileWrite),
    PATHS.map(FileDelete),
    st.sampled_from(
        [Host("a.example"), Host("b.example", 443), GitWrite("commit"), Opaque("x", "y"), Opaque("x", "y", False)]
    ),
)
POLICIES = st.builds(
    lambda decision, action, place: PolicyRule("r", decision, HERE, action=action, kind=place[0], places=place[1]),
    st.sampled_from(Decision),
    st.sampled_from([None, "read", "write", "fs.delete"]),
    st.sampled_from(
        [
            (None, ()),
            *(("paths", places) for places in [("a",), ("/etc",), ("~/.ssh", ".env")]),
            *(("hosts", places) for places in [("a.example",), ("*.example",)]),
        ]
    ),
)
CONTEXTS = st.builds(context, st.sampled_from(ApprovalPolicy), st.sampled_from(SandboxMode))


def process(words: tuple[str, ...]) -> Intent:
    return argv_intent(words, cwd=WORKSPACE, home=HOME)


@given(st.lists(PREFIXES, max_size=5), st.lists(PREFIXES, max_size=5), COMMANDS, CONTEXTS)
def test_the_strictest_of_all_rules_that_speak_wins_wherever_they_come_from(
    first, second, words, circumstances
) -> None:  # type: ignore[no-untyped-def]
    verdict = decide(process(words), Rules(tuple(first + second)), circumstances)
    assert verdict == decide(process(words), Rules(tuple(first)).extended(second), circumstances)
    assert verdict.decision == max(match.decision for match in verdict.matches)
    alone = [decide(process(words), Rules(tuple(part)), circumstances) for part in (first, second)]
    written = [match.decision for part in alone for match in part.matches if not match.heuristic]
    assert verdict.decision >= max(written, default=Decision.ALLOW)


@given(st.lists(PREFIXES, max_size=5), PREFIXES, COMMANDS, CONTEXTS)
def test_one_more_rule_that_restricts_never_loosens_a_command(known, more, words, circumstances) -> None:  # type: ignore[no-untyped-def]
    if more.decision == Decision.ALLOW:
        return
    before = decide(process(words), Rules(tuple(known)), circumstances)
    after = decide(process(words), Rules((*known, more)), circumstances)
    assert after.decision >= before.decision


@given(st.lists(POLICIES, max_size=4), POLICIES, st.lists(ASPECTS, max_size=4), CONTEXTS)
def test_one_more_rule_that_restricts_never_loosens_a_call(known, more, aspects, circumstances) -> None:  # type: ignore[no-untyped-def]
    if more.decision == Decision.ALLOW:
        return
    intent = call("tool", *aspects)
    before = decide(intent, Rules(written=tuple(known)), circumstances)
    after = decide(intent, Rules(written=(*known, more)), circumstances)
    assert after.decision >= before.decision


@given(
    st.lists(POLICIES, max_size=4),
    st.lists(ASPECTS, min_size=1, max_size=4),
    st.lists(ASPECTS, min_size=1, max_size=4),
    CONTEXTS,
)
def test_a_call_is_as_strict_as_its_strictest_aspect(known, first, second, circumstances) -> None:  # type: ignore[no-untyped-def]
    both, one, other = (
        decide(call("tool", *aspects, action=Action.WRITE), Rules(written=tuple(known)), circumstances)
        for aspects in (first + second, first, second)
    )
    assert both.decision == max(one.decision, other.decision)


FORBIDDEN = [("curl", "http://evil.example"), ("git", "push", "origin"), ("npm", "publish")]
QUOTINGS = st.sampled_from(
    [
        lambda word: word,
        shlex.quote,
        lambda word: f"'{word}'",
        lambda word: f'"{word}"',
        lambda word: f"{word[0]}''{word[1:]}",
        lambda word: f'{word[:1]}"{word[1:]}"',
        lambda word: "\\" + word,
        lambda word: f"$'{word}'",
    ]
)
BLANKS = st.sampled_from([" ", "  ", "\t", " \\\n "])
PROGRAMS = st.sampled_from(
    [
        "{}",
        "A=1 {}",
        "env {}",
        "env -i A=b {}",
        "sudo -u root {}",
        "nohup {}",
        "timeout 5 {}",
        "nice -n 5 {}",
        "setsid {}",
        "stdbuf -o0 {}",
        "time {}",
        "command {}",
        "exec {}",
        "xargs {}",
        "find . -exec {} \\;",
    ]
)
DEEPER = st.sampled_from(["bash -c {}", "sh -c {}", "bash -lc {}", "eval {}", "trap {} EXIT", "sudo bash -c {}"])
AROUND = st.sampled_from(
    [
        " {} ",
        "{};",
        "ls; {}",
        "ls && {}",
        "ls || {}",
        "ls\n{}",
        "true | {}",
        "{} &",
        "! {}",
        "({})",
        "{{ {}; }}",
        "if true; then {}; fi",
        "for i in 1; do {}; done",
        "while true; do {}; break; done",
        "f() {{ {}; }}; f",
        "echo $({})",
        "echo `{}`",
        'echo "$({})"',
        "cat <({})",
        "{} > out.txt",
        "{} 2>&1",
        "case x in x) {};; esac",
        "# comment\n{}",
    ]
)


@settings(max_examples=300)
@given(
    st.sampled_from(FORBIDDEN),
    st.lists(QUOTINGS, min_size=3, max_size=3),
    BLANKS,
    st.sampled_from(["", "/usr/bin/", "./"]),
    PROGRAMS,
    st.lists(DEEPER, max_size=2),
    AROUND,
)
def test_a_forbidden_command_stays_forbidden_however_it_is_written(  # type: ignore[no-untyped-def]
    words, quotings, blank, path, program, deeper, around
) -> None:
    known = rules("\n".join(f'prefix_rule(pattern={list(words)}, decision="forbidden")' for words in FORBIDDEN))
    spelled = (path + words[0], *words[1:])
    text = program.format(blank.join(quote(word) for quote, word in zip(quotings, spelled, strict=False)))
    for layer in deeper:
        text = layer.format(shlex.quote(text))
    text = around.format(text)
    assert decide(script(text), known, context(ON_REQUEST)).decision == Decision.DENY, text


@given(COMMANDS)
def test_what_is_proposed_settles_the_question_and_proposing_is_repeatable(words: tuple[str, ...]) -> None:
    verdict, needed = judged(process(words), rules(), context(UNTRUSTED))
    proposed = needed.proposed_execpolicy_amendment
    if proposed is None or verdict.decision == Decision.ALLOW:
        return
    after = rules().extended([PrefixRule(tuple((word,) for word in proposed), Decision.ALLOW, HERE)])
    again, _ = judged(process(words), after, context(UNTRUSTED))
    assert again.judgements[0].decision == Decision.ALLOW


@pytest.mark.parametrize("text", ["", "   ", "\n", "ls\0", "a" * 10_001])
def test_what_cannot_be_read_asks(text: str) -> None:
    assert decide(script(text), rules(), context(ON_REQUEST)).decision == Decision.ASK
