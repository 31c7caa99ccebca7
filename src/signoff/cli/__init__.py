"""The person at the terminal: one file per command, loaded only when it is called."""
