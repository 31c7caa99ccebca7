"""Search files for a pattern, in a process of its own: a pattern can take for ever, and a process can be stopped.

Handed as text to a Python in the sandbox, so it may use nothing but the standard library. Reads one JSON object from stdin,
writes one JSON list a match: path, line, text. Exit status 2: the pattern is bad, and stderr says why.
"""

import json
import re
import sys

LONGEST_TEXT = 500


def main() -> int:
    wanted = json.load(sys.stdin)
    flags = re.IGNORECASE if wanted["ignore_case"] else re.NOFLAG
    flags |= re.MULTILINE | re.DOTALL if wanted["multiline"] else re.NOFLAG
    try:
        pattern = re.compile(wanted["pattern"], flags)
    except re.error as error:
        sys.stderr.write(f"{error}\n")
        return 2
    for path in wanted["files"]:
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError:
            continue
        if b"\0" not in data:
            report(path, data.decode("utf-8", "replace"), pattern, wanted["multiline"])
    return 0


def report(path: str, text: str, pattern: re.Pattern[str], multiline: bool) -> None:
    if multiline:
        for match in pattern.finditer(text):
            begin = text.rfind("\n", 0, match.start()) + 1
            end = text.find("\n", max(match.end() - 1, match.start()))
            write(path, text.count("\n", 0, begin) + 1, text[begin : None if end < 0 else end])
        return
    for number, line in enumerate(text.split("\n"), 1):
        if pattern.search(line.removesuffix("\r")) and (line or number <= text.count("\n")):
            write(path, number, line.removesuffix("\r"))


def write(path: str, line: int, text: str) -> None:
    sys.stdout.write(json.dumps([path, line, text[:LONGEST_TEXT]]) + "\n")


if __name__ == "__main__":
    sys.exit(main())
