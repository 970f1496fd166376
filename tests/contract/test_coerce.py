"""Mending of types: only where one reading is left, always recorded, never towards a string."""

from typing import Any

import pytest

from gerbang.values import CallError, ValidCall

from .helpers import checked

INT, NUM, BOOL, NULL, STR = ({"type": t} for t in ("integer", "number", "boolean", "null", "string"))
OBJ = {"type": "object", "properties": {"n": INT, "s": STR}}
LIST = {"type": "array", "items": INT}
DEFS = {"D": OBJ, "N": {"anyOf": [INT, NULL]}}


def nullable(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, NULL]}


@pytest.mark.parametrize(
    ("schema", "given", "value", "changed"),
    [
        (INT, "3", 3, ["/f"]),
        (INT, "-0", 0, ["/f"]),
        (INT, "-12", -12, ["/f"]),
        (INT, "999999999999999999", 999999999999999999, ["/f"]),
        (NUM, "3", 3, ["/f"]),
        (NUM, "2.50", 2.5, ["/f"]),
        (NUM, "1e3", 1000.0, ["/f"]),
        (NUM, "-1.5E-2", -0.015, ["/f"]),
        (BOOL, "true", True, ["/f"]),
        (BOOL, "false", False, ["/f"]),
        (NULL, "null", None, ["/f"]),
        (OBJ, '{"n": 1}', {"n": 1}, ["/f"]),
        (OBJ, '{"n": "1", "s": "2"}', {"n": 1, "s": "2"}, ["/f", "/f/n"]),
        (LIST, "[1, 2]", [1, 2], ["/f"]),
        (LIST, ["1", 2, "3"], [1, 2, 3], ["/f/0", "/f/2"]),
        (OBJ, {"n": "7", "s": "8"}, {"n": 7, "s": "8"}, ["/f/n"]),
        ({"type": "object", "additionalProperties": INT}, {"k": "1"}, {"k": 1}, ["/f/k"]),
        ({"type": "array", "items": LIST}, [["1"]], [[1]], ["/f/0/0"]),
        (nullable(INT), "3", 3, ["/f"]),
        (nullable(INT), "null", None, ["/f"]),
        (nullable(BOOL), "true", True, ["/f"]),
        (nullable(OBJ), {"n": "1"}, {"n": 1}, ["/f/n"]),
        (nullable(LIST), ["1"], [1], ["/f/0"]),
        (nullable(LIST), "[1]", [1], ["/f"]),
        ({"oneOf": [INT, NULL]}, "3", 3, ["/f"]),
        ({"type": ["integer", "null"]}, "3", 3, ["/f"]),
        ({"type": ["number", "integer"]}, "3", 3, ["/f"]),
        ({"anyOf": [INT, BOOL]}, "true", True, ["/f"]),
        ({"enum": [1, 2]}, "2", 2, ["/f"]),
        ({"const": 5}, "5", 5, ["/f"]),
        ({"$ref": "#/$defs/D"}, {"n": "1"}, {"n": 1}, ["/f/n"]),
        ({"$ref": "#/$defs/N"}, "4", 4, ["/f"]),
        (nullable({"$ref": "#/$defs/D"}), {"n": "1"}, {"n": 1}, ["/f/n"]),
    ],
)
def test_one_reading_is_taken_and_recorded(schema: Any, given: Any, value: Any, changed: list[str]) -> None:
    call = checked({"properties": {"f": schema}, "$defs": DEFS}, {"f": given})
    assert isinstance(call, ValidCall), call
    assert call.arguments == {"f": value}
    assert type(call.arguments["f"]) is type(value)
    assert list(call.coerced) == changed
    assert call.proposal.arguments == {"f": given}, "what was sent is left as it is"


@pytest.mark.parametrize(
    ("schema", "given"),
    [
        (INT, "3.0"),
        (INT, "3 "),
        (INT, " 3"),
        (INT, "+3"),
        (INT, "03"),
        (INT, "0x3"),
        (INT, "1_000"),
        (INT, ""),
        (INT, "three"),
        (INT, "٣"),
        (INT, "1234567890123456789"),
        (INT, True),
        (INT, None),
        (INT, 3.5),
        (INT, [3]),
        (NUM, "NaN"),
        (NUM, "Infinity"),
        (NUM, "1e999"),
        (NUM, "1,5"),
        (NUM, ".5"),
        (NUM, "5."),
        (BOOL, "True"),
        (BOOL, "yes"),
        (BOOL, "1"),
        (BOOL, 1),
        (NULL, "None"),
        (NULL, ""),
        (STR, 3),
        (STR, True),
        (STR, None),
        (STR, ["x"]),
        (OBJ, '{"n": 1, "n": 2}'),
        (OBJ, '{"n": NaN}'),
        (OBJ, "[1]"),
        (OBJ, "n=1"),
        (OBJ, "{"),
        (OBJ, '"x"'),
        (OBJ, '{"n": 1} x'),
        (OBJ, '{"zz": 1}'),
        (OBJ, "[" * 100_000),
        (LIST, "1,2"),
        (LIST, '{"0": 1}'),
        (LIST, "[1, 2.5]"),
        (LIST, "[" * 200 + "]" * 200),
        ({"type": "object"}, '{"a":' * 80 + "1" + "}" * 80),
        ({"type": "object"}, '{"a": "\\ud800"}'),
        ({"anyOf": [OBJ, LIST]}, "3"),
        ({"allOf": [INT]}, "3"),
        ({"type": "integer", "maximum": 2}, "3"),
        ({"anyOf": [INT, {"not": {"type": "string"}}]}, "3"),
    ],
)
def test_everything_else_is_an_error(schema: Any, given: Any) -> None:
    answer = checked({"properties": {"f": schema}, "$defs": DEFS}, {"f": given})
    assert isinstance(answer, CallError)
    assert answer.error_type == "validation_error"


@pytest.mark.parametrize(
    "schema",
    [STR, {}, {"anyOf": [INT, STR]}, {"type": ["integer", "string"]}, {"enum": ["3", 3]}, {"minLength": 1}],
)
def test_a_string_that_may_be_one_is_never_touched(schema: Any) -> None:
    call = checked({"properties": {"f": schema, "n": INT}}, {"f": "3", "n": "4"})
    assert isinstance(call, ValidCall)
    assert call.arguments == {"f": "3", "n": 4}
    assert call.coerced == ("/n",)


def test_a_huge_integer_in_a_json_text_stays_exact() -> None:
    call = checked({"properties": {"f": {"type": "object"}}}, {"f": '{"id": 123456789012345678901234567890}'})
    assert isinstance(call, ValidCall)
    assert call.arguments["f"]["id"] == 123456789012345678901234567890


def test_pointers_are_escaped() -> None:
    call = checked({"properties": {"a/b": INT, "c~d": INT}}, {"a/b": "1", "c~d": "2"})
    assert isinstance(call, ValidCall)
    assert call.coerced == ("/a~1b", "/c~0d")


def test_a_mended_call_is_identified_by_what_runs() -> None:
    mended = checked({"properties": {"n": INT}}, {"n": "3"})
    plain = checked({"properties": {"n": INT}}, {"n": 3})
    assert isinstance(mended, ValidCall)
    assert isinstance(plain, ValidCall)
    assert mended.canonical == plain.canonical == b'{"n":3}'
