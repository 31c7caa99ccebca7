"""signoff doctor: can this machine do what signoff promises?"""

import os
from pathlib import Path

import click

from signoff.cli.checks import CHECKS
from signoff.cli.finding import Finding, Status, Surroundings, fail
from signoff.cli.output import Output, Style, json_option
from signoff.domain.errors import Exit

STYLES = {Status.OK: Style.GOOD, Status.WARN: Style.WARNING, Status.FAIL: Style.BAD}


@click.command()
@click.option("-v", "--verbose", is_flag=True, help="Show the detail of every check, not only of the bad ones.")
@json_option
@click.pass_obj
def doctor(output: Output, verbose: bool, as_json: bool) -> int:
    """Check whether this machine can do what signoff promises.

    Exits 1 when a check fails; warnings alone do not change the exit status. Nothing of yours is changed. docs/doctor.md lists
    what can be found.

    \b
    Examples:
      signoff doctor
      signoff doctor --json
    """
    here = Surroundings(os.environ, Path.cwd(), output.flags)
    findings = {name: looked(name, here, debug=output.debug) for name in CHECKS}
    if as_json:
        output.json(document(findings))
    else:
        _show(output, findings, verbose)
    return Exit.FOUND if worst(findings) is Status.FAIL else Exit.OK


def looked(name: str, here: Surroundings, *, debug: bool) -> Finding:
    """One finding. A check that breaks has found something too, and must not hide what the others find."""
    try:
        return CHECKS[name](here)
    except Exception as error:
        if debug:
            raise
        fix = 'Please report it with the output of "signoff --debug doctor".'
        return fail(f"{name}.broken", "the check itself failed", f"{type(error).__name__}: {error}", fix)


def document(findings: dict[str, Finding]) -> dict[str, object]:
    checks = [
        {
            "id": name,
            "status": one.status,
            "code": one.code,
            "summary": one.summary,
            "detail": one.detail,
            "fix": one.fix,
        }
        for name, one in findings.items()
    ]
    return {"status": worst(findings), "checks": checks}


def worst(findings: dict[str, Finding]) -> Status:
    return max((finding.status for finding in findings.values()), key=list(Status).index)


def _show(output: Output, findings: dict[str, Finding], verbose: bool) -> None:
    width = max(map(len, findings)) + 2
    margin = " " * (6 + width)
    for name, finding in findings.items():
        status = output.paint(finding.status.ljust(6), STYLES[finding.status])
        output.text(f"{status}{name.ljust(width)}{finding.summary}", len(margin))
        if verbose or finding.status is not Status.OK:
            for line in (finding.detail or "").splitlines():
                output.text(margin + output.paint(line, Style.FAINT), len(margin))
            if finding.fix:
                output.text(f"{margin}→ {finding.fix}", len(margin) + 2)
    counts = [f"{sum(one.status is status for one in findings.values())} {status}" for status in Status]
    output.say(f"{len(findings)} checks: {', '.join(counts)}")
