"""Every message and update kind of the protocol: read, written again to the byte, and right by the published schema."""

import json
import pathlib

import pytest

from signoff.wire import acp, acp_schema
from tests.acp.schema import complaints, definition, document
from tests.clauses import requirement

FOLDER = pathlib.Path(__file__).parents[1] / "golden" / "acp"  # tests/golden/acp/ and tests/golden/acp/updates/
MESSAGES = sorted(FOLDER.glob("*.json"))
UPDATES = sorted((FOLDER / "updates").glob("*.json"))
UNKNOWN = {"hologram", "colour"}  # in the files on purpose: variants of a later version, kept as they are


def row(path: pathlib.Path) -> tuple[str, str, str]:
    side, *method, kind = path.name.removesuffix(".json").split(".")
    if kind not in ("params", "result"):
        kind = method.pop()
    name = "/".join(method)
    return side, f"$/{name}" if side == "protocol" else name, kind


def type_name(side: str, method: str, kind: str) -> str | None:
    return acp.TABLES[side][method][0 if kind == "params" else 1]  # type: ignore[index]


@requirement("ACP-062", "ACP-079", "ACP-097", "ACP-100")
@pytest.mark.parametrize("path", MESSAGES + UPDATES, ids=lambda path: path.stem)
def test_read_and_written_again_it_is_the_same_to_the_byte(path: pathlib.Path) -> None:
    value = json.loads(path.read_text(encoding="utf-8"))
    name = "SessionUpdate" if path in UPDATES else type_name(*row(path))
    assert name is not None
    data = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    assert acp.encode(acp.read(name, data)) == data


def known_only(value: object) -> object:
    if isinstance(value, list):
        return [known_only(item) for item in value if not (isinstance(item, dict) and item.get("type") in UNKNOWN)]
    if isinstance(value, dict):
        return {key: known_only(item) for key, item in value.items()}
    return value


@pytest.mark.parametrize("path", MESSAGES + UPDATES, ids=lambda path: path.stem)
def test_the_published_schema_agrees(path: pathlib.Path) -> None:
    value = known_only(json.loads(path.read_text(encoding="utf-8")))
    if path in UPDATES:
        assert complaints(value, "SessionUpdate") == []
        return
    side, method, kind = row(path)
    if method == "session/set_model":
        return  # ours alone
    found = definition(method, side, kind)
    assert found is not None
    assert complaints(value, found[1], found[0]) == []


@requirement("ACP-059")
def test_there_is_a_file_for_every_message_and_every_update_kind() -> None:
    have = {row(path) for path in MESSAGES}
    want = {
        (side, method, kind)
        for side, table in acp.TABLES.items()
        for method in table
        for kind in ("params", "result")
        if type_name(side, method, kind) is not None
    }
    assert want - have == set()
    kinds = {
        option["properties"]["sessionUpdate"]["const"]
        for option in document("schema.json")["$defs"]["SessionUpdate"]["oneOf"]
    }
    assert {path.stem for path in UPDATES} == kinds
    tags = {kind.__struct_config__.tag for kind in acp_schema.SessionUpdate.__args__}  # type: ignore[attr-defined]
    assert tags == kinds
