"""What a person sends with a prompt, as the model gets it: text, pictures, the content of files, and where to find more.
Pure."""

import base64
import binascii
from collections.abc import Iterable
from urllib.parse import unquote, urlsplit

from signoff.domain.errors import UsageError
from signoff.providers.provider import Image, Text
from signoff.wire import acp_schema as schema

PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


def taken(blocks: Iterable[schema.ContentBlock]) -> tuple[tuple[Text | Image, ...], str]:
    """All of it, and only what was typed: links and files are no part of that. Raises UsageError for what we did not say
    we take."""
    parts: list[Text | Image] = []
    typed: list[str] = []
    for block in blocks:
        if isinstance(block, schema.TextContent):  # nearly always
            parts.append(Text(block.text))
            typed.append(block.text)
        else:
            parts.append(_other(block))
    if not parts:
        raise UsageError("the prompt is empty")
    return tuple(parts), "\n".join(typed)


def _other(
    block: schema.ImageContent | schema.AudioContent | schema.ResourceLink | schema.EmbeddedResource | schema.Unknown,
) -> Text | Image:
    match block:
        case schema.ImageContent(data=data, mimeType=kind):
            return _image(data, kind)
        case schema.ResourceLink(uri=uri, name=name):
            return Text(f"[{name}]({uri})" if not (path := local(uri)) else f"@{path}")
        case schema.EmbeddedResource(resource=resource):
            return _resource(resource)
        case schema.AudioContent():
            raise UsageError("this agent takes no sound")
        case _:
            raise UsageError(f"this agent takes no content of type {block.get('type')!r}")


def _resource(resource: schema.EmbeddedResourceResource) -> Text | Image:
    where = local(resource.uri) or resource.uri
    if isinstance(resource.text, str):
        return Text(f'<file path="{where}">\n{resource.text}\n</file>')
    kind = resource.mimeType or ""
    if kind in PICTURES and isinstance(resource.blob, str):
        return _image(resource.blob, kind)
    return Text(f"[{where}: {kind or 'data'} that is no text]")


def _image(data: str, kind: str) -> Image:
    if kind not in PICTURES:
        raise UsageError(f"{kind} is no picture this agent takes", hint=f"One of: {', '.join(sorted(PICTURES))}.")
    try:
        base64.b64decode(data, validate=True)
    except binascii.Error as error:
        raise UsageError("the picture is not base64") from error
    return Image(kind, data)


def local(uri: str) -> str | None:
    """The path, if the address is one of a file here."""
    found = urlsplit(uri)
    if found.scheme != "file" or found.netloc not in ("", "localhost"):
        return None
    return unquote(found.path)
