"""The child's side of the control protocol, for agent authors: say what a tool will do, wait, obey.

    from signoff.codecli import Client

    client = Client()
    with client.request("shell", "exec", {"command": "make test"}) as call:
        if call.allowed:
            call.succeed({"exit_code": run_the_tests()})

A denied, expired, timed-out or aborted call reports its own failed result; nothing else has to be done.
"""

from signoff.codecli.client import Call, Client
from signoff.domain.errors import Aborted

__all__ = ["Aborted", "Call", "Client"]
