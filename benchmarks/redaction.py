"""Redaction of source code and of logs against detect-secrets scanning the same text.

The reference is `scan_file` of detect-secrets with its default plugins: the way its users run it over a tree. It reports
where secrets are; we also write the text without them. It gets a smaller share of the text, both are turned into bytes
per second.
"""

import pathlib
import sysconfig
import tempfile

from benchmarks.figure import Figure, Unavailable, at_least, medians
from signoff.domain.settings import Redact
from signoff.ledger.redact import Redactor

ROUNDS = 5
OURS = 2_000_000
THEIRS = 100_000
REFERENCE = "detect-secrets scan_file"


def measure() -> list[Figure]:
    return [_ratio("redact source code", _source()), _ratio("redact logs", _logs())]


def _ratio(name: str, text: bytes) -> Figure:
    try:
        from detect_secrets.core.scan import scan_file
        from detect_secrets.settings import default_settings
    except ImportError as error:
        raise Unavailable("detect-secrets is not installed") from error
    ours = (text * (OURS // len(text) + 1))[:OURS]
    with tempfile.TemporaryDirectory() as directory, default_settings():
        share = pathlib.Path(directory, "text.txt")
        share.write_bytes(text[:THEIRS])
        arms = {"ours": lambda: _redact(ours), REFERENCE: lambda: list(scan_file(str(share)))}
        seconds = medians(arms, rounds=ROUNDS)
    ratio = (len(ours) / seconds["ours"]) / (min(len(text), THEIRS) / seconds[REFERENCE])
    return at_least(name, ratio, 20, reference=REFERENCE)


def _redact(text: bytes) -> bytes:
    stream = Redactor(Redact.BASIC, reversible=False).stream()
    return stream.feed(text) + stream.finish()


def _source() -> bytes:
    library = pathlib.Path(sysconfig.get_path("stdlib"))
    return b"".join(path.read_bytes() for path in sorted(library.glob("*.py")))[:OURS]


def _logs() -> bytes:
    """Lines as package managers, web servers and services write them."""
    lines = (
        "2025-06-24 14:{m:02}:{s:02} status installed libsystemd{n}:amd64 252.38-1~deb12u{n}",
        '10.0.{s}.{m} - - [24/Jun/2025:14:{m:02}:{s:02} +0000] "GET /api/v1/items/{n}?page={s} HTTP/1.1" 200 {n}12 "-" "curl/8.5.0"',
        "Jun 24 14:{m:02}:{s:02} host-{s} systemd[{n}]: Started session-{n}.scope - Session {n} of user app.",
        '{{"ts":"2025-06-24T14:{m:02}:{s:02}Z","level":"info","msg":"request done","path":"/items/{n}","ms":{s},"trace":"{n:032x}"}}',
        "2025-06-24T14:{m:02}:{s:02}.{n:06}Z INFO worker.pool: job {n} finished in {s}.{m} s (queue=default, attempt=1)",
    )
    return "\n".join(lines[n % len(lines)].format(n=n, m=n // 60 % 60, s=n % 60) for n in range(20_000)).encode()
