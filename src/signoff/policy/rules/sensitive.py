"""Names that need a second look wherever they lie: what holds secrets, and what runs code when a program next starts."""

import functools
import re

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

IN_A_HOME = (
    ".ssh", ".aws", ".azure", ".gnupg", ".netrc", "_netrc", ".kube", ".docker", ".git-credentials", ".pgpass", ".my.cnf",
    ".npmrc", ".yarnrc.yml", ".pypirc", ".vault-token", ".password-store", ".htpasswd", ".boto", ".s3cfg", ".databrickscfg",
    ".snowsql", ".oci", ".terraform.d", ".terraformrc", ".fly", ".heroku", ".circleci", ".travis", ".gcloud", ".pki",
    ".config/gcloud", ".config/gh", ".config/hub", ".config/op", ".config/rclone", ".config/sops", ".config/doctl",
    ".config/age", ".config/git/credentials", ".config/containers", ".config/google-chrome", ".config/chromium",
    ".config/BraveSoftware", ".config/brave", ".config/configstore", ".config/github-copilot", ".config/pypoetry/auth.toml",
    ".mozilla", ".thunderbird", ".local/share/keyrings", ".local/share/kwalletd", ".cargo/credentials",
    ".cargo/credentials.toml", ".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties", ".gem/credentials",
    ".composer/auth.json", ".subversion/auth", ".codex/auth.json", ".claude.json", ".claude/.credentials.json",
    ".gemini/oauth_creds.json", ".config/signoff", ".bash_history", ".zsh_history", ".python_history", ".node_repl_history",
    ".psql_history", ".mysql_history", ".sqlite_history", ".lesshst", ".electrum", ".bitcoin", ".ethereum",
)  # fmt: skip
"""Where people keep secrets, below a home directory. The sandbox masks these, the policy asks about them."""

SYSTEM = (
    r"/etc/(?:g?shadow|sudoers|ssl/private|security/opasswd|krb5\.keytab|passwd-|wireguard|openvpn|letsencrypt|wpa_supplicant"
    r"|kubernetes|rancher|signoff/keys|ssh/ssh_host_(?!\w+\.pub$))"
    r"|/proc/(?:[^/]+/)+(?:environ|mem|maps|fd|root|cwd|exe|auxv|cmdline|io|syscall|stack|task|map_files)\b"
    r"|/proc/(?:kcore|kmem|kallsyms|keys)\b|/sys/(?:firmware|kernel/debug)\b|/(?:var/)?run/(?:secrets|user|credentials)\b"
    r"|/var/lib/(?:docker|kubelet|private|sudo|sss/db|rancher|containerd)\b"
)
"""The same for the system, as a pattern for the beginning of a path in small letters."""

DEVICES = r"/dev/(?!(?:null|zero|random|urandom|stdin|stdout|stderr|full|fd/\d+|(?:shm|tcp|udp)/\S*)$)"

_HOME = _places(" ".join(IN_A_HOME).casefold())
_HOMES = re.compile(r"/(?:root|(?:home|users)/[^/]+)(?=/)")
_SYSTEM = re.compile(f"{SYSTEM}|{DEVICES}")
_KEY_NAMES = _names(
    "id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk .htpasswd .pgpass .netrc _netrc .git-credentials"
    " authorized_keys known_hosts credentials.json service-account.json id_xmss secring.gpg"
)
_KEY_ENDINGS = (".pem", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".key", ".keytab")
ENVIRONMENT = r"\.env(?:rc)?(?![^._\-/:])(?!\S*\.(?:example|sample|template|dist)$)"
_ENVIRONMENT = re.compile(ENVIRONMENT)


@functools.lru_cache(4096)
def is_credential(path: str, home: str | None) -> bool:
    """Does this path hold secrets, or lie in a directory that does?"""
    names = tuple(map(folded, components(path)))
    if not names:
        return False
    last = names[-1]
    plain = "/" + "/".join(names)
    if _is_key(last) or is_environment_file(last) or ".ssh" in names or _SYSTEM.match(plain):
        return True
    if home is not None and inside(path, home) and _lies_in(names[len(components(home)) :], _HOME):
        return True
    somebodys = _HOMES.match(plain)
    return somebodys is not None and _lies_in(tuple(plain[somebodys.end() + 1 :].split("/")), _HOME)


def is_environment_file(name: str) -> bool:
    """`.env`, `.env.local`, `.envrc` …, but not the example that is checked in."""
    return _ENVIRONMENT.match(folded(name)) is not None


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
