"""Everything that can be wrong with a definition, and what its digest covers."""

from typing import Any

import pytest

from gerbang.contract.closing import close_objects
from gerbang.errors import ContractError
from gerbang.values import Contract, RiskClass

from .helpers import contract, found

CITY = {"properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"x": schema}}
    return schema


SELF: dict[str, Any] = {"type": "object", "properties": {}}
SELF["properties"]["self"] = SELF


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"name": "a b"}, "is not a tool name"),
        ({"risk": None}, "risk: must be one of compute, read_internal"),
        ({"risk": "harmless"}, "destructive, not 'harmless'."),
        ({"risk": 3}, "risk: must be one of compute"),
        ({"risk": ["compute"]}, "destructive, not a list."),
        ({"description": None}, "description: must be text, at most 20000 characters, not nothing."),
        ({"parameters": []}, "parameters: must be a mapping, not a list."),
        ({"parameters": "object"}, "parameters: must be a mapping, not 'object'."),
        ({"parameters": {"type": "array"}}, 'parameters must be a JSON Schema with "type": "object"'),
        ({"parameters": {"type": ["object", "null"]}}, '"type": "object"'),
        ({"parameters": {"properties": []}}, "the JSON Schema cannot be used"),
        ({"parameters": {"properties": {"a": {"type": "text"}}}}, "the JSON Schema cannot be used"),
        ({"parameters": {"required": "a"}}, "the JSON Schema cannot be used"),
        ({"parameters": {"properties": {"a": {"minimum": "1"}}}}, "the JSON Schema cannot be used"),
        ({"parameters": {"properties": {"a": {"pattern": "("}}}}, "the JSON Schema cannot be used"),
        ({"parameters": {"properties": {"a": {"pattern": "(a)\\1"}}}}, "the JSON Schema cannot be used"),
        ({"parameters": {"properties": {"a": {"pattern": "(?=a)"}}}}, "the JSON Schema cannot be used"),
        ({"parameters": {"properties": {"a": {"$ref": "http://127.0.0.1:9/s"}}}}, "refused"),
        ({"parameters": {"properties": {"a": {"$ref": "file:///etc/passwd"}}}}, "refused"),
        ({"parameters": {"properties": {"a": {"$ref": "other.json"}}}}, "the JSON Schema cannot be used"),
        ({"parameters": {"properties": {"a": {"$ref": "#/$defs/none"}}}}, "does not exist"),
        ({"parameters": {"properties": {"a": {"default": {1, 2}}}}}, "the schema is not JSON"),
        ({"parameters": {"properties": {"a": {"default": 2**70}}}}, "the schema is not JSON"),
        ({"parameters": {"properties": {"a": {"default": float("nan")}}}}, "the definition is not JSON at"),
        ({"parameters": {"properties": {"a": {"description": "x" * 1_100_000}}}}, "the limit is 1048576"),
        ({"parameters": deep(2000)}, "nested too deeply"),
        ({"parameters": SELF}, "nested too deeply"),
        ({"returns": []}, "returns: must be a mapping or nothing, not a list."),
        ({"returns": {"type": "nothing"}}, "the JSON Schema cannot be used"),
        ({"timeout_s": 0}, "timeout_s: must be a number above 0 and at most 86400, not 0."),
        ({"timeout_s": -1}, "timeout_s"),
        ({"timeout_s": 86_401}, "timeout_s"),
        ({"timeout_s": float("nan")}, "timeout_s"),
        ({"timeout_s": float("inf")}, "timeout_s"),
        ({"timeout_s": "30"}, "timeout_s"),
        ({"timeout_s": True}, "timeout_s"),
        ({"result_max_chars": 0}, "result_max_chars: must be a whole number from 1, not 0."),
        ({"result_max_chars": 1.5}, "result_max_chars"),
        ({"result_max_chars": "9"}, "result_max_chars"),
        ({"cost_units": -1}, "cost_units: must be a number from 0 to 1000000000, not -1."),
        ({"cost_units": float("nan")}, "cost_units"),
        ({"cost_units": "1"}, "cost_units"),
        ({"key_namespace": "pay"}, "key_namespace is of no use without natural_key"),
        ({"natural_key": ["town"]}, "natural_key names 'town', which is not a parameter"),
        ({"natural_key": "city"}, "natural_key: must be a list of words, not 'city'."),
        ({"sensitive": ["pin"]}, "sensitive names 'pin', which is not a parameter"),
        ({"sensitive": "city"}, "sensitive: must be a list of words, not"),
        ({"sensitive": [1]}, "sensitive[0]: must be text, not empty, at most 128 characters, not 1."),
        ({"sensitive": None}, "sensitive: must be a list of words, not"),
        ({"intents": "weather"}, "intents: must be a list of words, not"),
        ({"runtime_fields": ["city"]}, "'city' is filled by the runtime"),
        ({"runtime_fields": ["who"], "parameters": {"required": ["who"]}}, "'who' is filled by the runtime"),
        ({"annotations": {"x": {1}}}, "the definition is not JSON at /annotations/x"),
    ],
)
def test_a_wrong_definition_says_what_is_wrong_and_where(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ContractError) as caught:
        contract(**{"parameters": CITY, "origin": "tools.yaml: tool 3", **changes})
    assert str(caught.value).startswith("tools.yaml: tool 3: ")
    assert says in str(caught.value)
    assert len(str(caught.value)) < 600


