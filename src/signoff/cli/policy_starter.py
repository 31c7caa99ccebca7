"""The files `signoff policy init` writes."""

RULE_FILE = """\
# Rules for commands. Of all rules that match, the strictest wins: forbidden, then prompt, then allow.
# Every form of the language is here; `signoff policy test` runs the examples, `signoff why -- CMD` explains a verdict.

# Run without a question, and outside the sandbox, because every word of the pattern is named here.
# prefix_rule(
#     pattern = ["npm", ["test", "ci"]],         # a list inside is a choice
#     decision = "allow",
#     match = ["npm test", ["npm", "ci"]],       # checked whenever the file is read
#     not_match = ["npm publish"],
# )

# Always ask, with a reason the person sees.
# prefix_rule(pattern = ["git", "push"], decision = "prompt", justification = "others see it at once")

# Never.
prefix_rule(
    pattern = [["mkfs", "shutdown", "reboot"]],
    decision = "forbidden",
    justification = "not from an agent",
    match = ["reboot now"],
)

# An allow rule for `git` covers these paths too.
# host_executable(name = "git", paths = ["/usr/bin/git"])

# Hosts, for the limited network.
# network_rule(host = "pypi.org", protocol = "https", decision = "allow")
"""

POLICY_FILE = """\
# Rules for everything that is not a command: tools, files, hosts. The strictest of all that match wins.
# `signoff policy list` shows the built-in rules as well.

# What happens with a tool no rule speaks about: allow, ask or deny.
default_action = "ask"

# A path without a leading / or ~/ lies in the workspace; ** crosses directories.
[[rule]]
id = "ask.workflows"
decision = "ask"
action = "write"
paths = [".github/workflows"]
reason = "runs with the rights of the repository"
match = [".github/workflows/release.yml"]
not_match = ["docs/workflows.md"]

# [[rule]]
# id = "allow.docs"
# decision = "allow"
# hosts = ["docs.python.org", "*.readthedocs.io", "10.0.0.0/8"]
# expires = 2030-01-31T12:00:00Z

# [[rule]]
# id = "allow.fs.read"
# decision = "allow"
# tool = "fs.*"
# action = "read"
# expires_in_ms = 60000
"""
