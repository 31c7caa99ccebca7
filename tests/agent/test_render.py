"""What a model reads of a result, and what it looks at."""

from signoff.agent.render import for_model, pictures
from signoff.domain.call import ToolResult
from signoff.providers.provider import Image


def test_a_picture_is_looked_at_and_not_read() -> None:
    payload = {"path": "a.png", "kind": "image", "images": ({"media_type": "image/png", "data": "iVBORw=="},)}
    result = ToolResult("c", True, payload, None, 1)

    assert for_model(result) == "path: a.png\nkind: image"
    assert pictures(result) == (Image("image/png", "iVBORw=="),)
    assert pictures(ToolResult("c", True, None, None, 1)) == ()
