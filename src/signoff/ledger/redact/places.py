"""Places where a secret stands without a name: addresses with credentials, options of commands, connection files."""

import re
from collections.abc import Iterator

from signoff.ledger.redact.mask import Span
from signoff.ledger.redact.names import Promise, promise
from signoff.ledger.redact.pattern import pattern
from signoff.ledger.redact.values import (
    has_digit,
    is_given,
    is_placeholder,
    is_random,
    is_reference,
    is_secret,
    wraps_credentials,
)

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
    ("oracle:thin:", pattern(r"oracle:thin:[\w.-]{1,60}/(?P<word>[^\s\"'@/]{4,80})@")),
    ("-U ", pattern(r"-U[ \t]+[\"']?[\w.\\-]+%(?P<word>[^\s\"']{4,})")),
    (" --pass", pattern(r" --pass(?:word|wd|phrase)?[ \t]+[\"']?(?P<word>[^\s\"']{4,})")),
    (" --token", pattern(r" --token[ \t]+[\"']?(?P<word>[^\s\"']{12,})")),
)
_NETRC = pattern(r"password[ \t]{1,4}(?P<word>[^\s\"']{4,})")
_LINE_END = pattern(r"[ \t]*\r?(?:\n|$)")
# twelve words and more, as wallets write them; fewer only in quotes behind a name that says so
_PHRASES = (
    pattern(r"nemonic[\"']?[ \t]{0,4}[=:][ \t]{0,4}[\"']?(?P<word>[a-z]{3,8}(?: [a-z]{3,8}){11,23})(?![ \w])"),
    pattern(
        r"eed[_ -]?[pP]hrase[\"']?[ \t]{0,4}[=:][ \t]{0,4}[\"']?(?P<word>[a-z]{3,8}(?: [a-z]{3,8}){11,23})(?![ \w])"
    ),
    pattern(r"assphrase[\"']?[ \t]{0,4}[=:][ \t]{0,4}[\"'](?P<word>[a-z]{3,10}(?: [a-z]{3,10}){3,11})[\"']"),
)
_COOKIE = pattern(r"cookie[\"']?[ \t]{0,4}[:=,][ \t]{0,4}[\"']?")
_LONGEST_COOKIE = 4096
_PAIR = pattern(r"(?<![\w.$-])(?P<name>[\w.$-]{1,64}+)=(?P<value>[^;,\s\"'\\]{1,2048})")
_SESSION = pattern(r"sess|sid$|auth|token|jwt|remember|login|sso|(?<!csrf)_?key")
_SIGNATURE = pattern(r"sig=(?P<value>[\w%+/=-]{20,})")
_STAND_INS = frozenset(
    {"pass", "password", "passwd", "pwd", "pw", "secret", "token", "yourpassword", "mypassword", "xxx"}
)
_PGPASS = pattern(r"(?m)^[^\s:#\"'=]+:(?:\d{2,5}|\*):[^:\s\"']+:[^:\s\"']+:(?P<word>[^\s\"':]{3,})\r?$")


def addresses(text: str) -> Iterator[Span]:
    """scheme://user:WORD@host, and a token in place of the user."""
    for found in _USERINFO.finditer(text):
        user, word = found["user"], found["word"]
        if word is not None:
            if not _is_empty(word, user):
                yield Span(*found.span("word"), "url")
        elif len(user) >= 16 and is_random(user, 5.0) and has_digit(user):
            yield Span(*found.span("user"), "url")


def _is_empty(word: str, user: str) -> bool:
    """Whether this is a reference or a stand-in, the user's name among them, and no secret."""
    if is_reference(word):
        return True
    word = word.strip("[]{}()<>")
    if len(word) < 3 or word == user or word.lower() in _STAND_INS:
        return True
    return is_placeholder(word) and not is_random(word, 5.6)


def headers(text: str, folded: str) -> Iterator[Span]:
    """Cookies that hold a session, and signatures in addresses."""
    done = 0
    for found in _COOKIE.finditer(folded):
        end = text.find("\n", found.end(), found.end() + _LONGEST_COOKIE)
        start, done = max(done, found.end()), end if end >= 0 else found.end() + _LONGEST_COOKIE
        for pair in _PAIR.finditer(text, start, done):
            if _SESSION.search(pair["name"].lower()) and len(pair["value"]) >= 8 and not is_reference(pair["value"]):
                yield Span(*pair.span("value"), "header")
    for found in _SIGNATURE.finditer(text):
        if text[found.start() - 1 : found.start()] in ("?", "&", ";") and not is_reference(found["value"]):
            yield Span(*found.span("value"), "url")


# What a command line gives to an option that takes a secret; what a manual says about such an option is none.
_GIVEN = pattern(
    r"--(?P<name>[a-z-]{0,30}(?:key|word|wd|phrase|secret|token))[ \t]+(?P<word>[A-Za-z0-9_.+/=@!#%^*-]{6,128})(?=[\s\"']|$)"
)
_ABOUT_OPTIONS = """
    option options argument arguments parameter parameters value values instead string should command either before
    because without together whether cannot already switch setting always required optional accepts specifies
"""
_SAID_OF_OPTIONS = frozenset(_ABOUT_OPTIONS.split())


def options(text: str) -> Iterator[Span]:
    """Words given to commands that take a secret as an argument, and files made of nothing else."""
    if "-u" in text:
        for found in _CURL.finditer(text):
            word = found["word"].strip("{}")
            if not is_reference(found["user"]) and has_digit(word) and not _is_empty(word, found["user"]):
                start = text.index(word, found.start("word"))
                yield Span(start, start + len(word), "option")
    for mark, option in _OPTIONS:
        if mark in text:
            for found in option.finditer(text):
                if is_secret(found["word"], Promise.CHOSEN, quoted=True) or wraps_credentials(found["word"]):
                    yield Span(*found.span("word"), "option")
    if "--" in text:
        for found in _GIVEN.finditer(text):
            name, word = found["name"], found["word"]
            if promise(name) >= Promise.STRONG and is_given(word) and word.lower() not in _SAID_OF_OPTIONS:
                yield Span(*found.span("word"), "option")
    yield from _connection_files(text)
    for phrase in _PHRASES:
        for found in phrase.finditer(text):
            yield Span(*found.span("word"), "option")


def _connection_files(text: str) -> Iterator[Span]:
    for found in _NETRC.finditer(text):
        before = text[max(0, found.start() - 256) : found.start()].rpartition("\n")[2]
        alone = not before.strip() and _LINE_END.match(text, found.end())
        if (alone or " login " in before) and is_secret(found["word"], Promise.CHOSEN, quoted=True):
            yield Span(*found.span("word"), "option")
    if ":5432:" in text or ":*:" in text:
        for found in _PGPASS.finditer(text):
            if not _is_empty(found["word"], ""):
                yield Span(*found.span("word"), "option")
