"""Floors: every combination of verdict, class, auto, risk facts, contract and two people."""

import itertools
from typing import Any

import pytest

from gerbang.errors import PolicyError
from gerbang.policy.bundle import compile_rules
from gerbang.policy.floors import floored
from gerbang.policy.input import RISK_FACTS, PolicyInput
from gerbang.policy.tool_facts import make_tool_facts
from gerbang.values import LOCAL, Decision, RiskClass

STATED = {("transactional", "money"), ("transactional", "legal_record"), ("destructive", "irreversible")}
CHANGING = {"outside_hours", "repaired_arguments"}
READS = {"compute", "read_internal", "read_external"}


def expected(
    verdict: str, risk: str, auto: bool, fact: str | None, contract: bool, two: bool
) -> tuple[str, set[str]]:
    """The rule of the page, written down once more in another way."""
    codes = set()
    if risk in ("transactional", "destructive") and not auto:
        codes.add(f"FLOOR_{risk.upper()}")
    if contract and not auto:
        codes.add("FLOOR_CONTRACT")
    if two:
        codes.add("FLOOR_TWO_PERSON")
    if fact and (risk, fact) not in STATED and not (fact in CHANGING and risk in READS):
        codes.add(f"FLOOR_{fact.upper()}")
    if verdict != "allow" or not codes:
        return verdict, set()
    return "ask", codes


@pytest.mark.parametrize("risk", list(RiskClass))
@pytest.mark.parametrize("verdict", ["allow", "ask", "deny"])
@pytest.mark.parametrize("declared", [False, True])
def test_the_whole_table(verdict: Any, risk: RiskClass, declared: bool) -> None:
    for auto, fact, contract, two in itertools.product(
        [False, True], [None, *RISK_FACTS], [False, True], [False, True]
    ):
        if declared and fact in (
            None,
            "outside_hours",
            "repaired_arguments",
            "model_claim",
            "unknown_origin",
        ):
            continue  # contracts declare the others only
        facts = {} if fact is None or declared else {fact: True}
        info = make_tool_facts(
            "a.b.v1",
            str(risk),
            risk_facts=(fact,) if declared else (),
            requires_approval=contract,
        )
        document = PolicyInput("a.b.v1", risk, {}, LOCAL, info=info, risk_facts=facts)
        decision = Decision(verdict, ("R",), "r", "v", ("two_person",) if two else (), auto)
        got = floored(decision, document)
        want, codes = expected(verdict, str(risk), auto, fact, contract, two)
        assert (got.decision, set(got.reasons)) == (want, codes | {"R"}), (auto, fact, contract, two)
        assert got.reasons[-1] == "R"
        assert (got.rule, got.policy_version, got.obligations) == ("r", "v", decision.obligations)
        assert floored(got, document) == got


@pytest.mark.parametrize(
    ("facts", "codes"),
    [
        ({"model_claim": "high"}, ["FLOOR_MODEL_CLAIM"]),
        ({"model_claim": "medium"}, []),
        ({"model_claim": "low"}, []),
        ({"model_claim": "something else"}, ["FLOOR_MODEL_CLAIM"]),
        ({"money": False, "production": None}, []),
        ({"money": "12 EUR"}, ["FLOOR_MONEY"]),
        ({"production": True, "access": True}, ["FLOOR_ACCESS", "FLOOR_PRODUCTION"]),
    ],
)
def test_what_a_fact_says(facts: dict[str, Any], codes: list[str]) -> None:
    document = PolicyInput("a.b.v1", RiskClass.WRITE_INTERNAL, {}, LOCAL, risk_facts=facts)
    got = floored(Decision("allow", ("R",), None, "v"), document)
    assert list(got.reasons) == [*codes, "R"]


def test_a_mended_call_is_a_fact_without_being_told() -> None:
    for risk in RiskClass:
        document = PolicyInput("a", risk, {}, LOCAL, repaired=True)
        got = floored(Decision("allow", ("R",), None, "v", auto=True), document)
        assert (got.decision == "ask") is (not risk.is_read)


@pytest.mark.parametrize(
    "written",
    [
        ["money"],
        "money",
        {"money": True},
        {"model_claim": "low"},
        {"model_claim": {"in": ["low", "medium"]}},
        {"model_claim": {"prefix": "l"}},
        {"production": False, "money": True},
    ],
)
def test_no_rule_that_allows_rests_on_a_risk_fact(written: Any) -> None:
    rule = {"id": "r", "decision": "allow", "reason": "R", "match": {"risk_facts": written}}
    with pytest.raises(PolicyError, match="risk facts only tighten"):
        compile_rules({"version": 1, "rules": [rule]}, "p")


@pytest.mark.parametrize("default", ["allow", "ask", "deny"])
@pytest.mark.parametrize("decision", ["ask", "deny"])
@pytest.mark.parametrize("other", [None, "allow", "ask", "deny"])
def test_a_rule_on_a_risk_fact_never_lowers(default: str, decision: str, other: str | None) -> None:
    rank = {"allow": 0, "ask": 1, "deny": 2}
    rules = [{"id": "f", "decision": decision, "reason": "F", "match": {"risk_facts": {"money": True}}}]
    if other is not None:
        rules.append({"id": "o", "decision": other, "reason": "O", "match": {"tool": "a"}})
    policy = compile_rules({"version": 1, "defaults": {"compute": default}, "rules": rules}, "p")

    def decided(**facts: Any) -> str:
        return policy.decide(PolicyInput("a", RiskClass.COMPUTE, {}, LOCAL, risk_facts=facts)).decision

    assert rank[decided(money=True)] >= rank[decided()]
    assert rank[decided(money=True)] >= rank[decision]


def test_what_the_runtime_says_takes_no_declared_fact_away() -> None:
    info = make_tool_facts("a", "compute", risk_facts=("money",))
    rule = {"id": "f", "decision": "deny", "reason": "F", "match": {"risk_facts": ["money"]}}
    policy = compile_rules({"version": 1, "rules": [rule]}, "p")
    for said in ({}, {"money": False}, {"money": None}):
        document = PolicyInput("a", RiskClass.COMPUTE, {}, LOCAL, info=info, risk_facts=said)
        assert policy.decide(document).decision == "deny"
        assert floored(Decision("allow", ("R",), None, "v"), document).decision == "ask"
