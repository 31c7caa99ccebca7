"""Make the pictures of the docs anew, from the program as it is: `make pictures`.

Each scene runs `signoff` in a terminal of its own, with an empty home and a small project in the temporary directory, waits for
what it should say, types the next keys, and draws the last screen as SVG. The page of the timeline is drawn by Chromium, where
there is one; without it that picture stays as it was.
"""

import html
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pexpect
import pyte

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
PLACE = Path(tempfile.gettempdir()) / "shop"
SIGNOFF = str(ROOT / ".venv" / "bin" / "signoff")
COLUMNS, ROWS = 80, 48
WAIT = 30

CART = "def total(prices):\n    return sum(prices) - 1\n"
TEST = "import unittest\n\nimport cart\n\n\nclass Total(unittest.TestCase):\n    def test_sum(self):\n" + (
    "        self.assertEqual(cart.total([1, 2]), 3)\n"
)
SCRIPT = r"""
{"text": "I read the code and run the tests first.", "tools": [{"name": "read_file", "args": {"path": "cart.py"}}, {"name": "run_terminal_cmd", "args": {"command": "python3 -m unittest -q"}}]}
{"text": "The total is one too small.", "tools": [{"name": "edit_file", "args": {"path": "cart.py", "old": "sum(prices) - 1", "new": "sum(prices)"}}, {"name": "run_terminal_cmd", "args": {"command": "python3 -m unittest -q"}}]}
{"text": "The tests pass. I publish it.", "tools": [{"name": "run_terminal_cmd", "args": {"command": "git push --force origin main"}}]}
{"text": "`total` no longer takes one off, and the tests **pass**. I did not push: you said no.", "stop": "end"}
"""

INK = {
    "default": "#d7dae0",
    "black": "#7f848e",
    "red": "#f07178",
    "green": "#a5d66f",
    "brown": "#e6c06a",
    "blue": "#7aa9f7",
}
INK |= {"magenta": "#d79be8", "cyan": "#6fd0d8", "white": "#d7dae0", "brightblack": "#7f848e"}
GROUND = "#1d2127"
WIDTH, HEIGHT, MARGIN = 8.4, 19, 18


class Terminal:
    """One command in a terminal of 80 columns."""

    def __init__(self, words: list[str], environment: dict[str, str]) -> None:
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self.stream = pyte.Stream(self.screen)
        self.stream.feed("\x1b[1m$\x1b[0m " + shown(words) + "\r\n")
        self.child = pexpect.spawn(words[0], words[1:], env=environment, cwd=str(PLACE), dimensions=(ROWS, COLUMNS))

    def until(self, text: str) -> None:
        """Read until the screen says this."""
        while text not in "\n".join(self.screen.display):
            try:
                self.read(WAIT)
            except pexpect.EOF:
                break
        assert text in "\n".join(self.screen.display), f"{text!r} never came:\n" + "\n".join(self.screen.display)

    def settle(self) -> None:
        """Read what still comes, until the program is silent or gone."""
        try:
            while True:
                self.read(1)
        except (pexpect.EOF, pexpect.TIMEOUT):
            pass

    def read(self, seconds: int) -> None:
        said = self.child.read_nonblocking(65536, timeout=seconds).decode(errors="replace")
        self.stream.feed(said.replace("\x1b[2m", "\x1b[90m"))  # faint: the screen knows it only as a colour

    def type(self, keys: str) -> None:
        self.child.send(keys)


def shown(words: list[str]) -> str:
    return " ".join(["signoff", *(f'"{word}"' if " " in word else word for word in words[1:])])


def svg(screen: pyte.Screen) -> str:
    rows = [row for row in range(screen.lines) if screen.display[row].strip()]
    first, last = rows[0], rows[-1]
    width, height = COLUMNS * WIDTH + 2 * MARGIN, (last - first + 1) * HEIGHT + 2 * MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" '
        'font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="14">',
        f'<rect width="100%" height="100%" rx="8" fill="{GROUND}"/>',
    ]
    for row in range(first, last + 1):
        y = MARGIN + (row - first) * HEIGHT + 14
        lines.extend(pieces(screen, row, y))
    return "\n".join([*lines, "</svg>", ""])


