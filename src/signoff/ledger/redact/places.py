"""Places where a secret stands without a name: addresses with credentials, options of commands, connection files."""

import re
from collections.abc import Iterator

from signoff.ledger.redact.mask import Span
from signoff.ledger.redact.names import Promise
from signoff.ledger.redact.pattern import pattern
from signoff.ledger.redact.values import is_placeholder, is_random, is_reference, is_secret, wraps_credentials

_USERINFO = pattern(
    r"://(?P<user>[^\s/:@\"'`<>\\?#]{0,80}+)(?::(?P<word>[^\s/\"'`<>\\@]{1,256}+(?:@[^\s/\"'`<>\\@.]{1,64}(?=@))?))?@(?=[\w\[$<{%*-])",
)
_CURL = pattern(
    r"(?:-u|--user|--proxy-user)(?:=|[ \t]{1,4})[\"']?(?P<user>[^\s:\"']{0,80})[\"']?:[\"']?(?P<word>[^\s\"']{3,})"
)
_OPTIONS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("sshpass", pattern(r"sshpass[ \t]+-p[ \t]*[\"']?(?P<word>[^\s\"']+)")),
    (
        "mysql",
        pattern(
            r"mysql(?:dump|admin|import|sh)?(?:[ \t]{1,8}[^\s|;&]{1,200}+){0,12}?[ \t]+-p(?P<word>[^\s\"'|;&=-][^\s\"'|;&]{3,})"
        ),
    ),
    ("redis-cli", pattern(r"redis-cli(?:[ \t]{1,8}[^\s|;&]{1,200}+){0,8}?[ \t]+-a[ \t]+[\"']?(?P<word>[^\s\"']{4,})")),
    ("login", pattern(r"login(?:[ \t]{1,8}[^\s|;&]{1,200}+){0,8}?[ \t]+-p[ \t]+[\"']?(?P<word>[^\s\"']{4,})")),
    ("pass:", pattern(r"(?:-pass|-passin|-passout)[ \t]+[\"']?pass:(?P<word>[^\s\"']{4,})")),
    ("ldap", pattern(r"ldap\w+(?:[ \t]{1,8}[^\s|;&]{1,200}+){0,12}?[ \t]+-w[ \t]+[\"']?(?P<word>[^\s\"']{4,})")),
    ("dentified by", pattern(r"dentified by[ \t]+[\"'](?P<word>[^\s\"']{4,})[\"']")),
    ("DENTIFIED BY", pattern(r"DENTIFIED BY[ \t]+[\"'](?P<word>[^\s\"']{4,})[\"']")),
    ("-U ", pattern(r"-U[ \t]+[\"']?[\w.\\-]+%(?P<word>[^\s\"']{4,})")),
    (" --pass", pattern(r" --pass(?:word|wd|phrase)?[ \t]+[\"']?(?P<word>[^\s\"']{4,})")),
    (" --token", pattern(r" --token[ \t]+[\"']?(?P<word>[^\s\"']{12,})")),
)
_NETRC = pattern(r"password[ \t]{1,4}(?P<word>[^\s\"']{4,})")
_LINE_END = pattern(r"[ \t]*\r?(?:\n|$)")
_PGPASS = pattern(r"(?m)^[^\s:#\"'=]+:(?:\d{2,5}|\*):[^:\s\"']+:[^:\s\"']+:(?P<word>[^\s\"':]{3,})\r?$")


def addresses(text: str) -> Iterator[Span]:
    """scheme://user:WORD@host, and a token in place of the user."""
    for found in _USERINFO.finditer(text):
        user, word = found["user"], found["word"]
        if word is not None:
            if not (is_reference(word) or _is_stand_in(word, user)):
                yield Span(found.start("word"), found.end("word"), "url")
        elif len(user) >= 16 and is_random(user, 5.0) and any(map(str.isdigit, user)):
            yield Span(found.start("user"), found.end("user"), "url")


def _is_stand_in(word: str, user: str) -> bool:
    word = word.strip("[]{}()<>")
    low = word.lower()
    return len(word) < 3 or word == user or low in _STAND_INS or (is_placeholder(word) and not is_random(word, 5.6))


_STAND_INS = frozenset(
    {"pass", "password", "passwd", "pwd", "pw", "secret", "token", "yourpassword", "mypassword", "xxx"}
)


def headers(text: str, folded: str) -> Iterator[Span]:
    """Cookies that hold a session, and signatures in addresses."""
    done = 0
    for found in _COOKIE.finditer(folded):
        end = text.find("\n", found.end(), found.end() + _LONGEST_COOKIE)
        start, done = max(done, found.end()), end if end >= 0 else found.end() + _LONGEST_COOKIE
        for pair in _PAIR.finditer(text, start, done):
            if _SESSION.search(pair["name"].lower()) and len(pair["value"]) >= 8 and not is_reference(pair["value"]):
                yield Span(pair.start("value"), pair.end("value"), "header")
    for found in _SIGNATURE.finditer(text):
        if text[found.start() - 1 : found.start()] in ("?", "&", ";") and not is_reference(found["value"]):
            yield Span(found.start("value"), found.end("value"), "url")


_COOKIE = pattern(r"cookie[\"']?[ \t]{0,4}[:=,][ \t]{0,4}[\"']?")
_LONGEST_COOKIE = 4096
_PAIR = pattern(r"(?<![\w.$-])(?P<name>[\w.$-]{1,64}+)=(?P<value>[^;,\s\"'\\]{1,2048})")
_SESSION = pattern(r"sess|sid$|auth|token|jwt|remember|login|sso|(?<!csrf)_?key")
_SIGNATURE = pattern(r"sig=(?P<value>[\w%+/=-]{20,})")


def options(text: str) -> Iterator[Span]:
    """Words given to commands that take a secret as an argument."""
    if "-u" in text:
        for found in _CURL.finditer(text):
            word, user = found["word"], found["user"]
            strip = word.strip("{}")
            if (
                not is_reference(user)
                and not is_reference(strip)
                and not _is_stand_in(strip, user)
                and any(map(str.isdigit, word))
            ):
                start = found.start("word") + word.index(strip)
                yield Span(start, start + len(strip), "option")
    for mark, option in _OPTIONS:
        if mark in text:
            for found in option.finditer(text):
                word = found["word"]
                if is_secret(word, Promise.CHOSEN, quoted=True) or wraps_credentials(word):
                    yield Span(found.start("word"), found.end("word"), "option")
    for found in _NETRC.finditer(text):
        start = text.rfind("\n", 0, found.start()) + 1
        before = text[start : found.start()]
        if (" login " in before or (not before.strip() and _LINE_END.match(text, found.end()))) and is_secret(
            found["word"], Promise.CHOSEN, quoted=True
        ):
            yield Span(found.start("word"), found.end("word"), "option")
    if ":5432:" in text or ":*:" in text:
        for found in _PGPASS.finditer(text):
            if not is_reference(found["word"]) and not _is_stand_in(found["word"], ""):
                yield Span(found.start("word"), found.end("word"), "option")
