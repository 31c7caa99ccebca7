"""Where a program has to lie to be the one its name promises."""

_SYSTEM_DIRECTORIES = frozenset({"/bin", "/usr/bin", "/sbin", "/usr/sbin"})


def is_the_systems_own(program: str) -> bool:
    """Whether the word names a program by its bare name, or by a path where only the system puts programs."""
    directory, slash, _ = program.rpartition("/")
    return not slash or directory in _SYSTEM_DIRECTORIES
