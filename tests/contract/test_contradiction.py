"""Schemas that nothing can fit, or that go round in place, are refused when loaded; others are not."""

from typing import Any

import pytest

from gerbang.contract.contradiction import contradiction
from gerbang.errors import ContractError

from .helpers import contract

NUMBER: dict[str, Any] = {"type": "number"}


def props(**members: Any) -> dict[str, Any]:
    return {"type": "object", "properties": members}


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        (props(n={"minimum": 5, "maximum": 3}), "/properties/n: minimum 5 is above maximum 3"),
        (props(n={"exclusiveMinimum": 3, "exclusiveMaximum": 2.5}), "exclusiveMinimum 3 is above"),
        (props(t={"minLength": 2, "maxLength": 1}), "minLength 2 is above maxLength 1"),
        (props(t={"items": {"minItems": 9, "maxItems": 8}}), "/properties/t/items: minItems 9"),
        ({"minProperties": 2, "maxProperties": 1}, "the schema: minProperties 2"),
        (props(t={"anyOf": [NUMBER, {"minimum": 2, "maximum": 1}]}), "/properties/t/anyOf/1: minimum"),
        ({"$defs": {"d": {"minimum": 2, "maximum": 1}}}, "/$defs/d: minimum"),
        (props(t={"enum": []}), "enum has no value"),
        (props(t={"type": "string", "enum": [1, True]}), "no value of enum has the type"),
        (props(t={"type": "integer", "enum": [True, 1.5]}), "no value of enum has the type"),
        ({**props(a={}), "required": ["b"], "additionalProperties": False}, "the field 'b' is required"),
        ({**props(a=False), "required": ["a"]}, "the field 'a' is required and allows no value"),
        (props(t={"$ref": "#/properties/t"}), "'#/properties/t' leads back to itself"),
        ({"$ref": "#"}, "'#' leads back to itself"),
        ({"allOf": [{"$ref": "#"}]}, "leads back to itself"),
        (
            {
                **props(t={"$ref": "#/$defs/a"}),
                "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
            },
            "leads back to itself",
        ),
        (
            {"$defs": {"a": {"anyOf": [{"type": "null"}, {"not": {"$ref": "#/$defs/a"}}]}}},
            "leads back to itself",
        ),
        (props(**{"a/b~c": {"$ref": "#/properties/a~1b~0c"}}), "leads back to itself"),
    ],
)
def test_what_is_impossible(schema: dict[str, Any], says: str) -> None:
    said = contradiction(schema)
    assert said is not None
    assert says in said


@pytest.mark.parametrize(
    "schema",
    [
        {},
        props(n={"minimum": 3, "maximum": 3}),
        props(t={"type": ["string", "null"], "enum": ["a", None]}),
        props(t={"type": "integer", "enum": [1.0, "x"]}),
        props(t={"type": "boolean", "enum": [True]}),
        {**props(a={}), "required": ["b"]},
        {**props(a={}), "required": ["b"], "patternProperties": {"b": {}}, "additionalProperties": False},
        props(a=False),
        props(t={"default": {"minimum": 9, "maximum": 1}, "examples": [{"$ref": "#"}]}),
        props(t={"const": {"minLength": 9, "maxLength": 1}}),
        props(minimum=NUMBER, maximum=NUMBER, required=NUMBER, enum={"enum": [1]}),
        {**props(t={"$ref": "#/$defs/t"}), "$defs": {"t": props(kids={"items": {"$ref": "#/$defs/t"}})}},
        {**props(t={"anyOf": [{"$ref": "#/$defs/t"}, {"$ref": "#/$defs/t"}]}), "$defs": {"t": NUMBER}},
        {**props(t={"$ref": "#here"}), "$defs": {"t": {"$anchor": "here", "type": "null"}}},
        {**props(t={"$ref": "#/$defs/a%20b"}), "$defs": {"a b": {"type": "null"}}},
        {**props(t={"$ref": "#/prefixItems/0"}), "prefixItems": [NUMBER]},
    ],
)
def test_what_is_possible(schema: dict[str, Any]) -> None:
    assert contradiction(schema) is None


def test_a_long_chain_of_references_is_followed_once() -> None:
    chain: dict[str, Any] = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(3000)}
    chain["d3000"] = {"type": "null"}
    assert contradiction({"$defs": chain}) is None
    chain["d3000"] = {"$ref": "#/$defs/d0"}
    assert "leads back" in (contradiction({"$defs": chain}) or "")


@pytest.mark.parametrize("field", ["parameters", "returns"])
def test_a_contract_refuses_it(field: str) -> None:
    wrong: dict[str, Any] = {field: props(n={"minimum": 5, "maximum": 3}), "origin": "x"}
    with pytest.raises(
        ContractError, match=f"x: {field}: the JSON Schema contradicts itself: /properties/n: m"
    ):
        contract(**wrong)
