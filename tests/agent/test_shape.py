"""The shape of an answer: judged like a complete validator of JSON Schema judges it, or the schema is refused."""

import json
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.agent.shape import problem, read_schema
from signoff.domain.errors import UsageError

NUMBERS = st.integers(-3, 5) | st.sampled_from([0.5, 1.0, 2.5])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text("ab1", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
SMALL = st.integers(0, 3)
TYPES = st.sampled_from(["object", "array", "string", "boolean", "null", "number", "integer"])


def schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    several = st.lists(inner, min_size=1, max_size=2)
    named = st.dictionaries(st.sampled_from("abc"), inner, max_size=2)
    keys: dict[str, st.SearchStrategy[Any]] = {
        "type": TYPES | st.lists(TYPES, min_size=1, max_size=2, unique=True),
        "enum": st.lists(VALUES, min_size=1, max_size=3),
        "const": VALUES,
        "anyOf": several, "oneOf": several, "allOf": several, "not": inner,
        "properties": named, "patternProperties": named, "additionalProperties": inner, "propertyNames": inner,
        "required": st.lists(st.sampled_from("abc"), max_size=2, unique=True),
        "items": inner, "prefixItems": several, "contains": inner, "uniqueItems": st.booleans(),
        "minItems": SMALL, "maxItems": SMALL, "minLength": SMALL, "maxLength": SMALL,
        "minProperties": SMALL, "maxProperties": SMALL,
        "minimum": NUMBERS, "maximum": NUMBERS, "exclusiveMinimum": NUMBERS, "exclusiveMaximum": NUMBERS,
        "multipleOf": st.sampled_from([1, 2, 0.5]), "pattern": st.sampled_from(["a", "^b", "1$", "[ab]{2}"]),
        "description": st.text(max_size=3),
    }  # fmt: skip
    return st.fixed_dictionaries({}, optional=keys).map(
        lambda full: dict(sorted(full.items(), key=lambda pair: hash(json.dumps(pair)))[:3])
    )


SCHEMAS = schemas(st.booleans() | schemas(st.booleans() | schemas(st.booleans())))


@given(SCHEMAS, VALUES)
def test_an_answer_fits_when_a_complete_validator_says_so(schema: dict[str, Any], value: Any) -> None:
    read = read_schema(msgspec.json.encode(schema), "schema.json")
    fits = jsonschema.Draft202012Validator(schema).is_valid(value)
    assert (problem(read, json.dumps(value)) is None) is fits, problem(read, json.dumps(value))


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"if": {}, "then": {}}, "# uses if"),
        ({"properties": {"a": {"unevaluatedProperties": False}}}, "#/properties/a uses unevaluatedProperties"),
        ({"type": "text"}, "type is 'text'"),
        ({"$ref": "https://example.org/other.json"}, "leads to"),
        ({"$ref": "#/$defs/gone"}, "leads to"),
        ({"pattern": "("}, "no pattern"),
        ({"patternProperties": {"(": True}}, "no pattern"),
        ({"anyOf": {}}, "is no list"),
        ({"properties": []}, "is no object"),
        ({"items": [{}]}, "is no schema"),
        ({"minLength": "2"}, "is no number"),
        ({"multipleOf": 0}, "multipleOf is 0"),
        ({"required": "a"}, "required is 'a'"),
    ],
)
def test_a_schema_that_could_not_be_checked_is_refused(schema: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_schema(msgspec.json.encode(schema), "schema.json")
    assert why in refused.value.message


def test_a_schema_that_leads_to_itself_comes_to_an_end() -> None:
    tree = {"$defs": {"t": {"type": "array", "items": {"$ref": "#/$defs/t"}}}, "$ref": "#/$defs/t"}
    schema = read_schema(msgspec.json.encode(tree), "schema.json")
    assert problem(schema, "[[], [[]]]") is None
    assert "too deep" in (problem(schema, "[" * 60 + "]" * 60) or "")
    assert "too deep" in (problem({"$ref": "#"}, "1") or "")
