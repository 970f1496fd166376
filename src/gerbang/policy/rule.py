"""One rule: what is written of it, checked and compiled."""

import re
from typing import Any, Final

from msgspec import Struct

from gerbang.errors import PolicyError
from gerbang.policy.condition import Context, Predicate
from gerbang.policy.hours import Zones
from gerbang.policy.matching import Match, all_of, compile_match
from gerbang.policy.obligations import read_obligations
from gerbang.policy.where import Where
from gerbang.values.decision import Verdict

VERDICTS: Final[dict[str, Verdict]] = {"allow": "allow", "ask": "ask", "deny": "deny"}
REASON: Final = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_KEYS: Final = ("id", "match", "decision", "reason", "auto", "everything", "obligations", "note")


class Rule(Struct, frozen=True):
    """One compiled rule. `test` is None when nothing but tool and class decides whether it matches.

    `auto` lifts the floor of the class for the tools that the rule names in full. `rests` says
    that it matches only where a risk fact holds. `written` is what stood in
    the file, for explanations; `origin` the file
    and `index` its place among the file's rules.
    """

    id: str
    decision: Verdict
    reason: str
    match: Match
    test: Predicate | None
    auto: bool
    rests: bool
    obligations: tuple[str, ...]
    origin: str
    index: int
    written: dict[str, Any]


def only(data: dict[str, Any], known: tuple[str, ...], where: Where) -> None:
    """Raise MisplacedError for a key that nobody knows."""
    for key in data:
        if key not in known:
            raise where.at(key, "").unknown("field", key, known)


def verdict_of(value: Any) -> Verdict | None:
    """Return the verdict of a word, or None."""
    return VERDICTS.get(value) if isinstance(value, str) else None


def read_rule(data: Any, where: Where, facts: frozenset[str], zones: Zones | None) -> Rule:
    """Return the rule that `data` describes. `facts` are those that the policy declares."""
    if not isinstance(data, dict):
        raise where.error("a rule is a mapping.")
    only(data, _KEYS, where)
    name = data.get("id")
    if not isinstance(name, str) or not name:
        raise where.at("id", "").error("'id' is missing.")
    where = Where(where.origin, where.path, f"rule {name[:80]!r}")
    decision = verdict_of(data.get("decision"))
    if decision is None:
        raise where.at("decision", "").error("'decision' is allow, ask or deny.")
    reason = data.get("reason")
    if not isinstance(reason, str) or not REASON.fullmatch(reason):
        raise where.at("reason", "").error("'reason' is a code in upper case, such as MAIL_NEEDS_REVIEW.")
    written = data.get("match", {})
    if not isinstance(written, dict):
        raise where.at("match", "").error("'match' is a mapping of conditions.")
    below = Where(where.origin, (*where.path, "match"), where.label)
    match = compile_match(written, below, Context(decision == "allow", facts, zones))
    auto = data.get("auto", False)
    if not isinstance(auto, bool) or (auto and not (match.tools.exact and decision == "allow")):
        raise where.at("auto", "").error("'auto: true' is for a rule that allows and names its very tool.")
    obligations = _obligations(data.get("obligations", []), where.at("obligations", ""))
    _everything(data, match, decision, where)
    return Rule(
        name,
        decision,
        reason,
        match,
        all_of(match.conditions),
        auto,
        match.rests,
        obligations,
        where.origin,
        index if isinstance(index := where.path[-1], int) else 0,
        data,
    )


def _everything(data: dict[str, Any], match: Match, decision: Verdict, where: Where) -> None:
    """Refuse a rule that allows every call unless it says so: such rules are written by accident."""
    said = data.get("everything", False)
    place = where.at("everything" if "everything" in data else "match", "")
    if not isinstance(said, bool):
        raise place.error("'everything' takes true or false.")
    if said and not match.everything:
        raise place.error(
            "'everything: true' is for a rule that matches every call; this one has conditions."
        )
    if match.everything and decision == "allow" and not said:
        raise place.error(
            "this rule allows every call there can be. Name tools or classes in 'match', or write "
            "'everything: true' beside it."
        )


def _obligations(data: Any, where: Where) -> tuple[str, ...]:
    if not isinstance(data, list):
        raise where.error("'obligations' is a list of names.")
    try:
        return tuple(map(str, read_obligations(data)))
    except PolicyError as error:
        raise where.error(str(error)) from None
