"""The entry point. `version` and `--help` are answered before anything is imported; everything else goes to the application."""

import os
import sys

# As in domain.errors.Exit, which is too slow to import here; a test compares them.
INTERNAL, INTERRUPTED, PIPE_CLOSED = 5, 130, 141

HELP = ((), ("-h",), ("--help",), ("help",))
VERSION = (("version",), ("-V",), ("--version",))
VERSION_JSON = ("version", "--json")


def main() -> None:
    try:
        status = run(sys.argv[1:])
        if sys.stdout is not None:  # None where the program was started with stdout closed
            sys.stdout.flush()
    except KeyboardInterrupt:
        status = INTERRUPTED
    except BrokenPipeError:
        status = abandon(PIPE_CLOSED)
    except OSError as error:
        sys.stderr.write(f"signoff: the system refused: {error.strerror}\n")
        status = abandon(INTERNAL)
    sys.exit(status)


def abandon(status: int) -> int:
    """Nobody takes what is still buffered: give the interpreter's last flush somewhere to go."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return status


def run(arguments: list[str]) -> int:
    text = instant(tuple(arguments))
    if text is None or "_SIGNOFF_COMPLETE" in os.environ:
        import gc

        gc.set_threshold(50_000)  # loading modules makes many objects and hardly any garbage
        from signoff.cli import app

        status = app.run(arguments)
        gc.freeze()  # the process ends: no last search for garbage through everything that was loaded
        return status
    if sys.stdout is not None:
        sys.stdout.write(text)
    return 0


def instant(arguments: tuple[str, ...]) -> str | None:
    """What needs no application."""
    if arguments in HELP:
        from signoff.cli import help

        return help.text()
    if arguments in VERSION or arguments == VERSION_JSON:
        from signoff.cli import installed

        return installed.json() if arguments == VERSION_JSON else installed.text()
    return None
