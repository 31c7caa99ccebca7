"""Judge what is not a command: files, hosts, the repository, a call nobody knows anything about.

A tool acts with our own hands, so the boundary is judged here. A process runs inside the sandbox, which holds the
boundary; of its files only those that need a second look are asked about. Where no sandbox holds the process (another
agent's, or a machine without one), what it would change outside the boundary is asked about here.
"""

from signoff.domain.context import Context
from signoff.domain.intent import Aspect, Escalation, FileDelete, FileRead, FileWrite, GitWrite, Host, Intent, Opaque
from signoff.domain.settings import ApprovalPolicy, Network
from signoff.policy.rules.builtin import HARMLESS_TOOLS
from signoff.policy.rules.path import inside, is_absolute
from signoff.policy.rules.sensitive import is_credential, is_protected

PATCH_TOOL = "apply_patch"

_UNTRUSTED, _ESCALATED = ApprovalPolicy.UNTRUSTED, Escalation.REQUIRE_ESCALATED  # looked up for every command


def builtin_for(aspect: Aspect | None, intent: Intent, context: Context, default_action: str) -> str:
    """The id of the built-in rule that speaks about this aspect."""
    match aspect:
        case FileRead(path=path):
            return _process_read(path, context) if intent.argv else _read(path, intent, context)
        case FileWrite(path=path):
            return _process_change(path, context) if intent.argv else _write(path, intent, context)
        case FileDelete(path=path):
            return _process_change(path, context) if intent.argv else _delete(path, intent, context)
        case Host():
            return _host(intent, context)
        case GitWrite():
            return "builtin.git.write-untrusted" if _untrusted(context) else "builtin.git.write"
        case Opaque(asks=True):
            return "builtin.opaque"
        case Opaque():
            return other_command(intent, context)
        case _:
            return "builtin.tool.harmless" if intent.tool in HARMLESS_TOOLS else f"default.{default_action}"


def other_command(intent: Intent, context: Context) -> str:
    """A command that no rule and no table knows."""
    if context.approval is _UNTRUSTED:
        return "builtin.command.untrusted"
    if intent.escalation is _ESCALATED and context.restricted:
        return "builtin.command.escalated"
    return "builtin.command.unguarded" if context.unguarded else "builtin.command.sandboxed"


def escalates(intent: Intent, context: Context) -> bool:
    return intent.escalation is _ESCALATED and context.restricted


def writable(path: str, context: Context) -> bool:
    return not context.restricted or any(inside(path, root) for root in context.roots)


def _untrusted(context: Context) -> bool:
    return context.approval is _UNTRUSTED


def _read(path: str, intent: Intent, context: Context) -> str:
    if not is_absolute(path):
        return "builtin.path.invalid"
    if is_credential(path, context.home):
        return "builtin.path.credentials"
    roots = (context.workspace, *context.writable_roots, *context.readable_roots)
    if not context.restricted or any(inside(path, root) for root in roots):
        return "builtin.path.read"
    return _outside(intent, context)


def _write(path: str, intent: Intent, context: Context) -> str:
    if not is_absolute(path):
        return "builtin.path.invalid"
    if not writable(path, context):
        return _outside(intent, context)
    if is_protected(path, context.protected_paths):
        return "builtin.path.protected"
    if is_credential(path, context.home):
        return "builtin.path.credentials-touched"
    return "builtin.path.write-untrusted" if _untrusted(context) else "builtin.path.write"


def _delete(path: str, intent: Intent, context: Context) -> str:
    if is_absolute(path) and any(inside(root, path) for root in (context.workspace, *context.roots)):
        return "builtin.path.root"
    found = _write(path, intent, context)
    return "builtin.path.delete" if found in ("builtin.path.write", "builtin.path.write-untrusted") else found


def _outside(intent: Intent, context: Context) -> str:
    may_ask = intent.tool == PATCH_TOOL or intent.escalation is _ESCALATED
    if context.approval == ApprovalPolicy.ON_REQUEST and may_ask:
        return "builtin.path.outside-asked"
    return "builtin.path.outside"


def _process_read(path: str, context: Context) -> str:
    if is_credential(path, context.home):
        return "builtin.path.credentials-touched"
    return "builtin.path.unguarded-read" if context.unguarded else "builtin.path.sandboxed"


def _process_change(path: str, context: Context) -> str:
    if is_protected(path, context.protected_paths):
        return "builtin.path.protected"
    if context.unguarded and not writable(path, context):
        return "builtin.path.unguarded"
    if path.startswith("/dev/"):
        return "builtin.path.sandboxed"  # the reader of the script asks about devices that matter
    return _process_read(path, context)


def _host(intent: Intent, context: Context) -> str:
    if intent.argv and not context.unguarded:
        return "builtin.network.sandboxed"
    if context.network == Network.ON or not context.restricted:
        return "builtin.network.on"
    escalated = intent.escalation is _ESCALATED and context.approval == ApprovalPolicy.ON_REQUEST
    return "builtin.network.unlisted" if context.network == Network.LIMITED or escalated else "builtin.network.off"
