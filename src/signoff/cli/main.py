"""The entry point. Answers `version` and `--help` before anything is imported; everything else goes to the application."""

import sys


def main() -> None:
    from signoff.cli.app import run

    sys.exit(run(sys.argv[1:]))
