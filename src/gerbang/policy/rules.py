"""Rules: typed YAML compiled to a pure function from input to decision.

Matching rules combine deny over ask over allow; only when none matches does the default of the risk
class apply; floors come last and only tighten. The order of rules never matters.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from gerbang.errors import PolicyError
from gerbang.policy.input import PolicyInput
from gerbang.policy.matching import Predicate, compile_match
from gerbang.values import Decision, RiskClass, Verdict
from gerbang.values.canonical import NotCanonical, digest
from gerbang.values.yamltext import read_yaml

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

_FLOOR: Final = frozenset({RiskClass.TRANSACTIONAL, RiskClass.DESTRUCTIVE})
_VERDICTS: Final[dict[str, Verdict]] = {"allow": "allow", "ask": "ask", "deny": "deny"}
_WEIGHT: Final[dict[str, int]] = {"allow": 0, "ask": 1, "deny": 2}
_REASON: Final = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_TOP_KEYS: Final = frozenset({"version", "name", "defaults", "rules"})
_RULE_KEYS: Final = frozenset({"id", "match", "decision", "reason", "auto", "obligations", "note"})


class Rule(Struct, frozen=True):
    """One compiled rule. `auto` lifts the class floor for tools that `exact` names."""

    id: str
    decision: Verdict
    reason: str
    predicates: tuple[Predicate, ...]
    auto: bool
    exact: frozenset[str]
    obligations: tuple[str, ...]


class RulesPolicy:
    """A compiled set of rules. `decide` is pure and raises nothing: an error in a rule is a denial."""

    def __init__(self, rules: tuple[Rule, ...], defaults: Mapping[RiskClass, Verdict], version: str) -> None:
        self.rules = tuple(sorted(rules, key=lambda rule: rule.id))  # so that their order never matters
        self.version = version
        self._defaults = {
            risk: Decision(verdict, (f"CLASS_{risk.upper()}",), None, version)
            for risk, verdict in defaults.items()
        }

    def decide(self, document: PolicyInput) -> Decision:
        """Return the decision for one call."""
        best: Rule | None = None
        lifted = False
        others: list[str] = []
        obligations: list[str] = []
        for rule in self.rules:
            try:
                if not all(holds(document) for holds in rule.predicates):
                    continue
            except Exception:  # whatever a rule trips over, the answer is no
                return Decision("deny", ("POLICY_ERROR",), rule.id, self.version)
            others.append(rule.reason)
            obligations.extend(rule.obligations)
            lifted = lifted or (rule.auto and document.tool in rule.exact)
            if best is None or _WEIGHT[rule.decision] > _WEIGHT[best.decision]:
                best = rule
        if best is None:
            decision = self._defaults.get(document.risk)
            return decision or Decision("deny", ("POLICY_UNDEFINED",), None, self.version)
        reasons = tuple(dict.fromkeys([best.reason, *sorted(others)]))
        decision = Decision(best.decision, reasons, best.id, self.version, tuple(dict.fromkeys(obligations)))
        if decision.decision == "allow" and document.risk in _FLOOR and not lifted:
            floor = (f"FLOOR_{document.risk.upper()}", *reasons)
            return Decision("ask", floor, best.id, self.version, decision.obligations)
        return decision


class DenyAll:
    """The policy of those who set it to nothing."""

    version = "none"

    def decide(self, document: PolicyInput) -> Decision:
        """Refuse, saying that there is no policy."""
        return Decision("deny", ("NO_POLICY",), None, self.version)


def load_rules(text: str, origin: str) -> RulesPolicy:
    """Return the policy of a YAML text. Raises PolicyError with the place for anything it does not know."""
    return compile_rules(read_yaml(text, origin, PolicyError), origin)


def compile_rules(data: Any, origin: str) -> RulesPolicy:
    """Return the policy of a mapping with `version: 1`, `rules` and optional `name` and `defaults`."""
    if not isinstance(data, dict):
        raise PolicyError(f"{origin}: a policy is a mapping with 'version' and 'rules'.")
    _only(data, _TOP_KEYS, origin)
    version_number = data.get("version")
    if version_number != 1 or isinstance(version_number, bool):
        raise PolicyError(f"{origin}: 'version: 1' is missing; it names the format of this file.")
    rules = data.get("rules", [])
    if not isinstance(rules, list):
        raise PolicyError(f"{origin}: 'rules' is a list.")
    compiled = tuple(_rule(rule, index, origin) for index, rule in enumerate(rules))
    seen: set[str] = set()
    for rule in compiled:
        if rule.id in seen:
            raise PolicyError(f"{origin}: two rules are called {rule.id!r}.")
        seen.add(rule.id)
    try:
        version = digest(data)
    except NotCanonical as error:
        raise PolicyError(f"{origin}: {error.path or 'the file'} holds something that is not JSON.") from None
    return RulesPolicy(compiled, _defaults(data.get("defaults", {}), origin), version)


def _defaults(data: Any, origin: str) -> dict[RiskClass, Verdict]:
    if not isinstance(data, dict):
        raise PolicyError(f"{origin}: 'defaults' maps risk classes to allow, ask or deny.")
    defaults = dict(CLASS_DEFAULTS)
    for name, value in data.items():
        try:
            risk = RiskClass(name)
        except ValueError:
            known = ", ".join(RiskClass)
            said = str(name)[:80]
            raise PolicyError(f"{origin}: defaults: {said!r} is not a risk class. Known: {known}.") from None
        verdict = _verdict(value)
        if verdict is None:
            raise PolicyError(f"{origin}: defaults.{name}: takes allow, ask or deny.")
        if risk in _FLOOR and verdict == "allow":
            raise PolicyError(
                f"{origin}: defaults.{name}: this class is at least 'ask'; "
                "name the tool in a rule with 'auto: true'."
            )
        defaults[risk] = verdict
    return defaults


def _rule(data: Any, index: int, origin: str) -> Rule:
    where = f"{origin}: rule {index + 1}"
    if not isinstance(data, dict):
        raise PolicyError(f"{where}: a rule is a mapping.")
    _only(data, _RULE_KEYS, where)
    name = data.get("id")
    if not isinstance(name, str) or not name:
        raise PolicyError(f"{where}: 'id' is missing.")
    where = f"{origin}: rule {name[:80]!r}"
    decision = _verdict(data.get("decision"))
    if decision is None:
        raise PolicyError(f"{where}: 'decision' is allow, ask or deny.")
    reason = data.get("reason")
    if not isinstance(reason, str) or not _REASON.fullmatch(reason):
        raise PolicyError(f"{where}: 'reason' is a code in upper case, such as MAIL_NEEDS_REVIEW.")
    match = data.get("match", {})
    if not isinstance(match, dict):
        raise PolicyError(f"{where}: 'match' is a mapping of conditions.")
    predicates = compile_match(match, where)  # checked: `tool` is a text or a list of texts
    tools = match.get("tool", [])
    exact = frozenset(tool for tool in (tools if isinstance(tools, list) else [tools]) if "*" not in tool)
    auto = data.get("auto", False)
    if not isinstance(auto, bool) or (auto and not (exact and decision == "allow")):
        raise PolicyError(f"{where}: 'auto: true' is for a rule that allows and names its very tool.")
    obligations = data.get("obligations", [])
    if not isinstance(obligations, list) or not all(isinstance(item, str) for item in obligations):
        raise PolicyError(f"{where}: 'obligations' is a list of names.")
    return Rule(name, decision, reason, predicates, auto, exact, tuple(obligations))


def _verdict(value: Any) -> Verdict | None:
    return _VERDICTS.get(value) if isinstance(value, str) else None


def _only(data: Mapping[str, Any], known: frozenset[str], where: str) -> None:
    for key in data:
        if key not in known:
            names = ", ".join(sorted(known))
            raise PolicyError(f"{where}: unknown field {str(key)[:80]!r}. Known: {names}.")
