"""Layer 1: all findings at once, nothing of a value quoted, nothing that raises or runs away."""

from enum import StrEnum
from typing import Any

import msgspec
import pytest

from gerbang.contract.catalogue import Catalogue
from gerbang.contract.check import check, output_findings, unknown_tool
from gerbang.contract.schema import compile_schema, findings
from gerbang.limits import MAX_FINDINGS
from gerbang.values import CallError, Proposal, ValidCall

from .helpers import checked, contract, entry, found, proposal

SECRET = "hunter2-very-secret"  # stands in every wrong value: no finding may repeat it


@pytest.mark.parametrize(
    ("rule", "value", "code", "message"),
    [
        ({"type": "integer"}, SECRET, "WRONG_TYPE", "Must be integer, not string."),
        ({"type": "string"}, 5, "WRONG_TYPE", "Must be string, not integer."),
        ({"type": "string"}, 2**80, "WRONG_TYPE", "Must be string, not integer."),
        ({"type": "string"}, None, "WRONG_TYPE", "Must be string, not null."),
        ({"type": "string"}, True, "WRONG_TYPE", "Must be string, not boolean."),
        ({"type": "string"}, 1.5, "WRONG_TYPE", "Must be string, not number."),
        ({"type": "string"}, [SECRET], "WRONG_TYPE", "Must be string, not array."),
        ({"type": "integer"}, 1.5, "WRONG_TYPE", "Must be integer, not number."),
        ({"type": "array"}, {"a": SECRET}, "WRONG_TYPE", "Must be array, not object."),
        (
            {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            SECRET,
            "WRONG_TYPE",
            "Must be integer or null, not string.",
        ),
        ({"enum": ["low", "high", 3]}, SECRET, "NOT_IN_ENUM", 'Must be one of ["low","high",3].'),
        ({"enum": ["x" * 500]}, SECRET, "NOT_IN_ENUM", 'Must be one of ["' + "x" * 198 + "…."),
        ({"const": 1}, SECRET, "NOT_IN_ENUM", "Must be 1."),
        ({"maxLength": 3}, SECRET, "TOO_LONG", "Must have at most 3 characters."),
        ({"minLength": 99}, SECRET, "TOO_SHORT", "Must have at least 99 characters."),
        ({"maxItems": 1}, [SECRET, 2], "TOO_LONG", "Must have at most 1 item."),
        ({"minItems": 2}, [SECRET], "TOO_SHORT", "Must have at least 2 items."),
        ({"maximum": 3}, 4, "OUT_OF_RANGE", "Must be at most 3."),
        ({"maximum": 3}, 2**80, "OUT_OF_RANGE", "Must be at most 3."),
        ({"minimum": 3}, -(2**80), "OUT_OF_RANGE", "Must be at least 3."),
        ({"exclusiveMaximum": 3}, 3, "OUT_OF_RANGE", "Must be less than 3."),
        ({"exclusiveMinimum": 3}, 3, "OUT_OF_RANGE", "Must be more than 3."),
        ({"multipleOf": 3}, 4, "OUT_OF_RANGE", "Must be a multiple of 3."),
        ({"pattern": "^[a-z]+$"}, SECRET, "BAD_FORMAT", 'Must match the pattern "^[a-z]+$".'),
        ({"format": "email"}, SECRET, "BAD_FORMAT", "Must be a valid email."),
        ({"format": "date"}, SECRET, "BAD_FORMAT", "Must be a valid date."),
        ({"format": "uuid"}, SECRET, "BAD_FORMAT", "Must be a valid uuid."),
        (
            {"uniqueItems": True},
            [SECRET, SECRET],
            "SCHEMA_MISMATCH",
            "Does not fit the schema (uniqueItems).",
        ),
        ({"minProperties": 2}, {"a": SECRET}, "SCHEMA_MISMATCH", "Does not fit the schema (minProperties)."),
        ({"not": {"type": "string"}}, SECRET, "SCHEMA_MISMATCH", "Does not fit the schema (not)."),
        ({"contains": {"const": 1}}, [SECRET], "SCHEMA_MISMATCH", "Does not fit the schema (contains)."),
        (
            {"oneOf": [{"type": "string"}, {"minLength": 1}]},
            SECRET,
            "SCHEMA_MISMATCH",
            "Does not fit the schema (oneOf).",
        ),
        (False, SECRET, "EXTRA_FIELD", "Nothing is allowed here."),
        (
            {"maxLength": 3, "pattern": "^[a-z]*$"},
            "123456",
            "BAD_FORMAT",
            'Must match the pattern "^[a-z]*$".',
        ),
    ],
)
def test_every_code_and_nothing_of_the_value(rule: Any, value: Any, code: str, message: str) -> None:
    answer = checked({"properties": {"f": rule}}, {"f": value})
    assert isinstance(answer, CallError)
    first = answer.invalid_fields[0]
    assert (first.path, first.code, first.message) == ("/f", code, message)
    assert (answer.error_type, answer.recoverable, answer.effect) == ("validation_error", True, "none")
    assert SECRET not in msgspec.json.encode(answer.as_dict()).decode()


def test_required_fields_that_depend_on_others() -> None:
    assert found({"properties": {"a": {}, "b": {}}, "dependentRequired": {"a": ["b"]}}, {"a": 1}) == [
        ("/b", "MISSING_FIELD")
    ]


SCHEMA = {
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer", "minimum": 1},
        "unit": {"enum": ["C", "F"]},
        "where": {"type": "object", "properties": {"lat": {"type": "number"}}, "required": ["lat"]},
    },
    "required": ["city", "days"],
}


