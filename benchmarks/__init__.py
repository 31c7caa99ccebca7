"""One file per figure of the README's table, each a ratio against a named reference measured in the same run."""
