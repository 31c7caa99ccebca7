"""What may stand in the brackets of a rule. Texts of refusals are those people know from the rule language."""

import posixpath
import shlex

from signoff.domain.verdict import Decision, Source
from signoff.policy.execpolicy.rule import DECISIONS, HostExecutable, NetworkRule, PrefixRule, Protocol, Words

_PROTOCOLS = {str(protocol): protocol for protocol in Protocol} | {
    "https_connect": Protocol.HTTPS,
    "http-connect": Protocol.HTTPS,
}


class Refusal(Exception):
    """A value that cannot stand there. Crosses Starlark, which adds the place."""


def prefix_rule(arguments: list[object], source: Source) -> PrefixRule:
    pattern, decision, match, not_match, justification = arguments
    return PrefixRule(
        decision=Decision.ALLOW if _kind(decision) == "NoneType" else _decision(decision, DECISIONS),
        justification=_justification(justification),
        pattern=_pattern(pattern),
        match=_examples("match", match),
        not_match=_examples("not_match", not_match),
        source=source,
    )


def network_rule(arguments: list[object], source: Source) -> NetworkRule:
    host, protocol, decision, justification = arguments
    name = _text("network_rule protocol", protocol)
    if name not in _PROTOCOLS:
        words = "http, https, socks5_tcp, socks5_udp"
        raise Refusal(f"invalid rule: network_rule protocol must be one of {words} (got {name})")
    return NetworkRule(
        host=normal_host(_text("network_rule host", host)),
        protocol=_PROTOCOLS[name],
        decision=_decision(decision, DECISIONS | {"deny": Decision.DENY}),
        justification=_justification(justification),
        source=source,
    )


def host_executable(arguments: list[object], source: Source) -> HostExecutable:
    name = _text("host_executable name", arguments[0])
    if not name:
        raise Refusal("invalid rule: host_executable name cannot be empty")
    if "/" in name or name in (".", ".."):
        raise Refusal(f"invalid rule: host_executable name must be a bare executable name (got {name})")
    if not isinstance(arguments[1], list):
        raise Refusal(f"invalid rule: host_executable paths must be a list (got {_kind(arguments[1])})")
    paths: list[str] = []
    for value in arguments[1]:
        if not isinstance(value, str):
            raise Refusal(f"invalid rule: host_executable paths must be strings (got {_kind(value)})")
        if not value.startswith("/"):
            raise Refusal(f"invalid rule: host_executable paths must be absolute (got {value})")
        path = posixpath.normpath(value)
        if posixpath.basename(path) != name:
            raise Refusal(f"invalid rule: host_executable path `{value}` must have basename `{name}`")
        if path not in paths:
            paths.append(path)
    return HostExecutable(name, tuple(paths), source)


def normal_host(raw: str) -> str:
    """Lower case, without port, brackets and final dots; anything that is not one host is refused."""
    host = raw.strip()
    if any(sign in host for sign in "/?#"):
        raise Refusal("invalid rule: network_rule host must be a hostname or IP literal (without scheme or path)")
    if host.startswith("["):
        inside, closed, rest = host[1:].partition("]")
        if not closed:
            raise Refusal("invalid rule: network_rule host has an invalid bracketed IPv6 literal")
        if rest and not (rest[0] == ":" and _digits(rest[1:])):
            raise Refusal(f"invalid rule: network_rule host contains an unsupported suffix: {raw}")
        host = inside
    elif host.count(":") == 1 and _digits(host.partition(":")[2]) and not host.startswith(":"):
        host = host.partition(":")[0]
    host = host.rstrip(".").strip().lower()
    if not host:
        raise Refusal("invalid rule: network_rule host cannot be empty")
    if "*" in host:
        raise Refusal("invalid rule: network_rule host must be a specific host; wildcards are not allowed")
    if any(sign.isspace() for sign in host):
        raise Refusal("invalid rule: network_rule host cannot contain whitespace")
    return host


def _digits(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _pattern(value: object) -> tuple[Words, ...]:
    if not isinstance(value, list):
        raise Refusal(f"invalid pattern element: pattern must be a list (got {_kind(value)})")
    if not value:
        raise Refusal("invalid pattern element: pattern cannot be empty")
    return tuple(_position(element) for element in value)


def _position(element: object) -> Words:
    if isinstance(element, str):
        return (element,)
    if not isinstance(element, list):
        said = "pattern element must be a string or list of strings"
        raise Refusal(f"invalid pattern element: {said} (got {_kind(element)})")
    for word in element:
        if not isinstance(word, str):
            raise Refusal(f"invalid pattern element: pattern alternative must be a string (got {_kind(word)})")
    if not element:
        raise Refusal("invalid pattern element: pattern alternatives cannot be empty")
    return tuple(dict.fromkeys(element))


def _examples(name: str, value: object) -> tuple[Words, ...]:
    if _kind(value) == "NoneType":
        return ()
    if not isinstance(value, list):
        raise Refusal(f"invalid example: {name} must be a list (got {_kind(value)})")
    return tuple(_example(example) for example in value)


def _example(value: object) -> Words:
    if isinstance(value, str):
        try:
            words = shlex.split(value)
        except ValueError:
            raise Refusal("invalid example: example string has invalid shell syntax") from None
        if not words:
            raise Refusal("invalid example: example cannot be an empty string")
        return tuple(words)
    if not isinstance(value, list):
        raise Refusal(f"invalid example: example must be a string or list of strings (got {_kind(value)})")
    for word in value:
        if not isinstance(word, str):
            raise Refusal(f"invalid example: example tokens must be strings (got {_kind(word)})")
    if not value:
        raise Refusal("invalid example: example cannot be an empty list")
    return tuple(value)


def _decision(value: object, words: dict[str, Decision]) -> Decision:
    if isinstance(value, str) and value in words:
        return words[value]
    raise Refusal(f"invalid decision: {value if isinstance(value, str) else _kind(value)}")


def _justification(value: object) -> str | None:
    if _kind(value) == "NoneType":
        return None
    text = _text("justification", value)
    if not text.strip():
        raise Refusal("invalid rule: justification cannot be empty")
    return text


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise Refusal(f"invalid rule: {name} must be a string (got {_kind(value)})")
    return value


def _kind(value: object) -> str:
    """The Starlark name of a type. A tuple, which would arrive as a list, arrives as its name."""
    if value == {"got": "tuple"}:
        return "tuple"
    return {"str": "string"}.get(type(value).__name__, type(value).__name__)
