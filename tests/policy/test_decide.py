"""Verdicts on files, hosts, the repository and unknown tools: the built-in rules, and what somebody wrote."""

import pytest

from signoff.domain.intent import Action, Aspect, Escalation, FileDelete, FileRead, FileWrite, GitWrite, Host, Opaque
from signoff.domain.settings import ApprovalPolicy, DefaultAction, Network, SandboxMode
from signoff.domain.verdict import Decision, Layer, Match, Source
from tests.clauses import requirement
from tests.policy.judged import (
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

ALLOW, ASK, DENY = Decision
FILES: list[tuple[Aspect, Decision, str]] = [
    (FileRead("/ws/src/a.py"), ALLOW, "path.read"),
    (FileRead("/ws"), ALLOW, "path.read"),
    (FileRead("/ws-evil/x"), DENY, "path.outside"),
    (FileRead("/etc/passwd"), DENY, "path.outside"),
    (FileRead("/home/u/.ssh/id_rsa"), DENY, "path.credentials"),
    (FileRead("/home/u/.aws/credentials"), DENY, "path.credentials"),
    (FileRead("/home/u/.NETRC"), DENY, "path.credentials"),
    (FileRead("/ws/.env"), DENY, "path.credentials"),
    (FileRead("/ws/.env.production"), DENY, "path.credentials"),
    (FileRead("/ws/.env.example"), ALLOW, "path.read"),
    (FileRead("/ws/certs/server.pem"), DENY, "path.credentials"),
    (FileRead("/proc/self/environ"), DENY, "path.credentials"),
    (FileRead("/ws/../etc/passwd"), DENY, "path.invalid"),
    (FileRead("src/a.py"), DENY, "path.invalid"),
    (FileRead("file:///etc/passwd"), DENY, "path.invalid"),
    (FileRead("/ws/a\0b"), DENY, "path.invalid"),
    (FileWrite("/ws/src/a.py"), ALLOW, "path.write"),
    (FileWrite("/ws-evil/x"), DENY, "path.outside"),
    (FileWrite("/ws/.git/hooks/pre-commit"), ASK, "path.protected"),
    (FileWrite("/ws/.GIT/hooks/pre-commit"), ASK, "path.protected"),
    (FileWrite("/ws/.g\u200cit/config"), ASK, "path.protected"),
    (FileWrite("/ws/sub/.git/config"), ASK, "path.protected"),
    (FileWrite("/ws/.claude/settings.json"), ASK, "path.protected"),
    (FileWrite("/ws/.mcp.json"), ASK, "path.protected"),
    (FileWrite("/ws/.vscode./tasks.json"), ASK, "path.protected"),
    (FileWrite("/ws/.bashrc"), ASK, "path.protected"),
    (FileWrite("/ws/.gitignore"), ALLOW, "path.write"),
    (FileWrite("/ws/.env"), ASK, "path.credentials-touched"),
    (FileDelete("/ws/a.py"), ASK, "path.delete"),
    (FileDelete("/ws"), DENY, "path.root"),
    (FileDelete("/"), DENY, "path.root"),
    (FileDelete("/etc/x"), DENY, "path.outside"),
    (FileDelete("/ws/.git"), ASK, "path.protected"),
    (GitWrite("commit"), ALLOW, "git.write"),
    (Host("example.com", 443), DENY, "network.off"),
    (Opaque("x", "why"), ASK, "opaque"),
]


@requirement("CLU-014", "CLU-017", "CLU-019", "CLU-020", "CLU-021")
@pytest.mark.parametrize(("aspect", "decision", "rule"), FILES)
def test_what_a_tool_touches_is_judged_by_a_built_in_rule_that_can_be_cited(
    aspect: Aspect, decision: Decision, rule: str
) -> None:
    verdict, _ = judged(call("write_file", aspect), rules(), context())
    assert (verdict.decision, [match.rule_id for match in verdict.matches]) == (decision, [f"builtin.{rule}"])


MODES: list[tuple[Aspect, ApprovalPolicy, SandboxMode, Decision]] = [
    (FileWrite("/ws/a"), UNTRUSTED, WORKSPACE_WRITE, ASK),
    (FileWrite("/ws/a"), NEVER, WORKSPACE_WRITE, ALLOW),
    (FileWrite("/ws/a"), ON_REQUEST, READ_ONLY, DENY),
    (FileWrite("/etc/a"), ON_REQUEST, FULL_ACCESS, ALLOW),
    (FileRead("/etc/a"), ON_REQUEST, FULL_ACCESS, ALLOW),
    (FileRead("/home/u/.ssh/x"), ON_REQUEST, FULL_ACCESS, DENY),
    (FileRead("/ws/a"), UNTRUSTED, READ_ONLY, ALLOW),
    (GitWrite("push"), UNTRUSTED, WORKSPACE_WRITE, ASK),
    (Host("example.com"), ON_REQUEST, FULL_ACCESS, ALLOW),
]


@pytest.mark.parametrize(("aspect", "approval", "sandbox", "decision"), MODES)
def test_the_built_in_rules_follow_approval_policy_and_sandbox(
    aspect: Aspect, approval: ApprovalPolicy, sandbox: SandboxMode, decision: Decision
) -> None:
    assert judged(call("write_file", aspect), rules(), context(approval, sandbox))[0].decision == decision


def test_outside_is_asked_about_only_on_request_and_only_for_patches_and_escalations() -> None:
    outside = FileWrite("/etc/x")
    escalated = call("write_file", outside, escalation=Escalation.REQUIRE_ESCALATED)
    assert judged(call("apply_patch", outside), rules(), context())[0].decision == ASK
    assert judged(escalated, rules(), context())[0].decision == ASK
    assert judged(call("apply_patch", outside), rules(), context(ON_FAILURE))[0].decision == DENY
    assert judged(call("write_file", outside), rules(), context())[0].decision == DENY


def test_more_roots_can_be_read_and_written_and_a_pointed_to_repository_is_protected() -> None:
    wider = context(writable_roots=("/data",), readable_roots=("/usr/include",), protected_paths=("/data/main.git",))
    assert judged(call("t", FileWrite("/data/a")), rules(), wider)[0].decision == ALLOW
    assert judged(call("t", FileRead("/usr/include/a.h")), rules(), wider)[0].decision == ALLOW
    assert judged(call("t", FileWrite("/usr/include/a.h")), rules(), wider)[0].decision == DENY
    assert judged(call("t", FileWrite("/data/main.git/config")), rules(), wider)[0].decision == ASK


@requirement("CLU-021")
def test_more_than_twenty_files_in_one_call_are_asked_about() -> None:
    twenty = [FileWrite(f"/ws/{number}") for number in range(20)]
    assert judged(call("apply_patch", *twenty), rules(), context())[0].decision == ALLOW
    verdict, _ = judged(call("apply_patch", *twenty, FileWrite("/ws/20")), rules(), context())
    assert (verdict.decision, verdict.winner and verdict.winner.rule_id) == (ASK, "builtin.bulk")
    allowed = rules(policy='[[rule]]\nid = "codemod"\ndecision = "allow"\ntool = "apply_patch"')
    assert judged(call("apply_patch", *twenty, FileWrite("/ws/20")), allowed, context())[0].decision == ALLOW


LIMITED = context(network=Network.LIMITED)


@requirement("CLU-019")
def test_the_network_is_closed_but_for_the_hosts_a_rule_names() -> None:
    known = rules(
        'network_rule("pypi.org", "https", "allow")\nnetwork_rule("bad.example", "https", "deny")',
        '[[rule]]\nid = "docs"\ndecision = "allow"\nhosts = ["*.python.org", "10.0.0.0/8"]',
    )
    expected = {
        Host("pypi.org", 443): ALLOW,
        Host("PyPI.org.", 443): ALLOW,
        Host("pypi.org", 80): DENY,
        Host("docs.python.org"): ALLOW,
        Host("python.org"): DENY,
        Host("evilpython.org"): DENY,
        Host("10.1.2.3"): ALLOW,
        Host("0x0a.1"): ALLOW,
        Host("11.0.0.1"): DENY,
        Host("bad.example"): DENY,
    }
    found = {host: judged(call("fetch", host, action=Action.NET), known, context())[0].decision for host in expected}
    assert found == expected
    assert judged(call("fetch", Host("other.example")), known, LIMITED)[0].decision == ASK
    assert judged(call("fetch", Host("other.example")), known, context(network=Network.ON))[0].decision == ALLOW
    assert judged(call("fetch", Host("bad.example", 443)), known, context(network=Network.ON))[0].decision == DENY


def test_a_process_is_held_by_the_sandbox_and_asked_about_only_where_a_second_look_is_due() -> None:
    circumstances = context(ON_REQUEST)
    for text, decision in {
        "cp a /etc/x": ALLOW,
        "curl https://example.com": ALLOW,
        "cat /home/u/.ssh/id_rsa": ASK,
        "cp a .git/hooks/post-checkout": ASK,
        "tee -a ~/.bashrc": ASK,
    }.items():
        assert judged(script(text), rules(), circumstances)[0].decision == decision, text


WRITTEN = """
[[rule]]
id = "no-migrations"
decision = "deny"
action = "write"
paths = ["db/migrations"]
reason = "ask the database people"

[[rule]]
id = "open-env"
decision = "allow"
action = "read"
paths = [".env"]

[[rule]]
id = "git-tools"
decision = "allow"
tool = "git.*"

[[rule]]
id = "no-deletes"
decision = "deny"
action = "fs.delete"

[[rule]]
id = "caf\u00e9"
decision = "deny"
paths = ["caf\u00e9.txt"]
"""
SPOKEN: list[tuple[str, Aspect | None, Decision, str]] = [
    ("write_file", FileWrite("/ws/db/migrations/1.sql"), DENY, "no-migrations"),
    ("write_file", FileWrite("/ws/DB/Migrations/1.sql"), DENY, "no-migrations"),
    ("read_file", FileRead("/ws/db/migrations/1.sql"), ALLOW, "builtin.path.read"),
    ("read_file", FileRead("/ws/.env"), ALLOW, "open-env"),
    ("read_file", FileRead("/ws/.ENV"), DENY, "builtin.path.credentials"),
    ("write_file", FileWrite("/ws/.env"), ASK, "builtin.path.credentials-touched"),
    ("read_file", FileRead("/ws/cafe\u0301.txt"), DENY, "caf\u00e9"),
    ("delete_file", FileDelete("/ws/a"), DENY, "no-deletes"),
    ("git.status", None, ALLOW, "git-tools"),
    ("gitfoo", None, ASK, "default.ask"),
    ("git.x", FileRead("/home/u/.ssh/id_rsa"), DENY, "builtin.path.credentials"),
    ("display", None, ALLOW, "builtin.tool.harmless"),
]


@requirement("CLU-014", "CLU-015")
@pytest.mark.parametrize(("tool", "aspect", "decision", "winner"), SPOKEN)
def test_a_written_rule_restricts_always_and_opens_only_what_it_names(
    tool: str, aspect: Aspect | None, decision: Decision, winner: str
) -> None:
    intent = call(tool, *([] if aspect is None else [aspect]))
    verdict, _ = judged(intent, rules(policy=WRITTEN), context())
    assert (verdict.decision, verdict.winner and verdict.winner.rule_id) == (decision, winner)
    assert judged(intent, rules(policy=WRITTEN), context())[0] == verdict  # the same again, whenever one asks


def test_removing_a_directory_removes_what_a_rule_protects_below_it() -> None:
    known = rules(policy='[[rule]]\nid = "keep"\ndecision = "deny"\npaths = ["db/**/keep.sql"]')
    assert judged(call("t", FileDelete("/ws/db")), known, context())[0].decision == DENY
    assert judged(call("t", FileDelete("/ws/docs")), known, context())[0].decision == ASK


def test_a_rule_for_a_while_ends() -> None:
    known = rules(policy='[[rule]]\ndecision = "allow"\npaths = ["/etc"]\nexpires = 1970-01-01T00:00:10Z')
    assert judged(call("t", FileRead("/etc/hosts")), known, context(now_ms=9_999))[0].decision == ALLOW
    assert judged(call("t", FileRead("/etc/hosts")), known, context(now_ms=10_000))[0].decision == DENY


def test_a_verdict_carries_what_the_decision_on_the_wire_carries() -> None:
    known = rules(
        policy='[[rule]]\nid = "allow.fs.read"\ndecision = "allow"\ntool = "fs.read"\nreason = "fine"\n'
        'expires_in_ms = 60000\nconstraints = { path = "/ws" }'
    )
    verdict, _ = judged(call("fs.read", FileRead("/ws/a"), action=Action.READ), known, context())
    assert verdict.winner == Match(
        "allow.fs.read",
        ALLOW,
        Source(Layer.FLAG, "policy.toml", 1),
        "fine",
        constraints={"path": "/ws"},
        expires_in_ms=60_000,
    )


@pytest.mark.parametrize(("said", "decision"), [("allow", ALLOW), ("ask", ASK), ("deny", DENY)])
def test_the_default_is_what_the_settings_or_the_policy_say(said: str, decision: Decision) -> None:
    by_policy = rules(policy=f'default_action = "{said}"')
    assert judged(call("mcp.x"), by_policy, context())[0].decision == decision
    by_setting = context(default_action=DefaultAction(said))
    assert judged(call("mcp.x"), rules(), by_setting)[0].decision == decision


@requirement("CLU-018")
def test_commands_can_be_allowed_and_denied_by_their_words() -> None:
    known = rules('prefix_rule(["npm", "test"])\nprefix_rule([["powershell", "pwsh"]], decision="forbidden")')
    assert judged(command("npm test"), known, context(UNTRUSTED))[0].decision == ALLOW
    assert judged(command("pwsh -c Invoke-WebRequest"), known, context())[0].decision == DENY
    assert judged(command("rm -rf /"), known, context(NEVER))[0].decision == DENY


def test_an_allowed_tool_may_run_its_commands_but_not_dangerous_ones() -> None:
    known = rules(policy='[[rule]]\ndecision = "allow"\ntool = "shell"')
    assert judged(command("cargo test"), known, context(UNTRUSTED))[0].decision == ALLOW
    assert judged(command("rm -rf x"), known, context(UNTRUSTED))[0].decision == ASK
    assert judged(command("cargo test"), known, context(UNTRUSTED))[1].proposed_execpolicy_amendment is None
    denied = rules('prefix_rule(["cargo"])', '[[rule]]\ndecision = "deny"\ntool = "shell"')
    assert judged(command("cargo test"), denied, context())[0].decision == DENY