def test_all_findings_at_once() -> None:
    answer = checked(SCHEMA, {"days": 0, "unit": "K", "where": {"lon": 1}, "zz": 1, "a/b~": 2})
    assert isinstance(answer, CallError)
    assert [(f.path, f.code) for f in answer.invalid_fields] == [
        ("/a~1b~0", "EXTRA_FIELD"),
        ("/city", "MISSING_FIELD"),
        ("/days", "OUT_OF_RANGE"),
        ("/unit", "NOT_IN_ENUM"),
        ("/where/lat", "MISSING_FIELD"),
        ("/where/lon", "EXTRA_FIELD"),
        ("/zz", "EXTRA_FIELD"),
    ]
    assert answer.error_code == "MISSING_FIELD"
    assert "Fields of this tool: city, days, unit, where." in answer.suggested_fix


def nested(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("arguments", "code", "path"),
    [
        (None, "WRONG_TYPE", None),
        ("city=Paris", "WRONG_TYPE", None),
        (["Paris"], "WRONG_TYPE", None),
        (5, "WRONG_TYPE", None),
        (True, "WRONG_TYPE", None),
        ({"city": float("nan")}, "NOT_A_NUMBER", "/city"),
        ({"city": "\ud800"}, "BAD_UNICODE", "/city"),
        ({"\udfff": 1}, "BAD_UNICODE", ""),
        ({"city": b"x"}, "NOT_JSON", "/city"),
        ({1: 2}, "NOT_JSON", ""),
        ({"city": nested(200)}, "CALL_TOO_DEEP", "/city" + "/a" * 63),
        ({"city": nested(5_000)}, "CALL_TOO_DEEP", "/city" + "/a" * 63),
        ({"city": "x" * 10_000_000}, "CALL_TOO_LARGE", None),
        ({"city": "é" * 600_000}, "CALL_TOO_LARGE", None),
    ],
)
def test_what_is_no_object_of_json_values(arguments: Any, code: str, path: str | None) -> None:
    answer = checked(SCHEMA, arguments)
    assert isinstance(answer, CallError)
    assert (answer.error_code, answer.recoverable) == (code, True)
    assert [f.path for f in answer.invalid_fields] == ([] if path is None else [path])
    assert answer.suggested_fix


def test_a_fault_of_the_reader_is_handed_on() -> None:
    fault = CallError("parse_error", "CALL_NOT_JSON", "No.")
    assert check(entry(SCHEMA), Proposal("r", 1, 0, "c", "box.open.v1", None, fault)) is fault


def test_a_tool_without_arguments() -> None:
    answer = checked({}, {"a": 1, "b": 2})
    assert isinstance(answer, CallError)
    assert answer.message == "box.open.v1 takes no arguments, and these were sent: a, b."
    assert answer.suggested_fix == "Send an empty object of arguments."
    assert answer.fix == [{"op": "remove", "path": "/a"}, {"op": "remove", "path": "/b"}]


def test_fields_of_the_runtime_are_refused_with_all_the_rest() -> None:
    answer = checked(SCHEMA, {"who": SECRET, "days": "x", "tenant": 1}, runtime_fields=["who", "tenant"])
    assert isinstance(answer, CallError)
    assert answer.error_code == "RUNTIME_OWNED_FIELD"
    assert [(f.path, f.code) for f in answer.invalid_fields] == [
        ("/tenant", "RUNTIME_OWNED_FIELD"),
        ("/who", "RUNTIME_OWNED_FIELD"),
        ("/city", "MISSING_FIELD"),
        ("/days", "WRONG_TYPE"),
    ]
    assert SECRET not in repr(answer)


