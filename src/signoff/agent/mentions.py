"""`@path` in a prompt brings the file along. It is read through the gate, like every other file the model gets to see."""

import os
import re
from collections.abc import Awaitable, Callable
from typing import Any

from signoff.agent.render import for_model
from signoff.domain.call import ToolResult
from signoff.domain.late import late_pattern
from signoff.providers.provider import Image, Text

MOST = 20
_MENTION = late_pattern(r"(?<![\w@/.])@(?:\"([^\"\n]+)\"|([\w~./\-]*[\w/\-]))", re.UNICODE)

Read = Callable[[str, dict[str, Any]], Awaitable[ToolResult]]
"""Carries a call of that tool with those arguments through the gate."""


def mentioned(text: str, workspace: str) -> tuple[str, ...]:
    """The paths a text mentions that are there; any other word after an @ is just a word."""
    if "@" not in text:
        return ()
    names = dict.fromkeys(quoted or plain for quoted, plain in _MENTION.findall(text))
    return tuple(name for name in names if os.path.exists(os.path.join(workspace, name)))[:MOST]


async def brought(parts: tuple[Text | Image, ...], workspace: str, read: Read) -> tuple[Text | Image, ...]:
    """The prompt with the files it mentions, or with the reason why one of them is not there. Without an @ it mentions none."""
    names = mentioned("\n".join([part.text for part in parts if isinstance(part, Text)]), workspace)
    for name in names:
        result = await read(_tool(name, workspace), {"path": name})
        parts = (*parts, Text(f'\n\n<file path="{name}">\n{for_model(result)}\n</file>'))
    return parts


def _tool(name: str, workspace: str) -> str:
    return "list_dir" if os.path.isdir(os.path.join(workspace, name)) else "read_file"
