"""Hosts: an exact name, `*.suffix`, an address or a network in CIDR form."""

import functools
import ipaddress

from signoff.domain.context import Context
from signoff.domain.intent import Aspect, Host

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@functools.lru_cache(1024)
def normal(host: str) -> str:
    """Lower case, no brackets, no final dots; an address in its shortest form, however it was written."""
    name = host.strip().removeprefix("[").removesuffix("]").rstrip(".").lower()
    address = _address(name)
    if address is not None:
        mapped = getattr(address, "ipv4_mapped", None)
        return str(mapped or address)
    try:
        return name.encode("idna").decode("ascii") if not name.isascii() else name
    except UnicodeError:
        return name


def covers(pattern: str, host: str) -> bool:
    name = normal(host)
    if pattern == "*":
        return True
    if pattern.startswith("*."):
        return name.endswith("." + normal(pattern[2:])) and _address(name) is None
    network = _network(pattern)
    if network is not None:
        address = _address(name)
        return address is not None and address.version == network.version and address in network
    return name == normal(pattern)


class Hosts:
    """The kind of rule that names hosts."""

    def covers(self, pattern: str, aspect: Aspect, context: Context, *, strict: bool) -> bool:
        return isinstance(aspect, Host) and covers(pattern, aspect.name)

    def problem(self, pattern: str) -> str | None:
        if pattern == "*" or _network(pattern) is not None:
            return None
        name = pattern.removeprefix("*.")
        if not name or "*" in name or any(sign in "/?#@ \t:" for sign in name):
            return f"{pattern!r} is not a host name, *.suffix, address or network"
        return None

    def example(self, text: str, context: Context) -> Aspect:
        return Host(text)


@functools.lru_cache(1024)
def _network(pattern: str) -> Network | None:
    try:
        return ipaddress.ip_network(pattern.removeprefix("[").removesuffix("]"), strict=False)
    except ValueError:
        return None


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Also the spellings of an IPv4 address that resolvers accept: one number, hexadecimal, octal, fewer dots."""
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        pass
    parts = name.split(".")
    if len(parts) > 4 or not all(parts):
        return None
    try:
        numbers = [
            int(part, 0 if part[:2] in ("0x", "0X") else 8 if part[0] == "0" and part != "0" else 10) for part in parts
        ]
    except ValueError:
        return None
    *leading, last = numbers
    if any(number > 255 for number in leading) or last >= 256 ** (5 - len(parts)):
        return None
    value = last + sum(number << (8 * (3 - position)) for position, number in enumerate(leading))
    return ipaddress.IPv4Address(value)
