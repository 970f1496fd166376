"""The fields of a contract: one list for files and keywords, bounds, and what they say about each other."""

from typing import Any

import pytest
from msgspec import to_builtins
from msgspec.structs import fields

from gerbang.contract.document import ContractDocument
from gerbang.contract.fields import ContractFields
from gerbang.errors import ContractError
from gerbang.values import Contract
from gerbang.values.canonical import NotCanonical, digest
from gerbang.values.contract_parts import Condition, Exposure, Guidance, Rate, ResourceRef, Retry, SideEffects

from .helpers import contract

PARAMETERS = {"properties": {"to": {"type": "string"}, "text": {"type": "string"}}}
WRITES: dict[str, Any] = {"risk": "write_external", "parameters": PARAMETERS}
PROBE: dict[str, Any] = {
    "tool": "box.find.v1",
    "arguments": {"id": "to"},
    "happened": {"test": "exists", "path": "/id"},
    "not_happened": {"test": "error", "value": "NOT_FOUND"},
}


def test_files_and_keywords_have_the_same_fields() -> None:
    ours = {"name", "risk", "description", "parameters"}
    assert set(ContractFields.__annotations__) | ours == set(ContractDocument.__struct_fields__)
    read = set(ContractDocument.__struct_fields__) - {"arguments", "timeout_ms", "intents"}
    assert set(Contract.__struct_fields__) - {"origin", "digest"} == read


def test_defaults_are_those_of_the_contract() -> None:
    made = contract()
    for field in fields(Contract):
        if not field.required and field.name not in ("origin", "digest", "group"):
            default = {} if field.default_factory is dict else field.default
            assert getattr(made, field.name) == default, field.name


CHANGES: list[dict[str, Any]] = [
    {"guidance": {"when_to_use": "x"}},
    {"guidance": {"alternatives": ["a.v1"]}},
    {"side_effects": {"kind": "none"}},
    {"side_effects": {"kind": "mail"}},
    {"side_effects": {"kind": "mail", "reversible": "no"}},
    {"side_effects": {"kind": "mail", "default_requires_approval": True}},
    {"side_effects": {"kind": "mail", "approval_s": 60}},
    {"retry": {"max_attempts": 2}},
    {"retry": {"retry_on": ["timeout"]}},
    {"retry": {"never_retry_on": ["permission_denied"]}},
    {"honours_key": True},
    {"key_argument": "key"},
    {"probe": PROBE},
    {"probe": {**PROBE, "values": {"kind": 1}}},
    {"concurrency": 1},
    {"rate": {"calls": 1, "per_s": 1}},
    {"rate": {"calls": 1, "per_s": 1, "burst": 1}},
    {"idle_timeout_s": 5},
    {"cancellation": "stops"},
    {"partial_result": True},
    {"error_categories": ["conflict"]},
    {"owner": "team"},
    {"control": ["to"]},
    {"content": ["to"]},
    {"resources": {"to": {"kind": "person"}}},
    {"resources": {"to": {"kind": "person", "tenant_prefix": "{tenant}/"}}},
    {"data_class": "internal"},
    {"scopes": ["mail"]},
    {"validators": [{"name": "goal"}]},
    {"validators": [{"name": "goal", "options": {"a": 1}}]},
    {"facts": ["money"]},
    {"group": "post"},
    {"deprecated": True},
    {"replaced_by": "box.open.v2"},
    {"retired": True},
    {"expose": {"states": ["open"]}},
    {"expose": {"tenants": ["open"]}},
    {"expose": {"roles": ["open"]}},
    {"expose": {"scopes": ["open"]}},
    {"body": "sha256:x"},
]


def test_every_change_gives_another_digest() -> None:
    digests = [contract(**{**WRITES, **change}).digest for change in [{}, *CHANGES]]
    assert len(set(digests)) == len(digests)


