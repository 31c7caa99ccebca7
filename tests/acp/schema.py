"""An independent opinion on what we send: the published schema and the jsonschema library."""

import functools
import json
import pathlib
from typing import Any

import jsonschema

FOLDER = pathlib.Path(__file__).parents[1] / "schemas" / "acp"
RELEASED = {"session/fork": "schema.unstable.json"}


@functools.cache
def document(name: str) -> Any:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


@functools.cache
def definition(method: str, side: str, kind: str) -> tuple[str, str] | None:
    """The file and the name of a method's parameters ("params") or result ("result")."""
    file = RELEASED.get(method, "schema.json")
    for name, node in document(file)["$defs"].items():
        found = (node.get("x-method"), node.get("x-side"), "result" if name.endswith("Response") else "params")
        if found == (method, side, kind):
            return file, name
    return None


@functools.cache
def validator(file: str, name: str) -> Any:
    schema = {"$schema": document(file)["$schema"], "$ref": f"#/$defs/{name}", "$defs": document(file)["$defs"]}
    return jsonschema.Draft202012Validator(schema)


def complaints(value: Any, name: str, file: str = "schema.json") -> list[str]:
    """What the schema has against a value of one of its types."""
    return [f"{error.json_path}: {error.message[:200]}" for error in validator(file, name).iter_errors(value)]


class Judge:
    """Looks at every frame of one connection and remembers which request an answer belongs to."""

    def __init__(self) -> None:
        self._asked: dict[tuple[str, Any], str] = {}
        self.complaints: list[str] = []
        self.kinds: set[str] = set()

    def frame(self, sender: str, data: bytes | str) -> None:
        """A frame that `sender` ("agent" or "client") sent."""
        receiver = "client" if sender == "agent" else "agent"
        frame = json.loads(data)
        if frame.get("jsonrpc") != "2.0":
            self.complaints.append(f"no version: {frame}")
        if "method" in frame:
            self._call(receiver, frame)
        elif "result" in frame:
            method = self._asked.pop((sender, frame["id"]), None)
            self._check(method, sender, "result", frame["result"])
        elif complaint := complaints(frame["error"], "Error"):
            self.complaints += complaint

    def _call(self, receiver: str, frame: Any) -> None:
        method = frame["method"]
        if "id" in frame:
            self._asked[receiver, frame["id"]] = method
        side = "protocol" if method.startswith("$/") else receiver
        self._check(method, side, "params", frame.get("params"))
        if method == "session/update":
            self.kinds.add(frame["params"]["update"]["sessionUpdate"])

    def _check(self, method: str | None, side: str, kind: str, value: Any) -> None:
        found = definition(method, side, kind) if method else None
        if found is None:
            if method is None or not (method.startswith("_") or method == "session/set_model"):
                self.complaints.append(f"{method}: {kind} not in the schema")
            return
        self.complaints += [f"{method} {kind} {text}" for text in complaints(value, found[1], found[0])]
