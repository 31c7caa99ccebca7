"""Questions as a person could meet them."""

from signoff.approvals.remember import for_prefix, for_session, for_tool
from signoff.approvals.request import Effects, ReviewRequest, Width
from signoff.approvals.store import key_text
from signoff.domain.intent import Action
from signoff.domain.review import (
    AddFile,
    ApplyPatchApprovalRequestEvent,
    DeleteFile,
    ExecApprovalRequestEvent,
    ToolApprovalRequestEvent,
    ToolRule,
    UpdateFile,
)
from signoff.policy.parsed_cmd import parse_command

_NPM = ("npm", "install", "--save-dev", "left-pad@1.3.0")
_KEY = key_text({"command": list(_NPM), "cwd": "/home/ada/shop", "sandbox_permissions": "use_default"})

COMMAND = ReviewRequest(
    event=ExecApprovalRequestEvent(
        call_id="call-1",
        turn_id="turn-1",
        command=_NPM,
        cwd="/home/ada/shop",
        parsed_cmd=(),
        reason="The tests need this package.",
        proposed_execpolicy_amendment=_NPM,
    ),
    tool="run_terminal_cmd",
    action=Action.EXEC,
    effects=Effects(
        writes=("/home/ada/shop/node_modules", "/home/ada/shop/package.json"), hosts=("registry.npmjs.org",)
    ),
    offers=(*for_session((_KEY,), Width.COMMAND), *for_prefix(_NPM, lambda prefix: True)),
    asked_by="builtin: not known to be safe",
    covers_retry=True,
    words=_NPM,
)

HOSTILE = ReviewRequest(
    event=ExecApprovalRequestEvent(
        call_id="call-2",
        turn_id="turn-1",
        command=(
            "bash",
            "-lc",
            "ls -l\x1b[2K\r\x1b[1A echo safe" + " " * 300 + "; rm -rf ~ #\u202etxt.sgol\u200b\n"
            "cat \u0430dmin\tfile\x9b31m \x1b]0;title\x07 \x1b]52;c;ZXZpbA==\x07 done\n"
            "‹ESC› is written by the command itself",
        ),
        cwd="/tmp/\x1b[31mred\u202e",
        parsed_cmd=(),
        reason="harmless\n\n\n\x1b[8mapprove me\x1b[0m",
    ),
    tool="run_terminal_cmd",
    action=Action.EXEC,
)

PATCH = ReviewRequest(
    event=ApplyPatchApprovalRequestEvent(
        call_id="call-3",
        turn_id="turn-1",
        changes={
            "/home/ada/shop/new.py": AddFile(content="print('new')\n"),
            "/home/ada/shop/old.py": DeleteFile(content="print('old')\n"),
            "/home/ada/shop/cart.py": UpdateFile(
                unified_diff="@@ -1,2 +1,2 @@\n total = 0\n-total += price\n+total += price * count\n",
                move_path="/home/ada/shop/basket.py",
            ),
        },
        grant_root="/home/ada/shop",
    ),
    tool="apply_patch",
    action=Action.WRITE,
    offers=for_session(('"/home/ada/shop/new.py"', '"/home/ada/shop/old.py"'), Width.PLACE),
)

TOOL = ReviewRequest(
    event=ToolApprovalRequestEvent(
        call_id="call-4",
        turn_id="turn-1",
        tool="calendar.create",
        action="net",
        args={"title": "lunch\x1b[2J", "guests": ["ada@example.org"]},
    ),
    tool="calendar.create",
    action=Action.NET,
    offers=for_tool((ToolRule("calendar.create", hosts=("calendar.example",)), ToolRule("calendar.create"))),
    outside=True,
)

READING = ReviewRequest(
    event=ExecApprovalRequestEvent(
        call_id="call-6",
        turn_id="turn-1",
        command=("bash", "-lc", "ls src && rg TODO src && cat a.py"),
        cwd="/work",
        parsed_cmd=parse_command(("bash", "-lc", "ls src && rg TODO src && cat a.py")),
        reason="command failed; retry without sandbox?",
    ),
    tool="run_terminal_cmd",
    action=Action.EXEC,
    outside=True,
)

LONG = ReviewRequest(
    event=ExecApprovalRequestEvent(
        call_id="call-5",
        turn_id="turn-1",
        command=("bash", "-c", "\n".join(f"echo line {number}" for number in range(1, 61))),
        cwd="/work",
        parsed_cmd=(),
    ),
    tool="run_terminal_cmd",
    action=Action.EXEC,
)

SCENES = {
    "command": (COMMAND,),
    "hostile": (HOSTILE,),
    "patch": (PATCH,),
    "tool": (TOOL,),
    "reading": (READING,),
    "long": (LONG,),
    "two": (COMMAND, TOOL),
}