def test_a_valid_call_is_what_was_sent() -> None:
    call = checked(SCHEMA, {"days": 2.0, "city": "Paris"})
    assert isinstance(call, ValidCall)
    assert (call.canonical, call.coerced) == (b'{"city":"Paris","days":2}', ())


@pytest.mark.parametrize("value", [2**63, 2**64, -(2**64), 2**200])
def test_integers_beyond_64_bits_stay_exact(value: int) -> None:
    call = checked({"properties": {"n": {"type": "integer"}}}, {"n": value})
    assert isinstance(call, ValidCall)
    assert call.arguments["n"] == value
    assert call.canonical == b'{"n":%d}' % value


def test_ten_thousand_errors_are_bounded() -> None:
    items = {"properties": {"l": {"type": "array", "items": {"type": "integer"}}}}
    few = checked(items, {"l": [True] * 1000})
    assert isinstance(few, CallError)
    assert len(few.invalid_fields) == MAX_FINDINGS
    assert "(the first 20 of 1000)" in few.message
    for many in ({"l": [True] * 10_000}, {"l": [True] * 200_000}):
        answer = checked(items, many)
        assert isinstance(answer, CallError)
        assert [(f.path, f.code) for f in answer.invalid_fields] == [("/l/0", "WRONG_TYPE")]
    extra = checked(items, {f"k{n}": 1 for n in range(4000)})
    assert isinstance(extra, CallError)
    assert len(extra.invalid_fields) == MAX_FINDINGS
    assert "of 4000)" in extra.message


def test_long_names_are_cut_in_findings() -> None:
    answer = checked(SCHEMA, {"k" * 100_000: 1, "city": "x", "days": 1})
    assert isinstance(answer, CallError)
    assert len(msgspec.json.encode(answer.as_dict())) < 2_000


