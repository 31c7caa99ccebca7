"""The rule language for commands: reading rule files, finding the rules that match, writing new lines."""
