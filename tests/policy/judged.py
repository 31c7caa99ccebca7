"""Short ways to say what is judged, for the tests of this room."""

from signoff.domain.context import Context
from signoff.domain.intent import Action, Aspect, Escalation, Intent
from signoff.domain.requirement import Requirement
from signoff.domain.settings import ApprovalPolicy, SandboxMode
from signoff.domain.verdict import Verdict
from signoff.policy.decide import decide
from signoff.policy.execpolicy.language import read_rules
from signoff.policy.intents import argv_intent, script_intent
from signoff.policy.requirement import requirement
from signoff.policy.rules.written import read_policy
from signoff.policy.ruleset import Rules

UNTRUSTED, ON_FAILURE, ON_REQUEST, NEVER = ApprovalPolicy
READ_ONLY, WORKSPACE_WRITE, EXTERNAL, FULL_ACCESS = SandboxMode
WORKSPACE, HOME = "/ws", "/home/u"


def context(approval: ApprovalPolicy = ON_REQUEST, sandbox: SandboxMode = WORKSPACE_WRITE, **facts: object) -> Context:
    return Context(workspace=WORKSPACE, home=HOME, approval=approval, sandbox=sandbox, **facts)  # type: ignore[arg-type]


def rules(text: str = "", policy: str = "") -> Rules:
    return Rules.of([read_rules(text, "a.rules"), read_policy(policy, "policy.toml")])


def call(tool: str, *aspects: Aspect, action: Action = Action.WRITE, **facts: object) -> Intent:
    return Intent(tool, action, aspects, **facts)  # type: ignore[arg-type]


def command(line: str, *, escalated: bool = False, suggests: tuple[str, ...] | None = None) -> Intent:
    escalation = Escalation.REQUIRE_ESCALATED if escalated else Escalation.USE_DEFAULT
    return argv_intent(tuple(line.split()), cwd=WORKSPACE, home=HOME, escalation=escalation, prefix_rule=suggests)


def script(text: str) -> Intent:
    return script_intent(text, cwd=WORKSPACE, home=HOME)


def judged(intent: Intent, known: Rules, circumstances: Context) -> tuple[Verdict, Requirement]:
    verdict = decide(intent, known, circumstances)
    return verdict, requirement(intent, verdict, circumstances, known)
