"""The line that remembers an approval, and what a rule file looks like with it. Writing it down safely is the business
of `config/rules`."""

from typing import TYPE_CHECKING

from signoff.domain.errors import RulesInvalid
from signoff.domain.late import late
from signoff.domain.verdict import Decision
from signoff.policy.execpolicy.rule import WORDS, NetworkRule, Words

if TYPE_CHECKING:
    import json
else:
    json = late("json")


def prefix_line(prefix: Words) -> str:
    if not prefix:
        raise RulesInvalid("prefix rule requires at least one token", hint="Name at least the program.")
    words = ", ".join(json.dumps(word, ensure_ascii=False) for word in prefix)
    return f'prefix_rule(pattern=[{words}], decision="allow")'


def network_line(rule: NetworkRule) -> str:
    decision = "deny" if rule.decision == Decision.DENY else WORDS[rule.decision]
    host = json.dumps(rule.host, ensure_ascii=False)
    line = f'network_rule(host={host}, protocol="{rule.protocol}", decision="{decision}"'
    if rule.justification is not None:
        line += f", justification={json.dumps(rule.justification, ensure_ascii=False)}"
    return line + ")"


def with_line(text: str, line: str) -> str:
    """The file's text with the line in it, once. A last line without an end gets one first."""
    if line in text.split("\n"):
        return text
    if text and not text.endswith("\n"):
        text += "\n"
    return f"{text}{line}\n"


# Saying yes to one of these words alone would say yes to everything it can run, so they are never proposed.
_SHELLS = {
    "bash": ("-c", "-lc"),
    "sh": ("-c", "-lc"),
    "zsh": ("-c", "-lc"),
    "dash": ("-c",),
    "fish": ("-c",),
    "ksh": ("-c",),
}
_POWERSHELL = ("-Command", "-EncodedCommand", "-File", "-c")
_RUNNERS: dict[str, tuple[str, ...]] = {
    **_SHELLS,
    **{f"/bin/{name}": _SHELLS[name] for name in ("bash", "sh", "zsh")},
    **dict.fromkeys(("cmd", "cmd.exe"), ("/c", "/k")),
    **dict.fromkeys(("powershell", "powershell.exe"), _POWERSHELL),
    "pwsh": (*_POWERSHELL, "-e", "-ec", "-f"),
    **dict.fromkeys(("python", "python3"), ("-", "-c")),
    "py": ("-3",),
    **dict.fromkeys(("pypy", "pypy3", "pythonw", "pyw"), ()),
    **dict.fromkeys(("node", "nodejs", "perl", "ruby", "lua", "julia"), ("-e",)),
    "php": ("-r",),
    "bun": ("-e", "run"),
    "deno": ("eval",),
    **dict.fromkeys(("Rscript", "osascript", "env", "git", "rm", "sudo"), ()),
    **dict.fromkeys(("doas", "busybox", "npx", "bunx", "uvx", "pnpx", "tclsh", "ssh"), ()),
    **dict.fromkeys(("npm", "pnpm", "yarn"), ("run", "exec", "x", "dlx")),
    **dict.fromkeys(("uv", "pipx", "poetry", "pdm", "hatch", "rye"), ("run",)),
}
BANNED: frozenset[Words] = frozenset(
    [(name,) for name in _RUNNERS] + [(name, option) for name, options in _RUNNERS.items() for option in options]
)
_BANNED_FOLDED = frozenset((words[0].lower(), *words[1:]) for words in BANNED)


# Programs whose subcommands do quite different things: a yes to one of them says nothing about the others.
_FAMILIES = [
    "apt",
    "apt-get",
    "asdf",
    "aws",
    "az",
    "brew",
    "bundle",
    "cargo",
    "composer",
    "conda",
    "docker",
    "dotnet",
    "flutter",
    "gcloud",
    "gem",
    "gh",
    "glab",
    "go",
    "gradle",
    "gradlew",
    "hatch",
    "helm",
    "heroku",
    "ip",
    "kubectl",
    "lerna",
    "mix",
    "mvn",
    "mvnw",
    "nerdctl",
    "nix",
    "npm",
    "nx",
    "oc",
    "pdm",
    "pip",
    "pip3",
    "pipx",
    "pnpm",
    "podman",
    "poetry",
    "pulumi",
    "rake",
    "rustup",
    "rye",
    "snap",
    "swift",
    "systemctl",
    "terraform",
    "tofu",
    "turbo",
    "uv",
    "vagrant",
    "vercel",
    "yarn",
]


def has_subcommands(program: str) -> bool:
    return program.rsplit("/", 1)[-1].lower() in _FAMILIES


def opens_everything(prefix: Words) -> bool:
    """Is it one of those, by any path, version or spelling of its program?"""
    if not prefix:
        return True
    name = prefix[0].rsplit("/", 1)[-1].lower().removesuffix(".exe")
    return any((one, *prefix[1:]) in _BANNED_FOLDED for one in (name, name.rstrip("0123456789.-")))