def test_a_pattern_that_would_explode_elsewhere_is_linear_here() -> None:
    schema = {"properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}
    assert found(schema, {"a": "a" * 50_000 + "!"}) == [("/a", "BAD_FORMAT")]
    assert found(schema, {"a": "a" * 50_000}) == []


def test_a_schema_that_refers_to_itself() -> None:
    tree = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/t"}}}}
    schema = {"properties": {"t": {"$ref": "#/$defs/t"}}, "$defs": {"t": tree}}
    assert found(schema, {"t": {"kids": [{"kids": []}, {"kids": [{}]}]}}) == []
    assert found(schema, {"t": {"kids": [{"kids": [{"x": 1}]}]}}) == [("/t/kids/0/kids/0/x", "EXTRA_FIELD")]


def test_a_schema_of_a_megabyte_is_compiled() -> None:
    names = [f"field_{n}" for n in range(9_000)]
    schema = {"properties": {name: {"type": "string", "description": "x" * 60} for name in names}}
    assert found(schema, {names[0]: "a", names[-1]: 1}) == [(f"/{names[-1]}", "WRONG_TYPE")]


def test_equal_schemas_share_a_validator() -> None:
    assert compile_schema({"type": "object"}, "a") is compile_schema({"type": "object"}, "b")
    assert findings(compile_schema({"type": "object"}, "a"), {}) == ((), 0)


def test_results_are_checked_by_their_own_schema() -> None:
    own = entry(returns={"type": "object", "required": ["ok"]})
    assert output_findings(own, {"ok": 1}) == ()
    assert [(f.path, f.code) for f in output_findings(own, {})] == [("/ok", "MISSING_FIELD")]
    assert output_findings(entry(), object) == ()


@pytest.mark.parametrize(
    ("said", "first"),
    [
        ("weather.get_curent.v1", "weather.get_current.v1"),
        ("weather.get_current.v2", "weather.get_current.v1"),
        ("weather__get_current__v3", "weather.get_current.v1"),
        ("WEATHER.GET_CURRENT.V1", "weather.get_current.v1"),
        ("get_current", "weather.get_current.v1"),
        ("read", "files.read.v1"),
        ("mail.sent.v1", "mail.send.v2"),
    ],
)
def test_the_nearest_name_comes_first(said: str, first: str) -> None:
    catalogue = Catalogue(
        contract(name=name)
        for name in ("weather.get_current.v1", "files.read.v1", "files.write.v1", "mail.send.v2")
    )
    error = unknown_tool(catalogue, said)
    assert (error.error_type, error.error_code, error.recoverable) == ("unknown_tool", "TOOL_UNKNOWN", True)
    assert error.suggested_fix == f"Did you mean {first}?"
    assert isinstance(error.available, tuple)
    assert error.available[0] == first


@pytest.mark.parametrize(
    "said", ["", ".", "\x00", "\ud800", "😀" * 50, "x" * 1_000_000, "__", "*", "a\nb", "%s{0}"]
)
def test_hostile_names_get_a_bounded_answer(said: str) -> None:
    catalogue = Catalogue(contract(name=f"pack{n % 50}.action_{n}.v1") for n in range(1_000))
    error = unknown_tool(catalogue, said)
    text = msgspec.json.encode(error.as_dict())
    assert len(text) < 6_000
    assert b"\x00" not in text
    assert len(error.available or ()) <= 20


def test_no_tools_at_all() -> None:
    error = unknown_tool(Catalogue([]), "x")
    assert error.suggested_fix == "No tools are available: answer without one."
    assert error.available == ()


def test_ten_thousand_tools() -> None:
    catalogue = Catalogue(contract(name=f"pack{n % 50}.action_{n}.v1") for n in range(10_000))
    assert len(catalogue) == 10_000
    assert catalogue.nearest("pack3.acton_53.v1")[0] == "pack3.action_53.v1"
    assert catalogue.nearest("pack3__action_53__v2")[0] == "pack3.action_53.v1"


def test_an_intent_hides_tools_altogether() -> None:
    catalogue = Catalogue(
        [
            contract(name="a.v1"),
            contract(name="b.v1", intents=["pay"]),
            contract(name="c.v1", intents=["read", "pay"]),
        ]
    )
    assert catalogue.subset(intent="pay") is catalogue
    assert catalogue.subset(intent="read").names == ("a.v1", "c.v1")
    assert catalogue.subset().names == ("a.v1",)
    assert catalogue.subset().find("b__v1") is None
    assert catalogue.subset(intent="read").find("b.v1") is None
    assert "b.v1" not in catalogue.subset(intent="read").nearest("b.v1")
    assert [spec.wire_name for spec in catalogue.specs] == ["a__v1", "b__v1", "c__v1"]


def test_the_proposal_stays_with_the_call() -> None:
    sent = proposal({"city": "x", "days": 1})
    call = check(entry(SCHEMA), sent)
    assert isinstance(call, ValidCall)
    assert call.proposal is sent


def expression(operator: str) -> dict[str, Any]:
    of = {"type": "array", "items": {"$ref": "#/$defs/t"}}
    return {"type": "object", "properties": {"of": of, "op": {"const": operator}}, "required": ["op"]}


@pytest.mark.parametrize("choice", ["anyOf", "oneOf"])
@pytest.mark.parametrize("depth", [20, 60])
def test_a_choice_inside_a_loop_does_not_explode(choice: str, depth: int) -> None:
    lists = [{"type": "array", "items": {"$ref": "#/$defs/t"}, "minItems": least} for least in (0, 1, 2)]
    schema = {
        "properties": {"a": {"$ref": "#/$defs/t"}},
        "$defs": {"t": {choice: [*lists, {"type": "null"}]}},
    }
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    assert found(schema, {"a": value}) == [("", "SCHEMA_MISMATCH")]


def test_shallow_arguments_of_such_a_schema_are_explained() -> None:
    schema = {
        "properties": {"a": {"$ref": "#/$defs/t"}, "n": {"type": "integer"}},
        "$defs": {"t": {"anyOf": [expression("and"), expression("or")]}},
    }
    deep: dict[str, Any] = {"op": "or"}
    for _ in range(25):
        deep = {"op": "or", "of": [deep]}
    assert found(schema, {"a": deep}) == []
    assert found(schema, {"a": {"op": "or", "of": [{"op": "and"}]}, "n": "x"}) == [("/n", "WRONG_TYPE")]
    assert found(schema, {"a": deep, "n": "x"}) == [("", "SCHEMA_MISMATCH")]


class Colour(StrEnum):
    RED = "red"


class Text(str):
    """A caller's own kind of text."""


@pytest.mark.parametrize("value", [Colour.RED, Text("red")])
def test_text_of_the_callers_own_kind_is_plain_text(value: str) -> None:
    schema = {"properties": {"c": {"enum": ["red"]}, "n": {"type": "integer"}}}
    call = checked(schema, {"c": value})
    assert isinstance(call, ValidCall)
    assert call.canonical == b'{"c":"red"}'
    assert call.arguments == {"c": "red"}
    assert found(schema, {"c": value, "n": "x"}) == [("/n", "WRONG_TYPE")]
    assert found(schema, {"c": value, "who": 1}, runtime_fields=["who"]) == [("/who", "RUNTIME_OWNED_FIELD")]
