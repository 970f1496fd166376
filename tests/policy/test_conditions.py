"""Conditions over actors, contracts, resources, facts, taint, budgets and time."""

from typing import Any

import pytest

from gerbang.compose.policy_zones import zone
from gerbang.policy.bundle import compile_rules
from gerbang.policy.input import ArgumentTaint, BudgetFacts, PolicyInput, ResourceFacts
from gerbang.policy.tool_facts import make_tool_facts
from gerbang.values import Principal, RiskClass

ANA = Principal("ana", "acme", scopes={"s1", "s2"}, roles={"admin", "ops"})
INFO = make_tool_facts(
    "box.open.v1",
    "write_internal",
    group="box",
    data_class="internal",
    defined_by="file",
    risk_facts=("money",),
    side_effects={"kind": "row_changed", "resources": [], "reversible": "partially"},
)
DOCUMENT = PolicyInput(
    "box.open.v1",
    RiskClass.WRITE_INTERNAL,
    {"to": ["a@x", "b@x"], "one": "a@x", "empty": [], "items": [{"price": 5}], "a.b": {"c/d": 7}, "n": 3},
    ANA,
    purpose="support",
    info=INFO,
    resources=(
        ResourceFacts("customer", "c1", "acme"),
        ResourceFacts("case", "k9", "other"),
        ResourceFacts("x", "?"),
    ),
    facts={"visibility": "internal", "files": 3, "none": None},
    risk_facts={"production": True, "model_claim": "medium", "access": False},
    budget=BudgetFacts(calls_left=2, cost=1.5, tokens=100),
    calls_before=7,
    calls_of_tool=2,
    taint={
        "to": ArgumentTaint("derived", ("web.fetch.v1",), "external", control=True),
        "one": ArgumentTaint("user", control=True),
        "n": ArgumentTaint("equal"),
    },
    repaired=False,
)


def decided(match: dict[str, Any], document: PolicyInput = DOCUMENT, decision: str = "deny") -> Any:
    rule = {"id": "r", "match": match, "decision": decision, "reason": "HIT"}
    policy = {"version": 1, "facts": ["visibility", "files", "none", "missing"], "rules": [rule]}
    return compile_rules(policy, "p.yaml", zone).decide(document)


