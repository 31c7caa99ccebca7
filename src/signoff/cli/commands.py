"""The command table: name, where the click command lives, and its line in `signoff --help`. Modules are named as strings
so that a command costs nothing until it is called, and this file imports nothing, so that help costs nothing either."""


class Entry:
    __slots__ = ("summary", "target")

    def __init__(self, target: str, summary: str) -> None:
        self.target = target  # module:attribute
        self.summary = summary


# by what somebody wants to do, in the order of the help text
GROUPS: dict[str, dict[str, Entry]] = {
    "Let something work": {
        "wrap": Entry("signoff.cli.wrap:wrap", "Supervise another agent: judge each tool call it announces."),
        "run": Entry("signoff.cli.run:run", "Give our own agent a task: every call judged, confined, recorded."),
        "chat": Entry("signoff.cli.chat:chat", "Talk with our own agent, at the terminal or in a pipe."),
        "acp": Entry("signoff.cli.acp:acp", "Serve our agent to editors, or speak to another agent (ACP)."),
        "exec": Entry("signoff.cli.exec:exec_", "Run one command: judged, asked about, confined, recorded."),
        "sandbox": Entry("signoff.cli.sandbox:sandbox", "Run one command in the sandbox, without policy."),
        "tools": Entry("signoff.cli.tools:tools", "See the tools an agent has, and call one through the gate."),
    },
    "Say what is allowed": {
        "why": Entry("signoff.cli.why:why", "Explain a verdict: which rules spoke, and what would happen."),
        "policy": Entry(
            "signoff.cli.policy:policy", "Try commands against the rules, test them, see what is in force."
        ),
        "grants": Entry(
            "signoff.cli.grants:grants", "See what was approved for good or for a while, and take it back."
        ),
        "replay": Entry("signoff.cli.replay:replay_", "Judge a recorded run again, under other rules."),
        "execpolicy": Entry("signoff.cli.execpolicy:execpolicy", "Ask rule files, and nothing else, about a command."),
    },
    "See what happened": {
        "audit": Entry("signoff.cli.audit:audit", "Read the ledger of a run, and check that nobody changed it."),
        "undo": Entry("signoff.cli.undo:undo", "Put back what a call or a run changed."),
        "sessions": Entry("signoff.cli.sessions:sessions", "See what the agent worked on, and go on with it."),
        "memory": Entry("signoff.cli.memory:memory", "Search what past runs taught, correct it, take it along."),
    },
    "Set it up": {
        "demo": Entry("signoff.cli.demo:demo", "Watch a scripted agent work, misbehave and be held."),
        "doctor": Entry("signoff.cli.doctor:doctor", "Check whether this machine can do what signoff promises."),
        "config": Entry("signoff.cli.config:config", "Look at settings, change them, trust a project's."),
        "models": Entry("signoff.cli.models:models", "See which model providers are set up, and what they offer."),
        "redact": Entry("signoff.cli.redact:redact", "Take secrets out of what comes in on standard input."),
        "completion": Entry("signoff.cli.completion:completion", "Print the completion script of a shell."),
        "version": Entry("signoff.cli.version:version", "Show what is installed: version, commit, Python, platform."),
    },
}
COMMANDS: dict[str, Entry] = {name: entry for group in GROUPS.values() for name, entry in group.items()}

# Options of `signoff` itself, before the command: names, placeholder of the value, meaning.
OPTIONS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("-c", "--config"), "KEY=VALUE", "Set a setting for this call only; may be repeated."),
    (("--debug",), "", "Show stack traces."),
    (("-q", "--quiet"), "", "Say only what was asked for, and errors."),
    (("-v", "--verbose"), "", "Tell each step of wrap and of the servers."),
    (("--no-color",), "", "Never use colour; NO_COLOR does the same."),
    (("-V", "--version"), "", "Show what is installed."),
    (("-h", "--help"), "", "Show this text."),
)

EXAMPLES: tuple[str, ...] = (
    "signoff demo",
    "signoff why -- git push --force",
    "signoff exec -- make test",
    "signoff audit show last",
)
