"""What the name of a value says about the value: `db_password` promises a secret, `password_file` does not."""

import enum
import functools

from signoff.ledger.redact.pattern import pattern


class Promise(enum.IntEnum):
    """How strongly a name promises that its value is secret."""

    NONE = 0
    WEAK = 1  # key, auth, session: only something that looks random
    STRONG = 2  # token, api key: random, or hexadecimal
    CHOSEN = 3  # password: a person chose it, it may be short


_WORDS = pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_VETO = pattern(
    r"public|pub_?key|pubk|csrf|xsrf|authenticity|hash|finger|checksum|digest|integrity|cache|primary|foreign|keyboard|"
    r"keyword|keystore|keyring|keyfram|keydown|key_?down|keyup|keypress|keycode|keysym|keymap|accessor|(?<!bit)bucket|issuer|"
    r"tokeni[sz]|monkey|turkey|hotkey|compass|bypass|passenger|passive|passage|author(?!i[sz]|\b|_|-)|nonce|keyspace|"
    r"keypath|keyfile|keypair|keyof|keypoint|donkey|jockey|hockey|whiskey|key_?vault|sort_?key|partition_?key|"
    r"range_?key|dict_?key|i18n|locale|translation|unique|idempoten|continuation|next_?(?:page_?)?token|page_?token|"
    r"secretary|passes|passed|passing|passthrough|pass_?through|annot|syntax|lexer|parser|grammar|stop_?token|max_?token"
)
# the last word of a name that is about a secret, and is none
_LAST_WORDS = """
id ids fd fds name names url urls uri uris file files filename path paths dir directory folder type types kind len length
size count counts version field fields label prompt policy provider error errors message msg pattern regex format
prefix suffix header headers expiry expires expiration ttl index idx line mode algorithm alg algo endpoint scope
scopes source vault variable var user users username email host hostname port title description desc text help hint
placeholder status state class style color method manager service client store storage handler callback factory
builder encoding encoded age days at time date timestamp limit min max required enabled disabled rule rules ref arn
tokens passwords secrets keys credentials change reset confirm confirmation input box button screen page view form
list map set dict table column row generator validator strength info data config configuration settings option options
param params parameter parameters function func fn test tests spec number num code codes location region
mgr realm attribute attributes expression expr column module package
"""
_LAST = frozenset(_LAST_WORDS.split())
_CHOSEN = pattern(
    r"passw|passphrase|pwd|passcode|(?<![a-z])pass(?![a-z])|(?<![a-z])pw(?![a-z])|(?<![a-z])psw(?![a-z])|clave|kennwort"
)
_STRONG = pattern(
    r"secret|token|bearer|credential|(?<![a-z])creds?(?![a-z])|"
    r"(?:api|app|access|private|secret|auth|account|encryption|encrypt|signing|master|shared|service|storage|client|"
    r"admin|license|session|deploy|integration|write|ingest|consumer|rest|cloud|iam|ibm|cloudant|artif|developer|subscription)"
    r"[_\-. ]?key(?![a-z])|authorization|(?<![a-z])(?:apikey|accesskey)"
)
_WEAK = pattern(
    r"(?<![a-z])key(?![a-z])|key$|auth|cookie|sess(?:ion)?_?id|(?<![a-z])salt|dsn(?![a-z])|webhook|client_?id"
)


# Every name that one of the three speaks about has one of these in it, and most names have none.
_HINTS = ("pass", "pwd", "pw", "psw", "clave", "kennwort", "secret", "token", "bearer", "cred", "key", "auth", "cookie", "sess",
          "salt", "dsn", "webhook", "client")  # fmt: skip


def words(name: str) -> list[str]:
    return [word.lower() for word in _WORDS.findall(name)]


@functools.lru_cache(maxsize=4096)
def promise(name: str) -> Promise:
    """`name` is an identifier as written, perhaps dotted or with blanks."""
    plain = name.lower()
    if not any(hint in plain for hint in _HINTS):
        return Promise.NONE
    parts = words(name)
    if not parts:
        return Promise.NONE
    folded = "_".join(parts) if any(letter.isupper() for letter in name) else plain
    if _VETO.search(plain) or parts[-1] in _LAST:
        return Promise.NONE
    for telling, result in ((_CHOSEN, Promise.CHOSEN), (_STRONG, Promise.STRONG), (_WEAK, Promise.WEAK)):
        if telling.search(plain) or telling.search(folded):
            return result
    return Promise.NONE