@pytest.mark.parametrize(
    ("match", "holds"),
    [
        ({"group": "box"}, True),
        ({"group": ["other", "box"]}, True),
        ({"group": {"prefix": "bo"}}, True),
        ({"group": {"not_in": ["box"]}}, False),
        ({"data_class": "internal"}, True),
        ({"data_class": "restricted"}, False),
        ({"defined_by": "file"}, True),
        ({"defined_by": "request"}, False),
        ({"effect": "row_changed"}, True),
        ({"effect": {"ne": "row_changed"}}, False),
        ({"reversible": ["no", "partially"]}, True),
        ({"class": "write_internal", "risk": {"above": "draft"}}, True),
        ({"class": "write_internal", "risk": "draft"}, False),
        ({"user": {"in": ["ana"]}}, True),
        ({"user": {"not_in": ["ana"]}}, False),
        ({"agent": {"exists": False}}, True),
        ({"agent": {"ne": "bot"}}, True),
        ({"agent": {"prefix": "b"}}, False),
        ({"intent": {"exists": True}}, False),
        ({"purpose": {"suffix": "port"}}, True),
        ({"roles": {"any_of": ["admin", "x"]}}, True),
        ({"roles": {"all_of": ["admin", "ops"]}}, True),
        ({"roles": {"all_of": ["admin", "x"]}}, False),
        ({"roles": {"none_of": ["admin"]}}, False),
        ({"roles": {"none_of": ["x"]}}, True),
        ({"scopes": {"any_of": "s1", "none_of": "s9"}}, True),
        ({"scopes": {"any_of": "s1", "none_of": "s2"}}, False),
        ({"arguments": {"to": {"all_in": ["a@x", "b@x", "c@x"]}}}, True),
        ({"arguments": {"to": {"all_in": ["a@x"]}}}, False),
        ({"arguments": {"to": {"any_in": ["a@x"]}}}, True),
        ({"arguments": {"one": {"all_in": ["a@x"]}}}, True),
        ({"arguments": {"empty": {"all_in": ["a@x"]}}}, False),
        ({"arguments": {"empty": {"any_in": ["a@x"]}}}, False),
        ({"arguments": {"none": {"all_in": ["a@x"]}}}, False),
        ({"arguments": {"to": {"length": 2}}}, True),
        ({"arguments": {"to": {"length": {"gt": 2}}}}, False),
        ({"arguments": {"one": {"length": {"ge": 3, "lt": 4}}}}, True),
        ({"arguments": {"one": {"suffix": ["@y", "@x"]}}}, True),
        ({"arguments": {"items.0.price": 5}}, True),
        ({"arguments": {"items.1.price": {"exists": True}}}, False),
        ({"arguments": {"items.-1.price": {"exists": True}}}, False),
        ({"arguments": {"/a.b/c~1d": 7}}, True),
        ({"arguments": {"a.b": {"exists": True}}}, False),
        ({"resources": {"kind": "customer"}}, True),
        ({"resources": {"kind": ["none", "case"]}}, True),
        ({"resources": {"kind": "none"}}, False),
        ({"resources": {"kind": "customer", "tenant": "same"}}, True),
        ({"resources": {"kind": "customer", "tenant": "other"}}, False),
        ({"resources": {"kind": "case", "tenant": "other"}}, True),
        ({"resources": {"kind": "x", "tenant": "same"}}, False),
        ({"resources": {"kind": "x", "tenant": "other"}}, True),
        ({"resources": {"tenant": "same"}}, False),
        ({"resources": {"tenant": "other"}}, True),
        ({"resources": {"kind": "none", "tenant": "other"}}, False),
        ({"resources": {"id": {"prefix": "k"}}}, True),
        ({"resources": {"id": "c2"}}, False),
        ({"facts": {"visibility": "internal"}}, True),
        ({"facts": {"visibility": {"ne": "internal"}}}, False),
        ({"facts": {"files": {"le": 3}, "visibility": "internal"}}, True),
        ({"facts": {"none": None}}, True),
        ({"risk_facts": "production"}, True),
        ({"risk_facts": ["legal_record", "money"]}, True),
        ({"risk_facts": ["access"]}, False),
        ({"risk_facts": {"production": True, "money": True, "identity": False}}, True),
        ({"risk_facts": {"production": False}}, False),
        ({"risk_facts": {"model_claim": "medium"}}, True),
        ({"risk_facts": {"model_claim": {"ne": "high"}}}, True),
        ({"risk_facts": {"model_claim": {"in": ["high"]}}}, False),
        ({"risk_facts": {"repaired_arguments": False}}, True),
        ({"taint": {"run": False}}, True),
        ({"taint": {"arguments": {"to": "derived"}}}, True),
        ({"taint": {"arguments": {"to": ["equal", "contained"]}}}, False),
        ({"taint": {"arguments": {"items": "unexplained"}}}, True),
        ({"taint": {"arguments": {"absent": "unexplained"}}}, False),
        ({"taint": {"control": ["derived"]}}, True),
        ({"taint": {"control": ["equal"]}}, False),
        ({"taint": {"run": False, "control": ["user"], "arguments": {"n": "equal"}}}, True),
        ({"budget": {"calls": 7}}, True),
        ({"budget": {"calls_of_tool": {"ge": 3}}}, False),
        ({"budget": {"calls_left": {"lt": 3}}}, True),
        ({"budget": {"cost": {"gt": 1}, "cost_left": {"gt": 1_000_000}}}, True),
        ({"budget": {"seconds_left": {"lt": 1}}}, False),
        ({"budget": {"tokens": {"in": [100]}}}, True),
    ],
)
def test_condition(match: dict[str, Any], holds: bool) -> None:
    got = decided(match)
    assert "POLICY_ERROR" not in got.reasons
    assert (got.rule == "r") is holds


@pytest.mark.parametrize(
    ("arguments", "taint", "unexplained", "derived"),
    [
        ({"path": "a"}, {}, True, False),
        ({}, {}, False, False),
        ({"path": "a"}, {"path": ArgumentTaint("user")}, False, False),
        ({"path": "a"}, {"path": ArgumentTaint("derived")}, False, True),
        ({"text": "a"}, {"text": ArgumentTaint("derived")}, False, False),
        ({"path": "a", "text": "b"}, {"text": ArgumentTaint("derived", control=True)}, True, True),
    ],
)
def test_arguments_that_steer_are_known_from_the_contract(
    arguments: dict[str, Any], taint: dict[str, ArgumentTaint], unexplained: bool, derived: bool
) -> None:
    info = make_tool_facts("a", "write_internal", control=("path",))
    document = PolicyInput("a", RiskClass.WRITE_INTERNAL, arguments, ANA, info=info, taint=taint)
    for name, holds in (("unexplained", unexplained), ("derived", derived)):
        assert (decided({"taint": {"control": name}}, document).rule == "r") is holds


@pytest.mark.parametrize("decision", ["allow", "ask", "deny"])
def test_a_fact_that_was_not_resolved_denies(decision: str) -> None:
    got = decided({"facts": {"missing": {"exists": False}}}, decision=decision)
    assert (got.decision, got.reasons, got.rule) == ("deny", ("POLICY_FACT_MISSING",), "r")


def test_facts_are_asked_only_when_all_else_holds() -> None:
    assert decided({"facts": {"missing": 1}, "user": "bob"}).reasons == ("CLASS_WRITE_INTERNAL",)
    assert decided({"user": "ana", "facts": {"missing": 1}}).reasons == ("POLICY_FACT_MISSING",)


