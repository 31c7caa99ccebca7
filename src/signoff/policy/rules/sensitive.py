"""Names that need a second look wherever they lie: what holds secrets, and what runs code when a program next starts."""

from signoff.policy.rules.path import components, folded, inside


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _places(text: str) -> tuple[list[str], ...]:
    """Paths, split into components; `*` is any one component."""
    return tuple(entry.split("/") for entry in text.split())


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


def is_credential(path: str, home: str | None) -> bool:
    """Does this path hold secrets, or lie in a directory that does?"""
    names = tuple(folded(name) for name in components(path))
    if not names:
        return False
    if any(_begins(names, place) for place in _SYSTEM):
        return True
    if names[0] == "etc" and names[-1].startswith("ssh_host_") and not names[-1].endswith(".pub"):
        return True
    if home is not None and inside(path, home):
        below = names[len(components(home)) :]
        if any(_begins(below, place) for place in _HOME):
            return True
    return ".ssh" in names or _is_key(names[-1]) or is_environment_file(names[-1])


def is_environment_file(name: str) -> bool:
    """`.env`, `.env.local`, `.envrc` …, but not the example that is checked in."""
    name = folded(name)
    return (name == ".env" or name == ".envrc" or name.startswith(".env.")) and not name.endswith(_EXAMPLES)


def is_protected(path: str, extra: tuple[str, ...] = ()) -> bool:
    """Would changing this make some program run or trust something? `extra`: more such paths, as the caller knows."""
    return any(_protected_name(name) for name in components(path)) or any(inside(path, root) for root in extra)


def _protected_name(name: str) -> bool:
    plain = folded(name).rstrip(". ")  # trailing dots and blanks vanish on some file systems
    return plain in PROTECTED or plain == "git~1"


def _is_key(name: str) -> bool:
    return name in _KEY_NAMES or (name.endswith(_KEY_ENDINGS) and not name.endswith(".pub"))


def _begins(names: tuple[str, ...], place: list[str]) -> bool:
    return len(names) >= len(place) and all(part in ("*", name) for name, part in zip(names, place, strict=False))