@pytest.mark.parametrize(
    "change",
    [
        {},
        *CHANGES,
        {"timeout_s": 2.5},
        {"timeout_s": 20},
        {"cost_units": 0.1},
        {"result_max_chars": 2**60},
        {"parameters": {"properties": {"to": {"type": "number", "minimum": 0.5}}}},
        {"parameters": {"properties": {"jalan \u00e9": {"type": "string"}}}, "control": ["jalan \u00e9"]},
        {"parameters": {"properties": {"\u00e9": {}}}, "resources": {"\u00e9": {"kind": "p"}}},
        {"description": 'Menyebut "nama" \u2028\u00e9\t\\ /'},
        {"annotations": {"b": [1, {"z": None, "a": 1e3}]}},
        {"returns": {"type": "object", "properties": {"n": {"maximum": 3}}}},
    ],
)
def test_the_digest_is_that_of_the_canonical_json_of_what_is_said(change: dict[str, Any]) -> None:
    made = contract(**{**WRITES, **change})
    said = {}
    for field in fields(Contract):
        value = getattr(made, field.name)
        default = {} if field.default_factory is dict else field.default
        if field.name not in ("origin", "digest") and value != default:
            plain = to_builtins(value, order="sorted")
            said[field.name] = int(plain) if isinstance(plain, float) and plain.is_integer() else plain
    try:
        assert made.digest == digest(said)
    except NotCanonical:
        pytest.fail("a contract without canonical JSON was made")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"timeout_s": 2}, {"timeout_ms": 2000}),
        ({"timeout_s": 30}, {}),
        ({"retry": {}}, {}),
        ({"guidance": {"effect": ""}}, {}),
        ({"group": "box"}, {}),
        ({"control": ["to"]}, {"arguments": {"to": {"role": "control"}}}),
        ({"sensitive": ["to"]}, {"arguments": {"to": {"sensitive": True}}}),
        ({"runtime_fields": ["who"]}, {"arguments": {"who": {"role": "runtime"}}}),
        ({"resources": {"to": {"kind": "p"}}}, {"arguments": {"to": {"resource": "p"}}}),
        ({"intents": ["a"]}, {"expose": {"intents": ["a"]}}),
        ({"scopes": ["a", "b"]}, {"scopes": {"b", "a"}}),
        ({"secrets": ["B", "A", "B"]}, {"secrets": ("A", "B")}),
        ({"guidance": Guidance(limits="x")}, {"guidance": {"limits": "x"}}),
        ({"retry": Retry(max_attempts=2)}, {"retry": {"max_attempts": 2}}),
        ({"rate": Rate(1, 2.0)}, {"rate": {"calls": 1, "per_s": 2}}),
        ({"expose": Exposure(roles=frozenset({"a"}))}, {"expose": {"roles": ["a"]}}),
        ({"resources": {"to": ResourceRef("p")}}, {"resources": {"to": {"kind": "p"}}}),
        ({"side_effects": SideEffects("m", ("a",))}, {"side_effects": {"kind": "m", "resources": ["a"]}}),
    ],
)
def test_two_ways_to_say_one_thing(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert contract(**{**WRITES, **one}).digest == contract(**{**WRITES, **other}).digest


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"retry": Retry(max_attempts=0)}, "retry.max_attempts: must be a whole number from 1 to 10, not 0"),
        ({"rate": Rate(0, 1)}, "rate.calls: must be a whole number from 1, not 0"),
        ({"rate": {"calls": 1}}, "rate.per_s: missing; it must be a number above 0 and at most 86400"),
        ({"guidance": []}, "guidance: must be a mapping, not a list"),
        ({"arguments": {"to": {"resource": 3}}}, "arguments.to.resource: must be"),
        (
            {"probe": {**PROBE, "happened": {"test": "is"}}},
            "probe.happened.test: must be one of absent",
        ),
        ({"facts": ["money", "mony"]}, "facts[1]: must be one of access, customer_impact"),
        ({"scopes": [""]}, "scopes[0]: must be text, not empty, at most 128 characters, not ''"),
        ({"description": "x" * 20_001}, "description: must be text, at most 20000 characters"),
        ({"cancellation": None}, "cancellation: must be one of finishes, stops, unknown, not nothing"),
        ({"concurrency": "1"}, "concurrency: must be a whole number from 1 to 10000 or nothing, not '1'"),
        ({"deprecated": "yes"}, "deprecated: must be true or false, not 'yes'"),
        ({"control": ["too"]}, "control names 'too', which is not a parameter (did you mean to?)"),
        (
            {"resources": {"x": {"kind": "p"}}},
            "which is not a parameter; there are: text, to",
        ),
        ({"control": ["to"], "content": ["to"]}, "'to' cannot be both control and content"),
        ({"arguments": {"to": {"role": "runtime"}}}, "'to' is filled by the runtime"),
        ({"key_argument": "to"}, "'to' is filled by the runtime"),
        (
            {"resources": {"to": {"kind": "p"}}, "arguments": {"to": {"resource": "p"}}},
            "'to' stands in resources and has a resource in arguments",
        ),
        ({"secrets": ["a b"]}, "cannot name a secret"),
        ({"group": "a b"}, "group: 'a b' is not a tool name"),
        ({"guidance": {"alternatives": ["box.open.v1"]}}, "guidance.alternatives names the tool itself"),
        ({"risk": "compute", "probe": PROBE}, "probe: a reading tool is repeated, not probed"),
        (
            {"probe": {**PROBE, "arguments": {"id": "txt"}}},
            "probe.arguments.id takes 'txt', which",
        ),
        ({"probe": {**PROBE, "values": {"id": 1}}}, "probe: 'id' stands in arguments and in values"),
        ({"probe": {**PROBE, "not_happened": PROBE["happened"]}}, "are the same condition"),
        ({"probe": {**PROBE, "happened": Condition("equals", 1, "id")}}, "'id' must be a JSON Pointer"),
        ({"probe": {**PROBE, "happened": Condition("in", 1, "/id")}}, "the test 'in' takes a list"),
        (
            {"side_effects": {"kind": "x", "reversible": "no", "compensating_action": "a.v1"}},
            "what is not reversible has no compensating_action",
        ),
    ],
)
def test_what_does_not_fit(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ContractError) as caught:
        contract(**{**WRITES, "origin": "here", **given})
    assert str(caught.value).startswith("here: ")
    assert says in str(caught.value)


def test_many_faults_are_counted_and_the_first_ones_are_told() -> None:
    wrong: dict[str, Any] = {f"fact{n}": 1 for n in range(9)}
    with pytest.raises(ContractError, match=r"fact0: unknown field.*\(and 4 more\)\.$"):
        contract(**WRITES, **wrong)


def test_a_tool_may_take_back_its_own_effect() -> None:
    effects: dict[str, Any] = {"kind": "moved", "reversible": "yes", "compensating_action": "box.open.v1"}
    made = contract(**WRITES, side_effects=effects)
    assert made.side_effects is not None
    assert made.side_effects.compensating_action == made.name
