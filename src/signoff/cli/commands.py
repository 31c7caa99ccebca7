"""The command table: name, where the click command lives, and its line in `signoff --help`. Modules are named as strings
so that a command costs nothing until it is called, and this file imports nothing, so that help costs nothing either."""


class Entry:
    __slots__ = ("summary", "target")

    def __init__(self, target: str, summary: str) -> None:
        self.target = target  # module:attribute
        self.summary = summary


COMMANDS: dict[str, Entry] = {
    "acp": Entry("signoff.cli.acp:acp", "Serve our agent to editors, or speak to another agent (ACP)."),
    "audit": Entry("signoff.cli.audit:audit", "Read the ledger of a run, and check that nobody changed it."),
    "chat": Entry("signoff.cli.chat:chat", "Talk with our own agent, at the terminal or in a pipe."),
    "config": Entry("signoff.cli.config:config", "Look at settings, change them, trust a project's."),
    "demo": Entry("signoff.cli.demo:demo", "Watch a scripted agent work and misbehave, in a throw-away directory."),
    "doctor": Entry("signoff.cli.doctor:doctor", "Check whether this machine can do what signoff promises."),
    "completion": Entry("signoff.cli.completion:completion", "Print the completion script of a shell."),
    "exec": Entry(
        "signoff.cli.exec:exec_", "Run one command through the gate: judged, asked about, confined, recorded."
    ),
    "execpolicy": Entry("signoff.cli.execpolicy:execpolicy", "Ask rule files, and nothing else, about a command."),
    "grants": Entry("signoff.cli.grants:grants", "See what was approved for good or for a while, and take it back."),
    "memory": Entry("signoff.cli.memory:memory", "Search what past runs taught, correct it, take it along."),
    "models": Entry("signoff.cli.models:models", "See which model providers are set up, and what they offer."),
    "policy": Entry(
        "signoff.cli.policy:policy", "Try commands against the rules, test the rules, see what is in force."
    ),
    "why": Entry("signoff.cli.why:why", "Explain a verdict: every rule that had a part in it, and what would happen."),
    "redact": Entry("signoff.cli.redact:redact", "Take secrets out of what comes in on standard input."),
    "run": Entry("signoff.cli.run:run", "Give our own agent a task: every call judged, confined, recorded."),
    "sandbox": Entry("signoff.cli.sandbox:sandbox", "Run one command in the sandbox, without policy."),
    "replay": Entry("signoff.cli.replay:replay_", "Judge a recorded run again, under other rules."),
    "wrap": Entry("signoff.cli.wrap:wrap", "Supervise another agent: pass its output through, judge each tool call."),
    "sessions": Entry("signoff.cli.sessions:sessions", "See what the agent worked on, and go on with it."),
    "tools": Entry("signoff.cli.tools:tools", "See the tools an agent has, and call one through the gate."),
    "undo": Entry("signoff.cli.undo:undo", "Put back what a call or a run changed."),
    "version": Entry("signoff.cli.version:version", "Show what is installed: version, commit, Python, platform."),
}

# Options of `signoff` itself, before the command: names, placeholder of the value, meaning.
OPTIONS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("-c", "--config"), "KEY=VALUE", "Set a setting for this call only; may be repeated."),
    (("--debug",), "", "Show stack traces."),
    (("-q", "--quiet"), "", "Say only what was asked for, and errors."),
    (("--no-color",), "", "Never use colour; NO_COLOR does the same."),
    (("-V", "--version"), "", "Show what is installed."),
    (("-h", "--help"), "", "Show this text."),
)

EXAMPLES: tuple[str, ...] = (
    "signoff doctor",
    "signoff config list --origin",
    "signoff config set sandbox.mode read-only",
)
