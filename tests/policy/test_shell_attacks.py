"""The reader from the outside: attacks by class, what agents write all day, and forbidden commands in every disguise."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signoff.domain.intent import Command, Opaque
from signoff.domain.requirement import Skip
from signoff.policy.shell import Reading
from tests.policy.granting import granted, read
from tests.policy.judged import READ_ONLY, UNTRUSTED, context, judged, rules, script
from tests.policy.shell_attacks import ALLOWED, ATTACKS, UNSEEN
from tests.policy.shell_benign import BENIGN


@pytest.mark.parametrize("kind", ATTACKS)
def test_no_attack_is_granted_behind_an_allowed_program(kind: str) -> None:
    assert [script for script in ATTACKS[kind] if granted(read(script), ALLOWED)] == []


@pytest.mark.parametrize("kind", ATTACKS)
def test_no_attack_is_known_safe(kind: str) -> None:
    assert [script for script in ATTACKS[kind] if granted(read(script))] == []


@pytest.mark.parametrize("text", ["", "\n".join(f"prefix_rule(pattern={json.dumps(prefix)})" for prefix in ALLOWED)])
def test_the_whole_policy_lets_no_attack_run_unasked(text: str) -> None:
    known, circumstances = rules(text), context(UNTRUSTED, READ_ONLY)
    scripts = [one for kind in ATTACKS.values() for one in kind]
    assert len(scripts) > 790
    assert [text for text in scripts if isinstance(judged(script(text), known, circumstances)[1], Skip)] == []


def test_the_whole_policy_lets_what_only_reads_run_unasked() -> None:
    known, circumstances = rules(), context(UNTRUSTED, READ_ONLY)
    assert [text for text in BENIGN if not isinstance(judged(script(text), known, circumstances)[1], Skip)] == []


@pytest.mark.parametrize("kind", ATTACKS)
def test_the_program_an_attack_hides_is_found(kind: str) -> None:
    hidden = [script for script in ATTACKS[kind] if runs_the_program(script) and script not in UNSEEN]
    assert [script for script in hidden if not found(read(script), "P")] == []


@pytest.mark.parametrize("script", BENIGN)
def test_what_only_reads_is_granted(script: str) -> None:
    assert granted(read(script))


@pytest.mark.parametrize(
    "script",
    ["cd sub && git status", "cd sub; git diff", "env", "nohup ls", "bash -c 'ls' x y", "git branch x", "git branch --abbrev x", "tar cf x y", "cat /dev/tty", "cat .env-prod"],
)  # fmt: skip
def test_without_a_rule_these_are_not_safe(script: str) -> None:
    assert not granted(read(script))


def runs_the_program(script: str) -> bool:
    return "P" in script.replace("PYTHONPATH", "").replace("RIPGREP", "").replace("PATH", "").replace(
        "PAGER", ""
    ).replace("PRELOAD", "").replace("TMPDIR", "")


def found(reading: Reading, program: str) -> bool:
    """Named as a command, or possibly meant by a word only the shell knows, or put before a person."""
    return any(
        (isinstance(aspect, Opaque) and aspect.asks)
        or (isinstance(aspect, Command) and (aspect.words[0] or program).rpartition("/")[2] == program)
        for aspect in reading.aspects
    )


QUOTINGS = [
    "{0}",
    "'{0}'",
    '"{0}"',
    "\\{0}",
    "{1}''{2}",
    '{1}""{2}',
    "{1}\\{2}",
    "{1}'{2}'",
    "$'{0}'",
    "/usr/bin/{0}",
    "{1}\\\n{2}",
    "./{0}",
]
PREFIXES = [
    "env {}", "env A=1 {}", "env -i {}", "sudo {}", "sudo -n {}", "sudo -u me {}", "nohup {}", "timeout 5 {}", "timeout -k 1 5 {}", "nice -n 3 {}", "setsid {}", "stdbuf -oL {}", "command {}", "exec {}", "xargs {}", "xargs -n1 {}",
    "find . -exec {} \\;", "watch {}", "doas {}", "busybox {}", "A=1 {}", "time {}",
]  # fmt: skip
CONSTRUCTS = [
    "{}", " {}", "{} ", "\n{}", "{};", "{} &", "! {}", "( {} )", "{{ {}; }}", "true && {}", "false || {}", "true; {}", "true | {}", "true & {}", "true\n{}", "if true; then {}; fi", "if {}; then :; fi", "while {}; do :; done", "for i in 1; do {}; done",
    "case x in x) {};; esac", "f() {{ {}; }}", "echo $({})", 'echo "$({})"', "x=$({})", "cat <({})", "{} > f", "{} 2>&1", ">f {}", "{} < f", "{} # c", "coproc {}", "[[ -n $({}) ]]", "echo ${{x:-$({})}}", "cat <<E\n$({})\nE\n",
]  # fmt: skip


@settings(max_examples=400)
@given(
    st.sampled_from(QUOTINGS),
    st.lists(st.sampled_from(PREFIXES), max_size=3),
    st.lists(st.sampled_from(CONSTRUCTS), max_size=4),
)
def test_a_forbidden_command_is_found_in_every_disguise(
    quoting: str, prefixes: list[str], constructs: list[str]
) -> None:
    text = quoting.format("wipe", "wi", "pe") + " disk"
    for disguise in (*prefixes, *constructs):
        text = disguise.format(text)
    reading = read(text)
    assert found(reading, "wipe")
    assert not granted(reading, ALLOWED)


@settings(max_examples=300)
@given(st.text(alphabet=st.sampled_from(list(" \t\n;|&<>(){}[]$`'\"\\#*?~!=-abP/.,:@%+^0é\r\0\u2028")), max_size=60))
def test_any_text_is_read_without_an_exception(script: str) -> None:
    assert read(script).aspects