def test_which_facts_a_tool_needs() -> None:
    rules = [
        {"id": "a", "match": {"tool": "git.*", "facts": {"x": 1, "y": 2}}, "decision": "deny", "reason": "A"},
        {"id": "b", "match": {"tool": "git.push.v1", "facts": {"z": 1}}, "decision": "deny", "reason": "B"},
        {"id": "c", "match": {"user": "ana"}, "decision": "deny", "reason": "C"},
    ]
    policy = compile_rules({"version": 1, "facts": ["z", "x", "y", "w"], "rules": rules}, "p")
    assert policy.needs("git.push.v1") == ("x", "y", "z")
    assert policy.needs("git.pull.v1") == ("x", "y")
    assert policy.needs("mail.send.v1") == ()
    assert policy.needs("mail.send.v1") is policy.needs("mail.send.v1")


FRIDAY_NOON = 1_767_355_200  # 2026-01-02 12:00 UTC, a Friday
HOUR, DAY = 3_600, 86_400


@pytest.mark.parametrize(
    ("window", "at", "inside"),
    [
        ({"days": ["fri"], "zone": "UTC"}, FRIDAY_NOON, True),
        ({"days": "fri", "zone": "UTC"}, FRIDAY_NOON + 12 * HOUR, False),
        ({"days": ["fri"], "zone": "UTC"}, FRIDAY_NOON + 12 * HOUR - 0.001, True),
        ({"days": ["sat"], "zone": "+14:00"}, FRIDAY_NOON, True),
        ({"days": ["thu"], "zone": "-13:00"}, FRIDAY_NOON, True),
        ({"hours": "12:00-13:00", "zone": "UTC"}, FRIDAY_NOON, True),
        ({"hours": "11:00-12:00", "zone": "UTC"}, FRIDAY_NOON, False),
        ({"hours": "17:30-17:31", "zone": "+05:30"}, FRIDAY_NOON, True),
        ({"hours": "19:00-20:00", "zone": "Asia/Jakarta"}, FRIDAY_NOON, True),
        ({"hours": "14:00-15:00", "zone": "Europe/Berlin"}, FRIDAY_NOON + 181 * DAY, True),
        ({"hours": "13:00-14:00", "zone": "Europe/Berlin"}, FRIDAY_NOON, True),
        ({"hours": "22:00-06:00", "zone": "UTC"}, FRIDAY_NOON + 10 * HOUR, True),
        ({"hours": "22:00-06:00", "zone": "UTC"}, FRIDAY_NOON + 17 * HOUR, True),
        ({"hours": "22:00-06:00", "zone": "UTC"}, FRIDAY_NOON + 18 * HOUR, False),
        ({"days": ["fri"], "hours": "22:00-06:00", "zone": "UTC"}, FRIDAY_NOON + 17 * HOUR, True),
        ({"days": ["fri"], "hours": "22:00-06:00", "zone": "UTC"}, FRIDAY_NOON - 7 * HOUR, False),
        ({"days": ["sun"], "hours": "00:00-24:00", "zone": "UTC"}, FRIDAY_NOON + 2 * DAY, True),
        ({"days": ["mon", "tue"], "zone": "UTC"}, -3 * DAY, True),  # 1969-12-29, a Monday
    ],
)
def test_time_windows(window: dict[str, Any], at: float, inside: bool) -> None:
    document = PolicyInput("a", RiskClass.COMPUTE, {}, ANA, time=at)
    assert (decided({"time": window}, document).rule == "r") is inside
    assert (decided({"time": {**window, "outside": True}}, document).rule == "r") is not inside


def test_outside_working_hours_is_a_fact_that_rules_see_and_that_asks() -> None:
    hours = {"days": ["fri"], "hours": "08:00-17:00", "zone": "UTC"}
    rules = [
        {"id": "n", "match": {"tool": "n.*"}, "decision": "allow", "reason": "N"},
        {
            "id": "d",
            "match": {"tool": "d.*", "risk_facts": ["outside_hours"]},
            "decision": "deny",
            "reason": "D",
        },
    ]
    policy = compile_rules({"version": 1, "hours": hours, "rules": rules}, "p")

    def at(tool: str, risk: str, time: float) -> tuple[str, ...]:
        return policy.decide(PolicyInput(tool, RiskClass(risk), {}, ANA, time=time)).reasons

    assert at("n.a", "write_internal", FRIDAY_NOON) == ("N",)
    assert at("n.a", "write_internal", FRIDAY_NOON + 6 * HOUR) == ("FLOOR_OUTSIDE_HOURS", "N")
    assert at("n.a", "read_internal", FRIDAY_NOON + 6 * HOUR) == ("N",)
    assert at("d.a", "compute", FRIDAY_NOON) == ("CLASS_COMPUTE",)
    assert at("d.a", "compute", FRIDAY_NOON + 6 * HOUR) == ("D",)
