"""Places where a secret stands without a name: addresses with credentials, options of commands, connection files."""

import re
from collections.abc import Iterator

from signoff.ledger.redact.mask import Span
from signoff.ledger.redact.names import Promise
from signoff.ledger.redact.values import is_placeholder, is_random, is_reference, is_secret, wraps_credentials

_USERINFO = re.compile(
    r"://(?P<user>[^\s/:@\"'`<>\\?#]{0,80}+)(?::(?P<word>[^\s/\"'`<>\\@]{1,256}+(?:@[^\s/\"'`<>\\@.]{1,64}(?=@))?))?@(?=[\w\[$<{%*-])",
    re.ASCII,
)
_CURL = re.compile(
    r"(?:-u|--user|--proxy-user)(?:=|[ \t]{1,4})[\"']?(?P<user>[^\s:\"']{0,80})[\"']?:[\"']?(?P<word>[^\s\"']{3,})"
)
_OPTIONS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("sshpass", re.compile(r"sshpass[ \t]+-p[ \t]*[\"']?(?P<word>[^\s\"']+)")),
    (
        "mysql",
        re.compile(
            r"mysql(?:dump|admin|import|sh)?(?:[ \t]+[^\s|;&]+){0,12}?[ \t]+-p(?P<word>[^\s\"'|;&=-][^\s\"'|;&]{3,})"
        ),
    ),
    ("redis-cli", re.compile(r"redis-cli(?:[ \t]+[^\s|;&]+){0,8}?[ \t]+-a[ \t]+[\"']?(?P<word>[^\s\"']{4,})")),
    ("login", re.compile(r"login(?:[ \t]+[^\s|;&]+){0,8}?[ \t]+-p[ \t]+[\"']?(?P<word>[^\s\"']{4,})")),
    ("pass:", re.compile(r"(?:-pass|-passin|-passout)[ \t]+[\"']?pass:(?P<word>[^\s\"']{4,})")),
    ("ldap", re.compile(r"ldap\w+(?:[ \t]+[^\s|;&]+){0,12}?[ \t]+-w[ \t]+[\"']?(?P<word>[^\s\"']{4,})")),
    ("dentified by", re.compile(r"dentified by[ \t]+[\"'](?P<word>[^\s\"']{4,})[\"']")),
    ("DENTIFIED BY", re.compile(r"DENTIFIED BY[ \t]+[\"'](?P<word>[^\s\"']{4,})[\"']")),
    ("-U ", re.compile(r"-U[ \t]+[\"']?[\w.\\-]+%(?P<word>[^\s\"']{4,})")),
    (" --pass", re.compile(r" --pass(?:word|wd|phrase)?[ \t]+[\"']?(?P<word>[^\s\"']{4,})")),
    (" --token", re.compile(r" --token[ \t]+[\"']?(?P<word>[^\s\"']{12,})")),
    (" password ", re.compile(r"[ \t]login[ \t]+\S+[ \t]+password[ \t]+(?P<word>\S{4,})")),
    ("password ", re.compile(r"(?m)^[ \t]*password[ \t]+(?P<word>\S{6,})[ \t]*\r?$")),
)
_PGPASS = re.compile(r"(?m)^[^\s:#\"'=]+:(?:\d{2,5}|\*):[^:\s\"']+:[^:\s\"']+:(?P<word>[^\s\"':]{3,})\r?$")


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
    low = word.lower()
    return len(word) < 3 or word == user or low in _STAND_INS or (is_placeholder(word) and not is_random(word, 5.6))


_STAND_INS = frozenset(
    {"pass", "password", "passwd", "pwd", "pw", "secret", "token", "yourpassword", "mypassword", "xxx"}
)


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
    for mark, pattern in _OPTIONS:
        if mark in text:
            for found in pattern.finditer(text):
                word = found["word"]
                if is_secret(word, Promise.CHOSEN, quoted=True) or wraps_credentials(word):
                    yield Span(found.start("word"), found.end("word"), "option")
    if ":5432:" in text or ":*:" in text:
        for found in _PGPASS.finditer(text):
            if not is_reference(found["word"]) and not _is_stand_in(found["word"], ""):
                yield Span(found.start("word"), found.end("word"), "option")
