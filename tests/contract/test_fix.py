"""The fix of an error is certain: applied, the error is gone, and nothing else is touched."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from gerbang.contract.check import check
from gerbang.errors import ContractError
from gerbang.values import CallError, Proposal, ValidCall

from .helpers import checked, entry

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "command": {"type": "string", "maxLength": 50},
        "risk": {"type": "string", "enum": ["low", "medium", "high"]},
        "count": {"type": "integer", "minimum": 0, "maximum": 100},
        "dry_run": {"type": "boolean"},
        "kind": {"const": "shell"},
        "mode": {"enum": ["safe"]},
        "limit": {"type": "integer", "default": 20},
        "address1": {"type": "string"},
        "price_max": {"type": "integer"},
        "explanation": {"type": "string", "maxLength": 20},
        "names": {"type": "array", "items": {"$ref": "#/$defs/person"}, "maxItems": 5},
    },
    "required": ["command"],
    "additionalProperties": False,
    "$defs": {
        "person": {
            "type": "object",
            "properties": {"first_name": {"type": "string"}, "age": {"type": "integer"}},
            "required": ["first_name"],
            "additionalProperties": False,
        }
    },
}


def patched(arguments: Any, patch: list[dict[str, Any]]) -> Any:
    """Apply a JSON Patch by the letter of RFC 6902, as far as add, remove, replace and move go."""
    document = copy.deepcopy(arguments)

    def holder(path: str) -> tuple[Any, str]:
        parts = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]
        here = document
        for part in parts[:-1]:
            here = here[int(part)] if isinstance(here, list) else here[part]
        return here, parts[-1]

    for operation in patch:
        where, last = holder(operation["path"])
        assert isinstance(where, dict)
        if operation["op"] == "add":
            where[last] = operation["value"]
        elif operation["op"] == "replace":
            assert last in where
            where[last] = operation["value"]
        elif operation["op"] == "remove":
            del where[last]
        else:
            assert operation["op"] == "move"
            source, old = holder(operation["from"])
            where[last] = source.pop(old)
    return document


def required(*names: str) -> dict[str, Any]:
    return {**SCHEMA, "required": ["command", *names]}


CASES: list[tuple[str, dict[str, Any], dict[str, Any], list[dict[str, Any]]]] = [
    ("extra", SCHEMA, {"command": "ls", "why": 1}, [{"op": "remove", "path": "/why"}]),
    (
        "an odd name",
        SCHEMA,
        {"command": "ls", "a/b~c": 1},
        [{"op": "remove", "path": "/a~1b~0c"}],
    ),
    (
        "case of an enum",
        SCHEMA,
        {"command": "ls", "risk": " HIGH"},
        [{"op": "replace", "path": "/risk", "value": "high"}],
    ),
    (
        "a number as text, beside another fault",
        SCHEMA,
        {"command": "ls", "count": "5", "why": 1},
        [{"op": "replace", "path": "/count", "value": 5}, {"op": "remove", "path": "/why"}],
    ),
    (
        "a number with a blank",
        SCHEMA,
        {"command": "ls", "count": " 5 "},
        [{"op": "replace", "path": "/count", "value": 5}],
    ),
    (
        "a boolean as Python writes it",
        SCHEMA,
        {"command": "ls", "dry_run": "True"},
        [{"op": "replace", "path": "/dry_run", "value": True}],
    ),
    (
        "null for nothing",
        SCHEMA,
        {"command": "ls", "count": None},
        [{"op": "remove", "path": "/count"}],
    ),
    ("a short name", SCHEMA, {"cmd": "ls"}, [{"op": "move", "from": "/cmd", "path": "/command"}]),
    ("a typo", SCHEMA, {"comand": "ls"}, [{"op": "move", "from": "/comand", "path": "/command"}]),
    (
        "another way to write it",
        SCHEMA,
        {"command": "ls", "dryRun": True},
        [{"op": "move", "from": "/dryRun", "path": "/dry_run"}],
    ),
    (
        "the one value",
        required("kind"),
        {"command": "ls"},
        [{"op": "add", "path": "/kind", "value": "shell"}],
    ),
    (
        "the one choice",
        required("mode"),
        {"command": "ls"},
        [{"op": "add", "path": "/mode", "value": "safe"}],
    ),
    (
        "the default",
        required("limit"),
        {"command": "ls"},
        [{"op": "add", "path": "/limit", "value": 20}],
    ),
    (
        "deeper, through a reference",
        SCHEMA,
        {"command": "ls", "names": [{"first_name": "Ana"}, {"firstName": "Budi", "Age": 3}]},
        [
            {"op": "move", "from": "/names/1/firstName", "path": "/names/1/first_name"},
            {"op": "move", "from": "/names/1/Age", "path": "/names/1/age"},
        ],
    ),
    ("too long is not certain", SCHEMA, {"command": "x" * 51}, []),
    ("a missing value is not guessed", SCHEMA, {}, []),
    (
        "a typo in an optional name",
        SCHEMA,
        {"command": "ls", "explanaton": "x"},
        [{"op": "move", "from": "/explanaton", "path": "/explanation"}],
    ),
    ("a typo whose value does not fit is not thrown away", SCHEMA, {"command": "ls", "explanaton": 5}, []),
    ("a short optional name may be another", SCHEMA, {"command": "ls", "coutn": 3}, []),
    ("a number in a name is no slip", SCHEMA, {"command": "ls", "address2": "x"}, []),
    ("one word for its opposite is no slip", SCHEMA, {"command": "ls", "price_min": 3}, []),
    ("nor where it is required", required("price_max"), {"command": "ls", "price_min": 3}, []),
    (
        "a wrong letter in a required name",
        SCHEMA,
        {"commend": "ls"},
        [{"op": "move", "from": "/commend", "path": "/command"}],
    ),
    (
        "two letters swapped",
        SCHEMA,
        {"commnad": "ls"},
        [{"op": "move", "from": "/commnad", "path": "/command"}],
    ),
    ("no near name: it may still be the missing one", SCHEMA, {"text": "ls"}, []),
    (
        "a near name, and something that does not exist",
        SCHEMA,
        {"comand": "ls", "why": 1},
        [{"op": "move", "from": "/comand", "path": "/command"}, {"op": "remove", "path": "/why"}],
    ),
    ("out of range as text", SCHEMA, {"command": "ls", "count": "500"}, []),
    ("one of two choices", SCHEMA, {"command": "ls", "risk": "hi"}, []),
    ("null for what is required", SCHEMA, {"command": None}, []),
    ("two names for one field", SCHEMA, {"comand": "a", "commandd": "b"}, []),
    ("no other type is made into text", SCHEMA, {"command": 5}, []),
]


@pytest.mark.parametrize(
    ("schema", "arguments", "fix"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_fixes(schema: dict[str, Any], arguments: dict[str, Any], fix: list[dict[str, Any]]) -> None:
    answer = checked(schema, arguments)
    assert isinstance(answer, CallError)
    assert (answer.fix or []) == fix if fix else answer.fix is UNSET
    mended = checked(schema, patched(arguments, fix))
    left = mended.invalid_fields if isinstance(mended, CallError) else ()
    assert len(left) < len(answer.invalid_fields) or not fix


def test_what_the_runtime_fills_is_taken_out_first() -> None:
    arguments = {"tenant": "acme", "cmd": "ls"}
    answer = checked(SCHEMA, arguments, runtime_fields=["tenant"])
    assert isinstance(answer, CallError)
    assert answer.error_code == "RUNTIME_OWNED_FIELD"
    assert answer.fix == [
        {"op": "remove", "path": "/tenant"},
        {"op": "move", "from": "/cmd", "path": "/command"},
    ]
    assert isinstance(checked(SCHEMA, patched(arguments, answer.fix), runtime_fields=["tenant"]), ValidCall)


def test_a_sensitive_value_is_not_quoted() -> None:
    plain = checked(SCHEMA, {"command": "ls", "count": "77", "x": 1})
    kept = checked(SCHEMA, {"command": "ls", "count": "77", "x": 1}, sensitive=["count"])
    assert "77" in repr(plain)
    assert "77" not in repr(kept)


def test_large_arguments_get_no_fix() -> None:
    schema = {"type": "object", "properties": {"l": {"type": "array"}}, "additionalProperties": False}
    answer = checked(schema, {"l": list(range(100_000)), "x": 1})
    assert isinstance(answer, CallError)
    assert answer.fix is UNSET


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-200, 200),
    st.sampled_from(["5", " 7", "500", "True", "false", "LOW", "low", "Shell", "safe", "", "x" * 60, "[1]"]),
    st.text(max_size=8),
)
NAMES = st.one_of(
    st.sampled_from([*SCHEMA["properties"], "cmd", "Command", "comand", "dryRun", "Risk", "who", "a/b", "~"]),
    st.text(max_size=6),
)
PEOPLE = st.lists(
    st.dictionaries(st.sampled_from(["first_name", "firstName", "age", "Age", "x"]), VALUES, max_size=4),
    max_size=4,
)
ARGUMENTS = st.dictionaries(NAMES, st.one_of(VALUES, PEOPLE), max_size=7)
NEEDED = st.lists(st.sampled_from(["risk", "kind", "mode", "limit", "dry_run"]), unique=True)


@settings(max_examples=400, deadline=None)
@given(ARGUMENTS, NEEDED, st.booleans())
def test_a_fix_takes_findings_away_and_adds_none(
    arguments: dict[str, Any], needed: list[str], owned: bool
) -> None:
    """What each operation names is gone after `check`, and no finding is new."""
    made = entry(required(*needed), runtime_fields=["who"] if owned else [])
    before = copy.deepcopy(arguments)
    answer = check(made, Proposal("r", 1, 0, "c", "box.open.v1", arguments))
    assert arguments == before, "the arguments themselves are not touched"
    if not isinstance(answer, CallError) or answer.fix is UNSET:
        return
    after = check(made, Proposal("r", 1, 0, "c", "box.open.v1", patched(arguments, answer.fix)))
    old = {(field.path, field.code) for field in answer.invalid_fields}
    new = set() if isinstance(after, ValidCall) else {(f.path, f.code) for f in after.invalid_fields}
    assert new < old
    touched = {op["path"] for op in answer.fix} | {op["from"] for op in answer.fix if "from" in op}
    assert not [path for path, _ in new if path in touched]


PARTS = st.sampled_from(
    [
        {"type": "string", "maxLength": 4},
        {"type": "string", "enum": ["Low", "low", "HIGH"]},
        {"type": "integer", "minimum": 0, "maximum": 9},
        {"type": ["number", "null"]},
        {"type": "boolean", "default": True},
        {"const": 3},
        {"enum": ["only"]},
        {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}, "maxItems": 2}]},
        {"$ref": "#/$defs/person"},
        {"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 2},
        {"type": "array", "prefixItems": [{"type": "boolean"}], "items": False},
        False,
        True,
    ]
)
FIELDS = st.sampled_from(
    ["name", "names", "nmae", "Name", "count", "county", "first_name", "firstName", "a/b"]
)
SENT = st.one_of(
    VALUES,
    PEOPLE,
    st.sampled_from(["HIGH", "Only", "3", "[1, 2]", '{"first_name": "x"}', [True], ["true"], {"a": "1"}]),
)


@settings(max_examples=400, deadline=None)
@given(
    st.dictionaries(FIELDS, PARTS, max_size=5),
    st.sets(FIELDS, max_size=2),
    st.dictionaries(FIELDS, SENT, max_size=5),
)
def test_a_fix_holds_for_any_schema(
    properties: dict[str, Any], needed: set[str], arguments: dict[str, Any]
) -> None:
    schema = {"properties": properties, "required": sorted(needed), "$defs": SCHEMA["$defs"]}
    try:
        made = entry(schema)
    except ContractError:  # a required field that nothing can fill
        return
    answer = check(made, Proposal("r", 1, 0, "c", "box.open.v1", arguments))
    if not isinstance(answer, CallError) or answer.fix is UNSET:
        return
    after = check(made, Proposal("r", 1, 0, "c", "box.open.v1", patched(arguments, answer.fix)))
    old = {(field.path, field.code) for field in answer.invalid_fields}
    new = set() if isinstance(after, ValidCall) else {(f.path, f.code) for f in after.invalid_fields}
    assert new < old


NAMED = [
    ({"cmd": "ls"}, (), "/cmd", "This field does not exist; did you mean command?"),
    ({"cmd": "ls"}, ("risk",), "/cmd", "This field does not exist; did you mean command?"),  # no fix, a hint
    ({"Command": "ls"}, (), "/Command", "This field does not exist; did you mean command?"),
    (
        {"command": "ls", "explanaton": 5},
        (),
        "/explanaton",
        "This field does not exist; did you mean explanation?",
    ),
    ({"command": "ls", "address2": "x"}, (), "/address2", "This field does not exist; leave it out."),
    ({"command": "ls", "cmd": "ls"}, (), "/cmd", "This field does not exist; leave it out."),
    ({"text": "ls"}, (), "/text", "This field does not exist; leave it out."),
    ({"a/b": 1, "command": "ls"}, (), "/a~1b", "This field does not exist; leave it out."),
]


@pytest.mark.parametrize(("arguments", "names", "path", "message"), NAMED)
def test_a_field_that_does_not_exist_is_told_its_likely_name(
    arguments: dict[str, Any], names: tuple[str, ...], path: str, message: str
) -> None:
    error = checked(required(*names), arguments)
    assert isinstance(error, CallError)
    assert {one.path: one.message for one in error.invalid_fields}[path] == message
