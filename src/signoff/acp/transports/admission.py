"""Who may open a WebSocket: the path, the host that was called, the page that calls, the token. Pure.

A page in a browser can reach a port of this machine. It cannot hide its Origin, nor the name it called the port by, so
an Origin nobody listed and a Host that is not ours are turned away, with or without a token.
"""

import hmac
import ipaddress
from collections.abc import Mapping, Sequence

import msgspec

from signoff.domain.errors import UsageError

PATH = "/acp"


class Refusal(msgspec.Struct, frozen=True):
    status: int
    message: str


class Admission(msgspec.Struct, frozen=True):
    host: str = "127.0.0.1"  # where we listen
    token: str | None = None
    origins: tuple[str, ...] = ()  # pages that may connect
    hosts: tuple[str, ...] = ()  # more names this server is called by


def loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_exposure(admission: Admission) -> None:
    """Past this machine only with a token: whoever connects can have commands run."""
    if not loopback(admission.host) and not admission.token:
        raise UsageError(
            f"{admission.host} can be reached from other machines, and there is no token",
            hint="give a token, or listen on 127.0.0.1",
        )


def judge(admission: Admission, path: str, headers: Mapping[str, Sequence[str]]) -> Refusal | None:
    """None: come in. Header names are in lower case, with every value that was sent."""
    if path.partition("?")[0] != PATH:
        return Refusal(404, f"nothing here; the endpoint is {PATH}")
    called = headers.get("host", ())
    if len(called) != 1 or not _is_ours(admission, _name_of(called[0])):
        return Refusal(403, "this server does not answer to that Host; use the address it listens on")
    if any(origin not in admission.origins for origin in headers.get("origin", ())):
        return Refusal(403, "pages of this Origin may not connect; name it with --allow-origin")
    if admission.token is not None and not _has_token(admission.token, headers.get("authorization", ())):
        return Refusal(401, "a bearer token is needed")
    return None


def _name_of(host: str) -> str:
    """The Host header without its port."""
    if host.startswith("["):
        return host.partition("]")[0].strip("[").lower()
    return host.rpartition(":")[0].lower() if ":" in host else host.lower()


def _is_ours(admission: Admission, name: str) -> bool:
    if name == admission.host.strip("[]").lower() or name in admission.hosts:
        return True
    return loopback(admission.host) and loopback(name)


def _has_token(token: str, values: Sequence[str]) -> bool:
    scheme, _, given = values[0].partition(" ") if len(values) == 1 else ("", "", "")
    return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), token.encode())
