"""What does this command line do? Shell text in, aspects out; what cannot be read says so."""

from signoff.policy.shell.reading import Reading
from signoff.policy.shell.script import read_argv, read_script

__all__ = ["Reading", "read_argv", "read_script"]
