"""Every message against the protocol's own schema, by a validator that knows nothing of our types."""

import functools
import json
import pathlib
from typing import Any

import jsonschema

HERE = pathlib.Path(__file__).parents[1] / "schemas" / "acp"
OURS = {"session/set_model": ({"type": "object"}, {"type": "object"})}  # gone upstream, kept for clients that use it


@functools.cache
def _document(name: str) -> dict[str, Any]:
    return dict(json.loads((HERE / name).read_text(encoding="utf-8")))


@functools.cache
def _types() -> dict[str, dict[str, str]]:
    """Method -> kind (Request, Response, Notification) -> type and where it stands."""
    found: dict[str, dict[str, str]] = {}
    for name in ("schema.unstable.json", "schema.json"):
        for kind, definition in _document(name)["$defs"].items():
            if "x-method" in definition:
                role = next(word for word in ("Request", "Response", "Notification") if kind.endswith(word))
                found.setdefault(definition["x-method"], {})[role] = f"{name}#{kind}"
    return found


@functools.cache
def _validator(where: str) -> jsonschema.Draft202012Validator:
    name, _, kind = where.partition("#")
    document = _document(name)
    return jsonschema.Draft202012Validator({"$ref": f"#/$defs/{kind}", "$defs": document["$defs"]})


def validate(ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> None:
    """All frames one side of a connection wrote; the other side's say what each answer belongs to."""
    asked = {frame["id"]: frame["method"] for frame in theirs if "method" in frame and "id" in frame}
    for frame in ours:
        _check(frame, asked)


def _check(frame: dict[str, Any], asked: dict[Any, str]) -> None:
    assert frame["jsonrpc"] == "2.0"
    method = frame.get("method") or asked.get(frame.get("id"))
    if "error" in frame:
        _validator("schema.json#Error").validate(frame["error"])
        return
    assert method is not None, f"an answer nobody asked for: {frame}"
    role = "Response" if "method" not in frame else "Request" if "id" in frame else "Notification"
    if method in OURS or method.startswith("_"):
        return
    where = _types()[method].get(role)
    assert where is not None, f"{method} is no {role}"
    _validator(where).validate(frame.get("params", {}) if role != "Response" else frame["result"])
