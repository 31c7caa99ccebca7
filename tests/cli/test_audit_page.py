"""The page of a run in a real browser."""

import pathlib
import re
import shutil
import subprocess

import pytest

from tests.cli.program import signoff

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",  # tests may run as root; the page is our own and loads nothing
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
@pytest.mark.parametrize("width", [380, 1400])
def test_the_page_fits_its_window_and_shows_the_run(home: pathlib.Path, width: int) -> None:
    workspace = home / "ws"
    workspace.mkdir()
    signoff("exec", "--", "sh", "-c", "echo " + "x" * 300, cwd=workspace)
    (ledger,) = (home / ".local/state/signoff/runs").glob("*.jsonl")
    page = home / "run.html"
    page.write_text(signoff("audit", "show", str(ledger), "--html", cwd=workspace).out, encoding="utf-8")
    own_rules = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')  # they forbid our measuring script
    probe = own_rules.sub("", page.read_text(encoding="utf-8")).replace(
        "</body>",
        "<script>document.title = 'overflow:' + (document.documentElement.scrollWidth - innerWidth)</script></body>",
    )
    page.write_text(probe, encoding="utf-8")
    shown = subprocess.run(
        [
            str(CHROMIUM),
            *FLAGS,
            f"--user-data-dir={home}/browser",
            f"--window-size={width},900",
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout
    assert "builtin." in shown
    overflow = re.search(r"<title>overflow:(-?\d+)</title>", shown)
    assert overflow is not None
    assert int(overflow[1]) <= 0, f"{overflow[1]} pixels wider than a window of {width}"
