"""Names that need a second look wherever they lie: what holds secrets, and what runs code when a program next starts."""

import functools

from signoff.policy.rules.path import components, folded, inside


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _places(text: str) -> dict[str, list[list[str]]]:
    """Paths, split into components and found by the first one; `*` is any one component."""
    places: dict[str, list[list[str]]] = {}
    for entry in text.split():
        places.setdefault(entry.split("/")[0], []).append(entry.split("/"))
    return places


START_UP = _names(
    ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout"
    " .kshrc .cshrc .tcshrc .login .logout .inputrc .xprofile .xinitrc .pam_environment"
)
PROTECTED = _names(".git .signoff .codex .claude .gemini .agents .mcp.json .vscode .idea") | START_UP

_HOME = _places(
    ".ssh .aws .azure .gnupg .netrc _netrc .kube .docker/config.json .config/gcloud .config/gh .config/hub .config/op"
    " .config/rclone .config/sops .git-credentials .config/git/credentials .npmrc .yarnrc.yml .pypirc .gem/credentials"
    " .cargo/credentials .cargo/credentials.toml .m2/settings.xml .gradle/gradle.properties .vault-token"
    " .terraform.d/credentials.tfrc.json .password-store .local/share/keyrings .pki .my.cnf .pgpass .s3cfg .boto"
    " .mozilla .thunderbird .config/google-chrome .config/chromium .config/brave .claude.json .codex/auth.json"
    " .config/signoff .bash_history .zsh_history .python_history .node_repl_history .psql_history .mysql_history"
    " .sqlite_history .lesshst .electrum .bitcoin .ethereum .subversion/auth .terraformrc .gcloud"
)
_SYSTEM = _places(
    "etc/shadow etc/shadow- etc/gshadow etc/gshadow- etc/sudoers etc/sudoers.d etc/ssl/private etc/krb5.keytab"
    " etc/security/opasswd root/.ssh root/.aws root/.gnupg root/.netrc root/.kube run/secrets var/run/secrets"
    " proc/*/environ proc/*/mem proc/*/fd proc/*/root proc/*/cwd proc/kcore proc/*/task var/lib/sss/db"
)
_KEY_NAMES = _names(
    "id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk .htpasswd .pgpass .netrc _netrc .git-credentials"
    " authorized_keys known_hosts credentials.json service-account.json"
)
_KEY_ENDINGS = (".pem", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".key", ".keytab")
_EXAMPLES = (".example", ".sample", ".template", ".dist")


@functools.lru_cache(4096)
def is_credential(path: str, home: str | None) -> bool:
    """Does this path hold secrets, or lie in a directory that does?"""
    names = tuple(map(folded, components(path)))
    if not names:
        return False
    last = names[-1]
    if _is_key(last) or is_environment_file(last) or ".ssh" in names or _lies_in(names, _SYSTEM):
        return True
    if names[0] == "etc" and last.startswith("ssh_host_") and not last.endswith(".pub"):
        return True
    return home is not None and inside(path, home) and _lies_in(names[len(components(home)) :], _HOME)


def is_environment_file(name: str) -> bool:
    """`.env`, `.env.local`, `.envrc` …, but not the example that is checked in."""
    name = folded(name)
    return (name == ".env" or name == ".envrc" or name.startswith(".env.")) and not name.endswith(_EXAMPLES)


def is_protected(path: str, extra: tuple[str, ...] = ()) -> bool:
    """Would changing this make some program run or trust something? `extra`: more such paths, as the caller knows."""
    if extra and any(inside(path, root) for root in extra):
        return True
    if path.isascii() and "/." not in path and "~" not in path:
        return False  # every protected name begins with a dot
    return any(map(_protected_name, components(path)))


def _protected_name(name: str) -> bool:
    plain = folded(name).rstrip(". ")  # trailing dots and blanks vanish on some file systems
    return plain in PROTECTED or plain == "git~1"


def _is_key(name: str) -> bool:
    return name in _KEY_NAMES or (name.endswith(_KEY_ENDINGS) and not name.endswith(".pub"))


def _lies_in(names: tuple[str, ...], places: dict[str, list[list[str]]]) -> bool:
    for place in places.get(names[0], ()) if names else ():
        if len(names) >= len(place) and all(part in ("*", name) for name, part in zip(names, place, strict=False)):
            return True
    return False
