"""python -m benchmarks [NAME…] [--json]: run each module of this folder that has a `measure()`, print the table.

Exit status 1 when a bar does not hold.
"""

import argparse
import importlib
import pkgutil
import sys

import msgspec

import benchmarks
from benchmarks.figure import Figure, Unavailable

APPARATUS = {"figure", "undisturbed", "acp_wire", "acp_reference", "acp_socket_reference", "__main__"}


def names() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(benchmarks.__path__) if module.name not in APPARATUS)


def run(chosen: list[str]) -> tuple[list[Figure], dict[str, str]]:
    figures: list[Figure] = []
    skipped: dict[str, str] = {}
    for name in chosen:
        print(f"measuring {name} …", file=sys.stderr)
        module = importlib.import_module(f"benchmarks.{name}")
        if not hasattr(module, "measure"):
            continue
        try:
            figures += module.measure()
        except Unavailable as reason:
            skipped[name] = str(reason)
    return figures, skipped


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
    figures, skipped = run(arguments.names or names())
    if arguments.json:
        print(msgspec.json.format(msgspec.json.encode({"figures": figures, "skipped": skipped})).decode())
    else:
        print(table(figures))
        for name, reason in skipped.items():
            print(f"not measured here: {name}: {reason}")
    return 0 if all(figure.holds for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
