"""What goes wrong between two peers. All of it is a PeerError, so a command that meets it ends with the exit for upstream."""

from msgspec import UNSET

from signoff.domain.errors import PeerError
from signoff.wire import jsonrpc


class RequestFailed(PeerError):
    """An error answer: raised by a handler it is sent, received it is raised by `Peer.request`."""

    def __init__(self, rpc_code: int, message: str, data: object = UNSET) -> None:
        super().__init__(message)
        self.rpc_code = rpc_code
        self.data = data


class ConnectionLost(PeerError):
    """The connection ended before the answer came, or there is none."""


class RequestTimedOut(PeerError):
    """No answer within the limit; the other side was told that nobody waits any more."""


def invalid_params(message: str) -> RequestFailed:
    return RequestFailed(jsonrpc.INVALID_PARAMS, message)


def method_not_found(method: str) -> RequestFailed:
    return RequestFailed(jsonrpc.METHOD_NOT_FOUND, f"Method not found: {method}", {"method": method})


def not_found(message: str) -> RequestFailed:
    return RequestFailed(jsonrpc.NOT_FOUND, message)
