"""Variables given on the command line as NAME=VALUE."""

from signoff.domain.errors import UsageError
from signoff.domain.visible import visible


def variables(given: tuple[str, ...]) -> dict[str, str]:
    """What --env was given."""
    wrong = next((each for each in given if "=" not in each or each.startswith("=")), None)
    if wrong is not None:
        raise UsageError(f"--env takes NAME=VALUE, not {visible(wrong)}")
    return dict(each.split("=", 1) for each in given)
