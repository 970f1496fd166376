"""Floors: every combination of verdict, class, auto, risk facts, contract and two people."""

import itertools
from typing import Any

import pytest

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
