"""Short ways to make the content of a prompt or an update. Pure."""

from msgspec import UNSET

from signoff.wire import acp_schema as schema


def text(words: str) -> schema.TextContent:
    return schema.TextContent(text=words)


def image(data_base64: str, media_type: str) -> schema.ImageContent:
    return schema.ImageContent(data=data_base64, mimeType=media_type)


def audio(data_base64: str, media_type: str) -> schema.AudioContent:
    return schema.AudioContent(data=data_base64, mimeType=media_type)


def resource_link(uri: str, name: str, *, media_type: str | None = None) -> schema.ResourceLink:
    return schema.ResourceLink(uri=uri, name=name, mimeType=media_type or UNSET)
