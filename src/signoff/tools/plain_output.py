"""Terminal output as a reader without a terminal needs it: no colours, no cursor movements, progress bars at their end. Pure."""

import re

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, movements
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\|\Z)"  # OSC, DCS, SOS, PM, APC: titles, links
    r"|\x1b[ -/]*[0-~]"  # everything shorter
    r"|[\x00-\x07\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]",
    re.DOTALL,
)
_BACKSPACE = re.compile(r"[^\n\x08]\x08")


def plain(text: str) -> str:
    """What is left on the screen, roughly: a line that was written over keeps its last version."""
    if not ("\x1b" in text or "\r" in text or "\x08" in text or _ESCAPES.search(text)):
        return text
    text = _ESCAPES.sub("", text)
    while _BACKSPACE.search(text):
        text = _BACKSPACE.sub("", text)
    text = text.replace("\x08", "")
    return "\n".join(map(_last_version, text.replace("\r\n", "\n").split("\n")))


def _last_version(line: str) -> str:
    if "\r" not in line:
        return line
    return next((part for part in reversed(line.split("\r")) if part), "")
