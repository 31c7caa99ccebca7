"""The network `limited`: each zygote's private loopback leads to a proxy of ours outside, and nowhere else."""

import socket
from collections.abc import Callable
from contextlib import AbstractContextManager

from signoff.sandbox.proxy import Clear, Connection, Proxy
from signoff.sandbox.session import Attach


def through_proxy(clear: Clear, record: Callable[[Connection], None]) -> Attach:
    """For Session(attach=…): `clear` is asked before each connection, every one is recorded."""

    def attach(listener: int, refused: Callable[[str], None]) -> AbstractContextManager[object]:
        def note(connection: Connection) -> None:
            if connection.refused is not None and connection.host:
                refused(f"{connection.host}:{connection.port}")
            record(connection)

        return Proxy(clear, note, listener=socket.socket(fileno=listener))

    return attach