def test_generators_are_read_once() -> None:
    made = contract(
        CITY, natural_key=(x for x in ["city"]), sensitive=(x for x in ["days"]), intents=iter("ab")
    )
    assert made.natural_key == ("city",)
    assert sorted(made.sensitive) == ["days"]
    assert sorted(made.intents) == ["a", "b"]


BASE: dict[str, Any] = {"parameters": CITY}


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "box.open.v2"},
        {"risk": "compute"},
        {"description": "Opens a box!"},
        {"parameters": {"properties": {"city": {"type": "string"}}}},
        {"parameters": {**CITY, "required": ["city"]}},
        {"parameters": {**CITY, "additionalProperties": True}},
        {"returns": {}},
        {"timeout_s": 31},
        {"result_max_chars": 15_999},
        {"runtime_fields": ["who"]},
        {"natural_key": ["city"]},
        {"natural_key": ["days"]},
        {"sensitive": ["city"]},
        {"intents": ["weather"]},
        {"cost_units": 1},
        {"annotations": {"readOnlyHint": True}},
    ],
)
def test_the_digest_changes_with_every_field(changes: dict[str, Any]) -> None:
    assert contract(**{**BASE, **changes}).digest != contract(**BASE).digest


def test_the_digest_is_stable_and_knows_no_origin_or_order() -> None:
    first = contract(CITY, sensitive=["city", "days"], timeout_s=30, origin="a")
    turned = {"properties": {"days": {"type": "integer"}, "city": {"type": "string"}}, "type": "object"}
    second = contract(
        turned, sensitive=["days", "city"], timeout_s=30.0, origin="b", risk=RiskClass.READ_INTERNAL
    )
    assert first.digest == second.digest
    assert first.digest.startswith("sha256:")


def test_a_contract_is_read_only() -> None:
    made: Contract = contract(CITY)
    with pytest.raises(AttributeError):
        made.risk = RiskClass.COMPUTE  # type: ignore[misc]


def test_the_given_schema_is_not_changed() -> None:
    given: dict[str, Any] = {"properties": {"a": {"properties": {"b": {}}}}}
    contract(given)
    assert given == {"properties": {"a": {"properties": {"b": {}}}}}


INNER = {"type": "object", "properties": {"n": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("schema", "arguments", "path"),
    [
        ({"properties": {}}, {"z": 1}, "/z"),
        ({}, {"z": 1}, "/z"),
        ({"properties": {"a": INNER}}, {"a": {"z": 1}}, "/a/z"),
        ({"properties": {"a": {"type": "array", "items": INNER}}}, {"a": [{"z": 1}]}, "/a/0/z"),
        ({"properties": {"a": {"prefixItems": [INNER]}}}, {"a": [{"z": 1}]}, "/a/0/z"),
        (
            {"properties": {"a": {"type": "object", "additionalProperties": INNER}}},
            {"a": {"k": {"z": 1}}},
            "/a/k/z",
        ),
        ({"properties": {"a": {"$ref": "#/$defs/I"}}, "$defs": {"I": INNER}}, {"a": {"z": 1}}, "/a/z"),
        ({"properties": {"a": INNER | {"properties": {"b": INNER}}}}, {"a": {"b": {"z": 1}}}, "/a/b/z"),
    ],
)
def test_objects_are_closed_at_every_depth(schema: dict[str, Any], arguments: Any, path: str) -> None:
    assert found(schema, arguments) == [(path, "EXTRA_FIELD")]


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        ({"additionalProperties": True}, {"z": 1}),
        ({"additionalProperties": {"type": "integer"}}, {"z": 1}),
        ({"patternProperties": {"^x-": {}}}, {"x-1": 1}),
        ({"properties": {"a": {"type": "object"}}}, {"a": {"free": 1}}),
        ({"allOf": [INNER, {"properties": {"m": {}}}]}, {"n": 1, "m": 2}),
        (
            {"allOf": [{"$ref": "#/$defs/I"}], "properties": {"m": {}}, "$defs": {"I": INNER}},
            {"n": 1, "m": 2},
        ),
        ({"properties": {"m": {}}, "anyOf": [INNER, {"required": ["m"]}]}, {"n": 1, "m": 2}),
    ],
)
def test_objects_that_speak_for_themselves_are_left_open(schema: dict[str, Any], arguments: Any) -> None:
    assert found(schema, arguments) == []


def test_a_choice_of_objects_is_closed_branch_by_branch() -> None:
    other = {"type": "object", "properties": {"m": {}}, "required": ["m"]}
    schema = {"properties": {"a": {"anyOf": [INNER, other, {"type": "null"}]}}}
    assert found(schema, {"a": {"n": 1}}) == []
    assert found(schema, {"a": None}) == []
    assert found(schema, {"a": {"m": 1, "n": 1}}) == [("/a", "SCHEMA_MISMATCH")]
    assert close_objects({"not": INNER, "$defs": {"I": INNER}})["$defs"] == {"I": INNER}
