"""Copy the table of measured figures from README.md into its translation, so that both say the same."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = "| figure |"


def table(text: str) -> str:
    """The lines of the table, from its head to the first line that is none of it."""
    lines = text[text.index(TABLE) :].splitlines()
    return "\n".join(lines[: next((n for n, line in enumerate(lines) if not line.startswith("|")), len(lines))])


def main() -> int:
    original, translation = (ROOT / name for name in ("README.md", "README.zh-CN.md"))
    text = translation.read_text(encoding="utf-8")
    translation.write_text(text.replace(table(text), table(original.read_text(encoding="utf-8"))), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