def pieces(screen: pyte.Screen, row: int, y: float) -> Iterator[str]:
    """The text of a row, one element for each stretch of one look."""
    cells = [(column, screen.buffer[row][column]) for column in range(COLUMNS)]
    for (colour, bold), group in groupby(cells, lambda cell: (cell[1].fg, cell[1].bold)):
        stretch = list(group)
        text = "".join(cell.data for _, cell in stretch).rstrip()
        if not text:
            continue
        begin = stretch[0][0] + len(text) - len(text.lstrip())
        text = text.lstrip()
        ink = INK.get(colour, f"#{colour}")
        weight = ' font-weight="bold"' if bold else ""
        yield (
            f'<text x="{MARGIN + begin * WIDTH:g}" y="{y:g}" textLength="{len(text) * WIDTH:g}" fill="{ink}"{weight} '
            f'xml:space="preserve">{html.escape(text, quote=False)}</text>'
        )


def draw(name: str, terminal: Terminal) -> None:
    path = IMAGES / f"{name}.svg"
    path.write_text(svg(terminal.screen), encoding="utf-8")
    print(f"{path.relative_to(ROOT)}  {path.stat().st_size} bytes")


def prepare(home: Path) -> dict[str, str]:
    """A project that is not in order, and a model that has learnt its part."""
    (PLACE / "example.jsonl").write_text(SCRIPT.strip() + "\n")
    (PLACE / "cart.py").write_text(CART)
    (PLACE / "test_cart.py").write_text(TEST)
    for words in (
        ["init", "-q", "-b", "main"],
        ["add", "."],
        ["-c", "user.name=You", "-c", "user.email=you@example.com", "commit", "-qm", "A shop"],
    ):
        subprocess.run(["git", *words], cwd=PLACE, check=True, env=os.environ | {"HOME": str(home)})
    return {
        "HOME": str(home),
        "PATH": f"{Path(SIGNOFF).parent}:{os.environ['PATH']}",
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "SHELL": "/bin/bash",
        "SIGNOFF_MODEL": "scripted/example.jsonl",
    }


def scenes(environment: dict[str, str]) -> None:
    why = Terminal([SIGNOFF, "why", "--", "git", "push", "--force"], environment)
    why.until("sandbox:")
    why.settle()
    draw("why", why)

    chat = Terminal([SIGNOFF, "chat"], environment)
    chat.until("›")
    chat.type("fix the failing test and publish it\r")
    chat.until("Esc")
    chat.settle()
    draw("question", chat)
    chat.type("n")
    chat.until("why not?")
    chat.type("never with --force\r")
    chat.until("you said no")
    chat.settle()
    draw("chat", chat)
    chat.type("\x04")
    chat.settle()


def timeline(environment: dict[str, str], home: Path) -> None:
    """The page of the run that was just talked about, as a browser shows it."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        print("no chromium here: docs/images/timeline.png stays as it was")
        return
    page = home / "run.html"
    subprocess.run(
        [SIGNOFF, "audit", "show", "last", "--html", "-o", str(page)], check=True, env=environment, cwd=PLACE
    )
    text = page.read_text(encoding="utf-8")
    text = text.replace(' id="everything" checked', ' id="everything"').replace(
        ' id="decisions"', ' id="decisions" checked'
    )
    page.write_text(text, encoding="utf-8")  # as if somebody had chosen to see the decisions
    picture = IMAGES / "timeline.png"
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1120,820"]
    options += [f"--user-data-dir={home / 'browser'}", f"--screenshot={picture}", page.as_uri()]
    subprocess.run([browser, *options], check=True, capture_output=True, timeout=60)
    print(f"{picture.relative_to(ROOT)}  {picture.stat().st_size} bytes")


def main() -> int:
    IMAGES.mkdir(exist_ok=True)
    if PLACE.exists():
        sys.exit(f"{PLACE} exists and is not ours: move it away")
    PLACE.mkdir()
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
            environment = prepare(Path(home))
            scenes(environment)
            timeline(environment, Path(home))
    finally:
        shutil.rmtree(PLACE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
