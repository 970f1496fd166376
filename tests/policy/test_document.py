"""The policy document: its form, its schema, and that nothing is lost on the way to JSON and back."""

import json
from importlib.resources import files
from typing import Any, get_args

import jsonschema_rs
import pytest

from gerbang.errors import PolicyError
from gerbang.policy.document import FIELDS, read_document
from gerbang.policy.history import KEPT, History
from gerbang.policy.input import (
    INPUT_VERSION,
    RISK_FACTS,
    ArgumentTaint,
    BudgetFacts,
    PolicyInput,
    ResourceFacts,
)
from gerbang.policy.tool_facts import make_tool_facts, tool_facts
from gerbang.values import LOCAL, Principal, RiskClass
from gerbang.values.contract import Contract
from gerbang.values.contract_parts import Fact, ResourceRef, SideEffects

SCHEMA: dict[str, Any] = json.loads(files("gerbang.policy").joinpath("input.schema.json").read_text("utf-8"))
VALID = jsonschema_rs.validator_for(SCHEMA)

CONTRACT = Contract(
    "crm.customer.erase.v2",
    RiskClass.DESTRUCTIVE,
    "Erase a customer.",
    {},
    side_effects=SideEffects("row_removed", ("customer",), "no", None, True, True),
    resources={"case": ResourceRef("case")},
    group="crm.customer",
    data_class="restricted",
    owner="crm team",
    facts=("identity",),
    control=frozenset({"id"}),
    digest="sha256:0",
)


def history(calls: int = 3) -> History:
    read = make_tool_facts("crm.read.v1", "read_internal", group="crm", resources=("customer",))
    seen = History.of([(read, "ok", f"step_{number:03d}") for number in range(calls)])
    seen.note_started(tool_facts(CONTRACT), "step_009")
    return seen


def full(calls: int = 3) -> PolicyInput:
    return PolicyInput(
        "crm.customer.erase.v2",
        RiskClass.DESTRUCTIVE,
        {"id": 5, "deep": {"list": [1, None, "a"]}},
        Principal("ana", "acme", scopes={"b", "a"}, roles={"r"}, agent="bot"),
        purpose="support",
        intent="clean up",
        run_id="r1",
        repaired=True,
        coerced=True,
        tainted_run=True,
        calls_before=4,
        calls_of_tool=1,
        time=1_700_000_000.5,
        step="step_010",
        info=tool_facts(CONTRACT),
        resources=(ResourceFacts("customer", "c5", "acme", "id"), ResourceFacts("case", "k1")),
        facts={"repository.visibility": "internal", "diff.files_changed": 3},
        risk_facts={"money": True, "model_claim": "high"},
        history=history(calls),
        budget=BudgetFacts(4, 6, 1.5, 2.5, 100, None, 30.0),
        taint={"id": ArgumentTaint("derived", ("web.fetch.v1",), "external", True)},
    )


@pytest.mark.parametrize(
    "document",
    [full(), full(200), PolicyInput("a", RiskClass.COMPUTE, {}, LOCAL)],
    ids=["full", "long", "bare"],
)
def test_the_document_fits_the_shipped_schema(document: PolicyInput) -> None:
    shown = json.loads(json.dumps(document.document()))
    assert list(VALID.iter_errors(shown)) == []
    assert len(shown["history"]["calls"]) <= KEPT
    assert shown["input_version"] == INPUT_VERSION == SCHEMA["properties"]["input_version"]["const"]


def test_the_schema_the_document_and_its_reader_know_the_same_fields() -> None:
    shown = full().document()
    assert set(shown) == set(SCHEMA["properties"]) == set(SCHEMA["required"]) == set(FIELDS)
    assert SCHEMA["properties"]["risk_facts"]["propertyNames"]["enum"] == list(RISK_FACTS)
    assert SCHEMA["properties"]["tool"]["properties"]["risk_class"]["enum"] == list(RiskClass)
    assert set(RISK_FACTS) >= set(get_args(Fact))


def test_nothing_is_lost_on_the_way_back() -> None:
    shown = json.loads(json.dumps(full().document()))
    assert json.loads(json.dumps(read_document(shown, "here").document())) == shown
    assert read_document(shown, "here").info == tool_facts(CONTRACT)


def test_a_record_is_the_document_without_what_is_kept_elsewhere() -> None:
    assert full().document().keys() - full().record().keys() == {"arguments", "history"}
    again = read_document({**full().record(), "arguments": full().arguments}, "here", full().history)
    assert again.document() == full().document()


def test_what_policy_sees_of_a_contract() -> None:
    facts = tool_facts(CONTRACT)
    assert (facts.name, facts.version, facts.group) == ("crm.customer.erase.v2", "v2", "crm.customer")
    assert facts.risk_facts == ("identity", "irreversible")
    assert facts.requires_approval is True
    assert facts.control == ("id",)
    assert facts.resources == ("case", "customer")
    assert set(facts.keys) == {
        "tool:crm.customer.erase.v2",
        "under:crm",
        "under:crm.customer",
        "under:crm.customer.erase",
        "class:destructive",
        "group:crm.customer",
        "effect:row_removed",
        "data:restricted",
        "resource:case",
        "resource:customer",
    }


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("text", "c.yaml: Expected `object`"),
        ({}, "missing required field `tool`"),
        ({"tool": {"name": "a"}}, "missing required field `risk_class`"),
        (
            {"tool": {"name": "a", "risk_class": "reads"}},
            "Invalid enum value 'reads' - at `$.tool.risk_class`",
        ),
        ({"tool": {"name": "a", "risk_class": "draft"}, "argumens": {}}, "unknown field `argumens`"),
        (
            {"tool": {"name": "a", "risk_class": "draft"}, "actor": {"usr": "x"}},
            "unknown field `usr` - at `$.actor`",
        ),
        ({"tool": {"name": "a", "risk_class": "draft"}, "input_version": 2}, "input_version 2 is not known"),
        (
            {"tool": {"name": "a", "risk_class": "draft"}, "risk_facts": {"mony": True}},
            "unknown risk fact 'mony'",
        ),
        (
            {
                "tool": {"name": "a", "risk_class": "draft"},
                "taint": {"by_argument": {"x": {"provenance": "y"}}},
            },
            "Invalid enum value 'y'",
        ),
        (
            {"tool": {"name": "a", "risk_class": "draft"}, "history": {"calls": [], "total": 60}},
            "the history lists 0 calls of 60",
        ),
    ],
)
def test_a_wrong_document_is_refused_with_the_place(data: Any, says: str) -> None:
    with pytest.raises(PolicyError) as caught:
        read_document(data, "c.yaml")
    assert says in str(caught.value)


def test_the_history_keeps_fifty_calls_and_counts_the_others() -> None:
    seen = history(0)
    read = make_tool_facts("crm.read.v1", "read_internal", group="crm")
    numbers = [seen.note_started(read) for _ in range(120)]
    for number in numbers[:100]:
        seen.note_finished(number, read, "ok" if number % 2 else "error")
    assert (seen.total, seen.in_flight) == (121, 21)
    assert [past.number for past in seen.last()] == list(range(72, 122))
    assert [past.status for past in seen.last()][:3] == ["error", "ok", "error"]
    assert seen.last()[-1].status == "running"
    assert [past.number for past in seen.last(2)] == [120, 121]
    assert seen.tally("under:crm").as_dict() == {"calls": 121, "ok": 50, "last": 121, "last_ok": 101}
    assert seen.tally("tool:none").as_dict() == {"calls": 0, "ok": 0, "last": 0, "last_ok": 0}
    assert seen.as_dict()["by_class"]["destructive"]["calls"] == 1
