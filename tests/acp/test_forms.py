"""Forms of an agent: what a person is asked, and what is made of what they type."""

import asyncio
import json
from typing import Any

import msgspec
import pytest

from signoff.acp.forms import Field, fields, filling
from signoff.domain.errors import UsageError
from signoff.wire import acp
from signoff.wire import acp_schema as schema

COLOURS = [{"const": "r", "title": "red"}, {"const": "b", "title": "blue"}]


def form(properties: dict[str, Any], *required: str) -> schema.ElicitationForm:
    wanted = {"mode": "form", "sessionId": "s", "message": "Which?"}
    wanted["requestedSchema"] = {"type": "object", "properties": properties, "required": list(required)}
    read = acp.read("CreateElicitationRequest", msgspec.Raw(json.dumps(wanted).encode()))
    assert isinstance(read, schema.ElicitationForm)
    return read


def field(about: dict[str, Any], *, required: bool = True) -> Field:
    return fields(form({"x": about}, *(["x"] if required else [])).requestedSchema)[0]


@pytest.mark.parametrize(
    ("about", "typed", "value"),
    [
        ({"type": "string"}, " Ada ", "Ada"),
        ({"type": "string", "enum": ["one", "two"]}, "2", "two"),
        ({"type": "string", "oneOf": COLOURS}, "blue", "b"),
        ({"type": "string", "oneOf": COLOURS}, "r", "r"),
        ({"type": "integer", "minimum": 1}, "7", 7),
        ({"type": "number"}, "2.5", 2.5),
        ({"type": "boolean"}, "Yes", True),
        ({"type": "boolean"}, "n", False),
        ({"type": "array", "items": {"anyOf": COLOURS}}, "2, red", ["b", "r"]),
        ({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}, "1", ["a"]),
    ],
)
def test_what_is_typed_becomes_a_value_of_the_field(about: dict[str, Any], typed: str, value: object) -> None:
    assert field(about).read(typed) == value


@pytest.mark.parametrize(
    ("about", "typed"),
    [
        ({"type": "string"}, "  "),
        ({"type": "string", "minLength": 3}, "ab"),
        ({"type": "string", "maxLength": 3}, "abcd"),
        ({"type": "string", "enum": ["one", "two"]}, "3"),
        ({"type": "integer"}, "2.5"),
        ({"type": "integer", "maximum": 5}, "6"),
        ({"type": "number"}, "nan"),
        ({"type": "number", "minimum": 0}, "-1"),
        ({"type": "boolean"}, "perhaps"),
        ({"type": "array", "items": {"anyOf": COLOURS}, "minItems": 2}, "1"),
        ({"type": "array", "items": {"anyOf": COLOURS}}, "green"),
        ({"type": "_of_tomorrow"}, "x"),
    ],
)
def test_what_does_not_fit_is_said_to_the_person(about: dict[str, Any], typed: str) -> None:
    with pytest.raises(UsageError):
        field(about).read(typed)


def test_a_field_says_what_it_is_and_what_stands_in_it() -> None:
    about = {"type": "string", "title": "Name", "description": "Yours", "format": "email", "default": "a@b"}
    name = field(about, required=False)
    assert (name.label, list(name.hints), name.default) == ("Name", ["Yours", "email", "may be left empty"], "a@b")
    assert name.read("") is None
    assert field({"type": "boolean", "default": True}).default == "y"
    assert field({"type": "array", "items": {"anyOf": COLOURS}, "default": ["b"]}).default == "2"
    assert field({"type": "_of_tomorrow"}, required=False).read("") is None
    assert field({"type": "string"}).label == "x"


@pytest.mark.parametrize("answer", [{"x": "blue"}, None])
def test_a_filled_form_is_accepted_and_anything_else_declined(answer: dict[str, Any] | None) -> None:
    async def fill(form: schema.ElicitationForm, fields: tuple[Field, ...]) -> dict[str, Any] | None:
        assert [each.name for each in fields] == ["x"]
        return answer

    given = asyncio.run(_answered(filling(fill), form({"x": {"type": "string"}})))
    wanted: object = schema.ElicitationDecline() if answer is None else schema.ElicitationAccept(content=answer)
    assert given == wanted
    url = schema.ElicitationUrl(message="go there", elicitationId="e", url="https://x.example", sessionId="s")
    assert asyncio.run(_answered(filling(fill), url)) == schema.ElicitationDecline()  # never offered


async def _answered(handler: Any, request: object) -> object:
    return await handler(request)
