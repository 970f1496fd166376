"""Why a policy decided as it did: which rules counted, and of the others the first condition that failed."""

from typing import Any, Final, Literal

from msgspec import Struct

from gerbang.policy.comparisons import MISSING
from gerbang.policy.condition import Condition, FactMissingError
from gerbang.policy.input import PolicyInput
from gerbang.policy.rule import Rule
from gerbang.policy.rules import RulesPolicy
from gerbang.values import Decision

Role = Literal["decided", "matched", "not", "error"]
_UNKNOWN: Final = object()


class RuleTold(Struct, frozen=True):
    """What a rule had to say: the first condition that failed, what it wants and what it got."""

    id: str
    decision: str
    reason: str
    role: Role
    condition: str = ""
    want: Any = None
    got: Any = None
    origin: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the form that `--json` prints."""
        told: dict[str, Any] = {
            "rule": self.id,
            "decision": self.decision,
            "reason": self.reason,
            "role": self.role,
            "file": self.origin,
        }
        if self.condition:
            told |= {"condition": self.condition, "want": self.want}
            told["got"] = None if self.got is MISSING else self.got
            told["got_missing"] = self.got is MISSING
        return told


class Explanation(Struct, frozen=True):
    """The decision, and of each rule why. `default` is the class whose default decided, if one did."""

    decision: Decision
    rules: tuple[RuleTold, ...]
    default: str | None
    floors: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the form that `--json` prints."""
        return {
            "decision": self.decision.as_dict(),
            "default": self.default,
            "floors": list(self.floors),
            "rules": [rule.as_dict() for rule in self.rules],
        }


def explain(policy: RulesPolicy, document: PolicyInput) -> Explanation:
    """Return why the policy decides on the document as it does."""
    decision, seen = policy.decide(document), policy.seen(document)
    told = tuple(_told(rule, seen, decision) for rule in policy.rules)
    counted = any(rule.role in ("decided", "matched", "error") for rule in told)
    floors = tuple(code for code in decision.reasons if code.startswith("FLOOR_"))
    return Explanation(decision, told, None if counted else str(seen.risk), floors)


def _told(rule: Rule, document: PolicyInput, decision: Decision) -> RuleTold:
    def told(role: Role, condition: str = "", want: Any = None, got: Any = None) -> RuleTold:
        return RuleTold(rule.id, rule.decision, rule.reason, role, condition, want, got, rule.origin)

    written = rule.written.get("match", {})
    if not rule.match.tools.covers(document.tool):
        return told("not", "tool", written.get("tool"), document.tool)
    if document.risk not in rule.match.classes:
        key = "class" if "class" in written else "risk"
        return told("not", key, written.get(key), str(document.risk))
    for condition in rule.match.conditions:
        try:
            if not condition.holds(document):
                return told("not", condition.name, condition.want, _got(condition, document))
        except Exception as error:  # the engine denies here, and this says where
            got = "not resolved" if isinstance(error, FactMissingError) else _got(condition, document)
            return told("error", condition.name, condition.want, got)
    return told("decided" if decision.rule == rule.id else "matched")


def _got(condition: Condition, document: PolicyInput) -> Any:
    """Return what a condition looks at, where that can be said."""
    if condition.read is None:
        return None
    value = condition.read(document)
    return value if value is MISSING or not isinstance(value, frozenset | set | tuple) else sorted(value)
