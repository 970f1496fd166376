"""Floors: what no rule can go below. Applied last, to the decision of every kind of policy.

A floor turns `allow` into `ask`, never anything into something weaker:

- `transactional` and `destructive` tools, unless the deciding policy names that very tool with `auto`;
- tools whose contract asks for approval, unless `auto`;
- risk facts: what is irreversible, touches production, customers, money, identity, access or legal records,
  comes from an unknown origin, or that the model itself calls high; `auto` does not lift these, except those
  that the class of the tool states anyway;
- for calls that can change something also: outside working hours, and arguments that had to be mended;
- an obligation that needs two people.
"""

from typing import Final

from msgspec.structs import replace

from gerbang.policy.input import PolicyInput
from gerbang.values import Decision, RiskClass
from gerbang.values.risk import READS

CLASS_FLOOR: Final = frozenset({RiskClass.TRANSACTIONAL, RiskClass.DESTRUCTIVE})
"""Classes that are at least `ask`."""

STATED: Final[dict[RiskClass, frozenset[str]]] = {
    RiskClass.TRANSACTIONAL: frozenset({"money", "legal_record"}),
    RiskClass.DESTRUCTIVE: frozenset({"irreversible"}),
}
"""Facts that the class states by itself: its floor stands for them, and whoever lifts it lifts them."""

OF_CHANGES: Final = frozenset({"outside_hours", "repaired_arguments"})
"""Facts that matter only for calls that can change something."""

_QUIET_CLAIMS: Final = frozenset({"low", "medium"})


def floored(decision: Decision, document: PolicyInput) -> Decision:
    """Return the decision with the floors applied. Applying them twice changes nothing."""
    if decision.decision != "allow":
        return decision
    info = document.info
    declared = () if info is None else info.risk_facts
    approval = info is not None and info.requires_approval
    two = "two_person" in decision.obligations
    classed = document.risk in CLASS_FLOOR
    if not (document.risk_facts or declared or document.repaired or classed or approval or two):
        return decision
    codes = _codes(decision, document, declared, approval and not decision.auto)
    if two:
        codes.append("FLOOR_TWO_PERSON")
    if not codes:
        return decision
    return replace(decision, decision="ask", reasons=(*codes, *decision.reasons))


def _codes(decision: Decision, document: PolicyInput, declared: tuple[str, ...], approval: bool) -> list[str]:
    risk = document.risk
    codes = [f"FLOOR_{risk.upper()}"] if risk in CLASS_FLOOR and not decision.auto else []
    if approval:
        codes.append("FLOOR_CONTRACT")
    facts = {*declared, *(name for name, said in document.risk_facts.items() if _holds(name, said))}
    if document.repaired:
        facts.add("repaired_arguments")
    if risk in READS:
        facts -= OF_CHANGES
    facts -= STATED.get(risk, frozenset())
    return codes + [f"FLOOR_{name.upper()}" for name in sorted(facts)]


def _holds(name: str, said: object) -> bool:
    """Tell whether a fact is one. A model's claim counts when it is high; it never makes a call harmless."""
    if name == "model_claim":
        return bool(said) and said not in _QUIET_CLAIMS
    return bool(said)
