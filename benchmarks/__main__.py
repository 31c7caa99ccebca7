"""python -m benchmarks [NAME…] [--json]: run each module of this folder that has a `measure()`, print the table.

Exit status 1 when a bar does not hold or a measurement broke; the others are made all the same.
"""

import argparse
import importlib
import pkgutil
import sys
import traceback

import msgspec

import benchmarks
from benchmarks.figure import Figure, Unavailable

APPARATUS = {
    "figure",
    "undisturbed",
    "soak",
    "soak_watch",
    "acp_wire",
    "acp_reference",
    "acp_socket_reference",
    "__main__",
}


def names() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(benchmarks.__path__) if module.name not in APPARATUS)


class Outcome(msgspec.Struct):
    figures: list[Figure] = []
    skipped: dict[str, str] = {}  # by name: what this machine lacks
    broken: dict[str, str] = {}  # by name: the error

    @property
    def good(self) -> bool:
        return not self.broken and all(figure.holds for figure in self.figures)


def run(chosen: list[str], package: str = "benchmarks") -> Outcome:
    outcome = Outcome()
    for name in chosen:
        print(f"measuring {name} …", file=sys.stderr)
        try:
            module = importlib.import_module(f"{package}.{name}")
            outcome.figures += module.measure() if hasattr(module, "measure") else []
        except Unavailable as reason:
            outcome.skipped[name] = str(reason)
        except Exception as error:
            traceback.print_exc()
            outcome.broken[name] = f"{type(error).__name__}: {error}"
    return outcome


def table(figures: list[Figure]) -> str:
    heading = ("figure", "value", "bar", "holds", "against")
    rows = [
        (
            figure.name,
            f"{figure.value:{',.2f' if figure.value < 100 else ',.0f'}} {figure.unit}",
            figure.bar,
            "yes" if figure.holds else "NO",
            figure.reference,
        )
        for figure in figures
    ]
    widths = [max(len(row[column]) for row in [heading, *rows]) for column in range(len(heading))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [heading, *rows]
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure the figures of the README.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of: {', '.join(names())}")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.names) - set(names()))
    if unknown:
        parser.error(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(names())}")
    outcome = run(arguments.names or names())
    if arguments.json:
        print(msgspec.json.format(msgspec.json.encode(outcome)).decode())
    else:
        print(table(outcome.figures))
        for name, reason in outcome.skipped.items():
            print(f"not measured here: {name}: {reason}")
        for name, error in outcome.broken.items():
            print(f"BROKEN: {name}: {error}")
    return 0 if outcome.good else 1


if __name__ == "__main__":
    sys.exit(main())
