"""A picture in a payload: under `images`, for a model that can look at it. Others are told that there is one. Pure."""

import base64

import msgspec

LARGEST = 3_750_000  # bytes; models take five million characters
SEEN = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


class Picture(msgspec.Struct, frozen=True):
    media_type: str
    data: str  # base64


def pictured(media_type: str, data: bytes) -> tuple[Picture, ...]:
    """The picture, if models take this kind and size."""
    if media_type not in SEEN or not 0 < len(data) <= LARGEST:
        return ()
    return (Picture(media_type, base64.b64encode(data).decode()),)
