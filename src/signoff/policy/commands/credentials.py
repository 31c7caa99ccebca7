"""Names under which people keep secrets. A program that only reads is not harmless when it reads one of these."""

import fnmatch
import re

_MASKED = (
    ".ssh .aws .gnupg .netrc _netrc .kube .docker .azure .gcloud .git-credentials .npmrc .pypirc .pgpass .my.cnf .vault-token "
    ".password-store .htpasswd .bash_history .zsh_history .python_history .psql_history .mysql_history .node_repl_history "
    ".sqlite_history .lesshst .terraformrc .s3cfg .boto .cargo/credentials .config/gh .config/gcloud .config/hub .electrum "
    ".bitcoin .ethereum .mozilla .thunderbird .local/share/keyrings .subversion/auth"
).split()
_STORES = "id_rsa id_dsa id_ecdsa id_ed25519 id_xmss credentials.json secring.gpg login.keychain".split()
_NAME = "|".join(re.escape(name) for name in (*_MASKED, *_STORES))
_CREDENTIAL = re.compile(
    rf"""(?:^|[/=:@,\s])(?:
          (?:{_NAME})(?:$|[/.:])
        | \.env(?:$|\.(?!(?:example|sample|template)$)|[-_/])
        | [^/\s]*\.(?:pem|p12|pfx|jks|keystore|kdbx|ppk|asc|key|keychain)$
        )
      | /etc/(?:shadow|gshadow|sudoers|ssh/|ssl/private|security/opasswd|krb5\.keytab|passwd-|shadow-)
      | /proc/(?:[^/]+/)+(?:environ|mem|maps|fd|root|cwd|exe|auxv|cmdline|io|syscall|stack|task|map_files)
      | /proc/(?:kcore|kmem|kallsyms|keys)
      | /sys/(?:firmware|kernel/debug)
      | /(?:var/)?run/(?:secrets|user|credentials)
      | ^/dev/(?!(?:null|zero|random|urandom|stdin|full)$)
      | /var/lib/(?:docker|kubelet|private|sudo)
    """,
    re.VERBOSE,
)
_SAMPLES = (
    *(".env", ".env.local", ".env.production"),
    *(name for name in _MASKED if "/" not in name),
    *_STORES[:4],
    *("server.pem", "private.key", "keystore.jks"),
)
_SYSTEM = tuple(
    path.split("/")
    for path in ("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssh", "/proc/self/environ", "/proc/1/environ", "/proc/1/mem", "/run/secrets", "/dev/sda", "/dev/mem", "/dev/tty")
)  # fmt: skip
_WILD = re.compile(r"[*?\[]")


def is_credential(text: str) -> bool:
    """Whether a word, or the value inside it, names a place where secrets are kept."""
    return _CREDENTIAL.search(text.casefold()) is not None


def may_be_credential(pattern: str) -> bool:
    """Whether a glob could find such a place. A leading dot has to be written, as the shell demands."""
    pattern = pattern.casefold()
    if is_credential(pattern.replace("*", "x").replace("?", "x")):
        return True
    if "[:" in pattern or "[=" in pattern or "[." in pattern:
        return True  # classes by name are not worked out here
    parts = pattern.split("/")
    for part in parts:
        if _WILD.search(part) and (part[0] == "." or part.strip("*?")):
            for name in _SAMPLES:
                if (name[0] != "." or part[0] == ".") and fnmatch.fnmatchcase(name, _bash_class(part)):
                    return True
    return pattern[:1] == "/" and any(_could_reach(parts, target) for target in _SYSTEM)


def _could_reach(parts: list[str], target: list[str]) -> bool:
    """Component by component, as deep as both go: a glob over a parent directory finds what is below it."""
    if len(parts) < len(target):
        return False
    return all(fnmatch.fnmatchcase(name, _bash_class(part)) for part, name in zip(parts, target, strict=False))


def _bash_class(part: str) -> str:
    return part.replace("[^", "[!")
