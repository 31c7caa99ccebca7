"""What a client asks of our proxy, read strictly: anything ambiguous is refused rather than guessed. Pure."""

import ipaddress
import re

import msgspec

from signoff.domain.errors import ParseError

HEAD_LIMIT = 65_536

_NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")
_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_REQUEST = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([\x21-\x7e]+) HTTP/1\.[01]")
_ADDRESS = re.compile(rb"http://([^/?#]+)([/?][^#]*|)", re.I)
_NUMERIC_LABEL = re.compile(r"[0-9]+|0x[0-9a-f]*")
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_NOT_PASSED_ON = frozenset(
    b"connection keep-alive proxy-connection proxy-authorization te trailer upgrade host expect".split(b" ")
)


class Tunnel(msgspec.Struct, frozen=True):
    """CONNECT: the client wants raw bytes to and from this place."""

    host: str
    port: int


class Forward(msgspec.Struct, frozen=True):
    """A request to pass on: `head` is what the server gets; the body is `length` bytes, or chunked if that is None."""

    host: str
    port: int
    head: bytes
    length: int | None


def parse(head: bytes) -> Tunnel | Forward:
    """`head` is everything up to and including the empty line."""
    lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    asked = _REQUEST.fullmatch(lines[0])
    if asked is None:
        raise ParseError("this is not a request to a proxy")
    method, target = asked.groups()
    headers = [_header(line) for line in lines[1:]]
    if method == b"CONNECT":
        return Tunnel(*authority(target.decode("ascii"), None))
    address = _ADDRESS.fullmatch(target)
    if address is None:
        raise ParseError("only http:// addresses are passed on; anything else needs CONNECT")
    place, path = address[1].decode("ascii"), address[2].removeprefix(b"/")
    kept = [b": ".join(pair) for pair in headers if pair[0].lower() not in _NOT_PASSED_ON]
    passed_on = [b"%s /%s HTTP/1.1" % (method, path), f"Host: {place}".encode(), *kept, b"Connection: close", b"", b""]
    return Forward(*authority(place, 80), b"\r\n".join(passed_on), _length(headers))


def authority(text: str, default_port: int | None) -> tuple[str, int]:
    """A host name or address, lower case and without the final dot, and a port."""
    bracketed = re.fullmatch(r"\[([0-9a-fA-F:.]+)\](?::([0-9]{1,5}))?", text)
    plain = re.fullmatch(r"([^:\[\]@/?#\\ ]+)(?::([0-9]{1,5}))?", text)
    match = bracketed or plain
    if match is None:
        raise ParseError(f"{text!r} does not name a host")
    port = int(match[2]) if match[2] else default_port
    if port is None or not 0 < port < 65_536:
        raise ParseError(f"{text!r} does not name a port")
    return _host(match[1], is_address=bracketed is not None), port


def _host(text: str, *, is_address: bool) -> str:
    name = text.lower().removesuffix(".")
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        # 127.1, 0x7f.1 and 2130706433 are addresses to a resolver; nobody who is honest writes them
        if is_address or len(name) > 253 or not _NAME.fullmatch(name) or _NUMERIC_LABEL.fullmatch(name.split(".")[-1]):
            raise ParseError(f"{text!r} is neither a host name nor an address") from None
    return name


def _header(line: bytes) -> tuple[bytes, bytes]:
    name, colon, value = line.partition(b":")
    if not colon or not _TOKEN.fullmatch(name) or _CONTROL.search(value):
        raise ParseError("a header is malformed")
    return name, value.strip(b" \t")


def _length(headers: list[tuple[bytes, bytes]]) -> int | None:
    """Two statements about where the body ends are two requests to somebody: refused."""
    lengths = [value for name, value in headers if name.lower() == b"content-length"]
    encodings = [value.lower() for name, value in headers if name.lower() == b"transfer-encoding"]
    if encodings:
        if lengths or encodings != [b"chunked"]:
            raise ParseError("where the body ends is ambiguous")
        return None
    if len(lengths) > 1 or (lengths and not re.fullmatch(rb"[0-9]{1,15}", lengths[0])):
        raise ParseError("where the body ends is ambiguous")
    return int(lengths[0]) if lengths else 0
