"""What a call would touch, listed for the person: everything, each thing once."""

from signoff.approvals.request import Effects, effects
from signoff.domain.intent import (
    Action,
    Command,
    FileDelete,
    FileRead,
    FileWrite,
    GitWrite,
    Host,
    Intent,
    Opaque,
)


def test_every_aspect_but_the_command_itself_is_listed_once() -> None:
    intent = Intent(
        tool="run_terminal_cmd",
        action=Action.EXEC,
        aspects=(
            Command(words=("curl", "x"), text="curl x"),
            FileRead("/w/a"),
            FileRead("/w/a"),
            FileWrite("/w/b"),
            FileDelete("/w/c"),
            GitWrite("push"),
            Host("example.org", 443),
            Host("example.net"),
            Opaque("$(x)", "a substitution"),
        ),
    )
    assert effects(intent) == Effects(
        reads=("/w/a",),
        writes=("/w/b",),
        deletes=("/w/c",),
        git=("push",),
        hosts=("example.org:443", "example.net"),
        unreadable=("$(x) (a substitution)",),
    )
