"""A second verifier, written from the description of the format alone. It shares no line with the product.

python tests/ledger/sceptic.py FILE [COUNT:HEAD]
"""

import hashlib
import json
import pathlib
import sys

OK, EDITED, MISSING, REORDERED, TORN, UNFINISHED = 0, 60, 61, 62, 63, 64


def parse(text):
    """The line, if its first member is the hash of the rest; else None."""
    first, _, rest = text.partition(b",")
    digest = hashlib.sha256(b"{" + rest).hexdigest()
    return json.loads(text) if first == b'{"hash":"%b"' % digest.encode() else None


def judge(data, count=0, head=None):
    *texts, rest = data.split(b"\n")
    lines = [parse(text) for text in texts]
    numbers = [line and line["seq"] for line in lines]
    previous, closed = "0" * 64, False
    for place, line in enumerate(lines):
        if line is None:
            return EDITED
        if line["seq"] != place:
            return REORDERED if line["seq"] < place or place in numbers[place:] else MISSING
        if closed or line["prev"] != previous or line["run_id"] != lines[0]["run_id"]:
            return EDITED
        if place + 1 == count and head not in (None, line["hash"]):
            return EDITED
        previous, closed = line["hash"], line["what"]["type"] == "close" and line["what"]["count"] == place
    if len(lines) < count or not data.strip(b" "):
        return EDITED if rest and parse(rest[:-1]) else MISSING
    if rest and (closed or rest.strip(b" ")):
        return EDITED if parse(rest[:-1]) else TORN
    return OK if closed else UNFINISHED


if __name__ == "__main__":
    expected, _, known = (sys.argv[2] if len(sys.argv) > 2 else "0:").partition(":")
    sys.exit(judge(pathlib.Path(sys.argv[1]).read_bytes(), int(expected), known or None))
