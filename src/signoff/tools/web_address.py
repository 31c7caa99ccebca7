"""Where a web address leads: which host is judged, and which network addresses may be connected to. Pure."""

import ipaddress
import urllib.parse

import msgspec

from signoff.domain.errors import InvalidArguments
from signoff.domain.intent import Host
from signoff.policy.rules.host import normal

_PORTS = {"http": 80, "https": 443}
_COMPATIBLE = ipaddress.ip_network("::/96")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Target(msgspec.Struct, frozen=True):
    """One request: where to, and what to ask for there."""

    scheme: str
    host: str  # as it is judged: lower case, ASCII, no brackets
    port: int
    path: str

    @property
    def url(self) -> str:
        name = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{name}{port}{self.path}"

    @property
    def judged(self) -> Host:
        return Host(self.host, self.port, self.scheme)


def target(url: str, *, base: Target | None = None) -> Target:
    """Read an address; a relative one against `base`. What is unusual enough to be read in two ways is refused."""
    if any(ord(sign) <= 32 or ord(sign) == 127 or sign == "\\" for sign in url):
        raise InvalidArguments(f"web_fetch: {url!r} contains a blank, a control character or a backslash")
    if base is not None:
        url = urllib.parse.urljoin(base.url, url)
    try:
        parts = urllib.parse.urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InvalidArguments(f"web_fetch: {url!r} is no address: {error}") from error
    if parts.scheme not in _PORTS:
        raise InvalidArguments(f"web_fetch: {url!r} must begin with https:// or http://")
    if "@" in parts.netloc:
        raise InvalidArguments("web_fetch: an address with a name or password in it is not fetched")
    host = normal(parts.hostname or "")
    if not host or not host.isascii() or any(sign in host for sign in "%/?#"):
        raise InvalidArguments(f"web_fetch: {url!r} names no host")
    if port == 0:
        raise InvalidArguments(f"web_fetch: {url!r} has no usable port")
    path = urllib.parse.quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    query = urllib.parse.quote(parts.query, safe="/%:@!$&'()*+,;=~-._?")
    return Target(parts.scheme, host, port or _PORTS[parts.scheme], f"{path}?{query}" if query else path)


def is_public(text: str) -> bool:
    """Is this an address on the open internet, and so is every address hidden in it?"""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return all(one.is_global and not (one.is_multicast or one.is_reserved) for one in _with_hidden(address))


def _with_hidden(address: Address) -> list[Address]:
    """An IPv6 address can carry an IPv4 address that packets end up at."""
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    found: list[Address] = [address]
    if address.sixtofour is not None:
        found.append(address.sixtofour)
    if address.teredo is not None:
        found += address.teredo
    if address.is_site_local or address in _COMPATIBLE:
        found.append(ipaddress.IPv4Address(0))  # never public
    return found
