"""Rules: the decision of compiled rules on one document.

Matching rules combine deny over ask over allow; only when none matches does the default of the risk
class apply; floors come last and only tighten. The order of rules never matters. Rules that match because of
a risk fact can only tighten: what the default denies without the fact stays denied with it.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gerbang.policy.condition import FactMissingError, Predicate
from gerbang.policy.floors import floored
from gerbang.policy.hours import Window
from gerbang.policy.input import PolicyInput
from gerbang.policy.rule import Rule
from gerbang.values import Decision, RiskClass
from gerbang.values.decision import Verdict

CLASS_DEFAULTS: Final[dict[RiskClass, Verdict]] = {
    RiskClass.COMPUTE: "allow",
    RiskClass.READ_INTERNAL: "allow",
    RiskClass.READ_EXTERNAL: "allow",
    RiskClass.DRAFT: "allow",
    RiskClass.WRITE_INTERNAL: "ask",
    RiskClass.WRITE_EXTERNAL: "ask",
    RiskClass.EXTERNAL_COMMUNICATION: "ask",
    RiskClass.CODE_EXECUTION: "ask",
    RiskClass.TRANSACTIONAL: "ask",
    RiskClass.DESTRUCTIVE: "ask",
}
"""What happens to a class when no rule matches."""

_WEIGHT: Final[dict[str, int]] = {"allow": 0, "ask": 1, "deny": 2}
_MAX_PLANS: Final = 16_384


class _Plan(Struct, frozen=True):
    """What to look at for one tool of one class: rules that always match, and rules with conditions.

    `alone` holds the decision of each rule when no other matches.
    """

    always: tuple[Rule, ...]
    asked: tuple[tuple[Predicate, Rule], ...]
    default: Decision
    alone: dict[str, Decision]


class RulesPolicy:
    """A compiled set of rules. `decide` is pure and raises nothing: an error in a rule is a denial.

    `version` is the digest of what was written. `facts` are the names of the facts that the rules may ask
    for. `hours` are the working hours; outside them the risk fact `outside_hours` holds. `defaulted` are the
    classes whose default the policy states itself. `asks` are the parts of the document that conditions look
    at, such as `history`: what is not among them need not be known.
    """

    def __init__(
        self,
        rules: tuple[Rule, ...],
        defaults: Mapping[RiskClass, Verdict],
        version: str,
        *,
        facts: frozenset[str] = frozenset(),
        hours: Window | None = None,
        defaulted: frozenset[RiskClass] = frozenset(),
    ) -> None:
        self.rules = tuple(sorted(rules, key=lambda rule: rule.id))  # so that their order never matters
        self.version = version
        self.facts = facts
        self.defaulted = defaulted
        self.defaults = dict(defaults)
        self.asks = frozenset(
            condition.name.partition(".")[0] for rule in rules for condition in rule.match.conditions
        )
        self._hours = hours
        self._plans: dict[tuple[str, RiskClass], _Plan] = {}
        self._needs: dict[str, tuple[str, ...]] = {}

    def needs(self, tool: str) -> tuple[str, ...]:
        """Return the names of the facts that may be asked for when this tool is called."""
        known = self._needs.get(tool)
        if known is None:
            names = {
                name for rule in self.rules if rule.match.tools.covers(tool) for name in rule.match.facts
            }
            if len(self._needs) >= _MAX_PLANS:
                self._needs.clear()
            known = self._needs[tool] = tuple(sorted(names))
        return known

    def seen(self, document: PolicyInput) -> PolicyInput:
        """Return the document as rules see it: with `outside_hours` among its risk facts where that holds."""
        if self._hours is None or self._hours(document.time):
            return document
        return replace(document, risk_facts={**document.risk_facts, "outside_hours": True})

    def decide(self, document: PolicyInput) -> Decision:
        """Return the decision for one call, floors included."""
        if self._hours is not None:
            document = self.seen(document)
        plan = self._plans.get((document.tool, document.risk))
        if plan is None:
            plan = self._plan(document.tool, document.risk)
        hits = list(plan.always)
        rule: Rule | None = None
        try:
            for test, rule in plan.asked:
                if test(document):
                    hits.append(rule)
        except Exception as error:  # whatever a rule trips over, the answer is no
            code = "POLICY_FACT_MISSING" if isinstance(error, FactMissingError) else "POLICY_ERROR"
            return Decision("deny", (code,), None if rule is None else rule.id, self.version)
        if not hits:
            return floored(plan.default, document)
        if len(hits) == 1:
            return floored(plan.alone[hits[0].id], document)
        return floored(self._together(hits, document.tool, plan.default), document)

    def _plan(self, tool: str, risk: RiskClass) -> _Plan:
        rules = [rule for rule in self.rules if risk in rule.match.classes and rule.match.tools.covers(tool)]
        verdict = self.defaults.get(risk)
        default = Decision("deny", ("POLICY_UNDEFINED",), None, self.version)
        if verdict is not None:
            default = Decision(verdict, (f"CLASS_{risk.upper()}",), None, self.version)
        plan = _Plan(
            tuple(rule for rule in rules if rule.test is None),
            tuple((rule.test, rule) for rule in rules if rule.test is not None),
            default,
            {rule.id: self._together([rule], tool, default) for rule in rules},
        )
        if len(self._plans) >= _MAX_PLANS:
            self._plans.clear()
        self._plans[tool, risk] = plan
        return plan

    def _together(self, hits: list[Rule], tool: str, default: Decision) -> Decision:
        hits.sort(key=lambda rule: rule.id)
        best = max(hits, key=lambda rule: _WEIGHT[rule.decision])  # the first of the strictest
        if _WEIGHT[default.decision] > _WEIGHT[best.decision] and all(rule.rests for rule in hits):
            return default  # risk facts never lower: not what would hold without them either
        return Decision(
            best.decision,
            tuple(dict.fromkeys([best.reason, *sorted(rule.reason for rule in hits)])),
            best.id,
            self.version,
            tuple(dict.fromkeys(duty for rule in hits for duty in rule.obligations)),
            any(rule.auto and tool in rule.match.tools.exact for rule in hits),
        )


class DenyAll:
    """The policy of those who set it to nothing."""

    version = "none"

    def decide(self, document: PolicyInput) -> Decision:
        """Refuse, saying that there is no policy."""
        return Decision("deny", ("NO_POLICY",), None, self.version)
