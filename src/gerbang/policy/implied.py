"""What follows from what: conditions that can never hold, and conditions that hold whenever others do.

Both look at what was written. They find what can be seen from there, and never call something impossible or
implied that is not.
"""

from typing import Any, Final

from gerbang.policy.comparisons import MISSING, comparison
from gerbang.policy.condition import Condition
from gerbang.policy.matching import Match, ToolNames
from gerbang.policy.where import Where

NUMBERS: Final = frozenset({"lt", "le", "gt", "ge"})
_TEXTS: Final = frozenset({"prefix", "suffix"})
_SIZES: Final = frozenset({"length", "max_length", "min_length"})
_NOWHERE: Final = Where("")
_LISTED: Final = frozenset(
    {
        "user",
        "tenant",
        "agent",
        "purpose",
        "intent",
        "group",
        "data_class",
        "defined_by",
        "effect",
        "reversible",
    }
)
_VALUED: Final = ("arguments.", "facts.", "budget.")


def impossible(match: Match) -> str:
    """Return why no call can ever match; empty when one may."""
    if not match.classes:
        return "no class is left that fits 'risk' and 'class'"
    for condition in match.conditions:
        why = _never(condition)
        if why:
            return f"{condition.name}: {why}"
    flags = {condition.name: condition.want for condition in match.conditions}
    if {"tainted_run", "taint.run"} <= flags.keys() and flags["tainted_run"] is not flags["taint.run"]:
        return "'tainted_run' and 'taint.run' say the opposite"
    return ""


def _never(condition: Condition) -> str:
    want = condition.want
    if not isinstance(want, dict):
        return ""
    if condition.name in ("roles", "scopes"):
        none_of = set(_list(want.get("none_of", [])))
        if none_of & set(_list(want.get("all_of", []))):
            return "the same name is in 'all_of' and 'none_of'"
        if "any_of" in want and set(_list(want["any_of"])) <= none_of:
            return "every name of 'any_of' is in 'none_of'"
        return ""
    if not condition.name.startswith(_VALUED) and condition.name not in _LISTED:
        return ""
    return _empty(want)


def _empty(want: dict[str, Any]) -> str:
    """Return why comparisons of one value can never hold together."""
    if want.get("in") == [] or want.get("all_in") == [] or want.get("any_in") == []:
        return "the list is empty"
    if want.get("exists") is False and len(want) > 1 and not want.keys() <= {"exists", "ne", "not_in"}:
        return "'exists: false' leaves nothing to compare"
    if want.keys() & NUMBERS and want.keys() & (_TEXTS | _SIZES):
        return "a value cannot be a number and have a length or a beginning; every call with it is denied"
    values = only_values(want)
    if values is not None:
        others = {name: bound for name, bound in want.items() if name not in ("eq", "in")}
        if others and not any(_holds(others, value) for value in values):
            return "none of the values fits the other comparisons"
        if "eq" in want and "in" in want and not _holds({"in": want["in"]}, want["eq"]):
            return "'eq' is not in 'in'"
    low, high = span(want)
    if low > high or (low == high and _open(want, low)):
        return "no number lies in between"
    if want.get("min_length", 0) > want.get("max_length", float("inf")):
        return "no length lies in between"
    return ""


def is_compared(name: str) -> bool:
    """Tell whether a condition of that name compares one value, so that numbers may follow from numbers."""
    return name.startswith(_VALUED) or name in _LISTED


def is_listed(name: str) -> bool:
    """Tell whether a condition of that name takes a name or a list of names, and a shorter list is within."""
    return name in _LISTED or name in ("roles", "scopes")


def only_values(want: Any) -> list[Any] | None:
    """Return the only values that can fit, or None when there is no such list."""
    if not isinstance(want, dict):
        return [want]
    if "eq" in want:
        return [want["eq"]]
    return want["in"] if isinstance(want.get("in"), list) else None


def _holds(written: Any, value: Any) -> bool:
    try:
        return comparison(written, _NOWHERE)(value)
    except (TypeError, ValueError):
        return False  # an error of kinds denies: the rule never matches with it


def span(want: dict[str, Any]) -> tuple[float, float]:
    """Return the lowest and the highest number that may fit."""
    low = max((want[name] for name in ("gt", "ge") if name in want), default=float("-inf"))
    high = min((want[name] for name in ("lt", "le") if name in want), default=float("inf"))
    return low, high


def _open(want: dict[str, Any], at: float) -> bool:
    return want.get("gt") == at or want.get("lt") == at


def said_by(match: Match) -> dict[str, list[Any]]:
    """Return what a rule says of each name."""
    said: dict[str, list[Any]] = {}
    for condition in match.conditions:
        said.setdefault(condition.name, []).append(condition.want)
    return said


def within(narrow: Match, wide: Match, said: dict[str, list[Any]] | None = None) -> bool:
    """Tell whether every call that matches `narrow` is seen to match `wide` too. `said` is `said_by(narrow)`,
    for who asks often.
    """
    if not (_tools_within(narrow.tools, wide.tools) and narrow.classes <= wide.classes):
        return False
    have = said_by(narrow) if said is None else said
    return all(
        any(_follows(condition.name, want, condition.want) for want in have.get(condition.name, []))
        for condition in wide.conditions
    )


def _tools_within(narrow: ToolNames, wide: ToolNames) -> bool:
    if wide.all:
        return True
    if narrow.all:
        return False
    heads = all(any(head[: len(other)] == other for other in wide.heads) for head in narrow.heads)
    return heads and all(wide.covers(name) for name in narrow.exact)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _follows(name: str, have: Any, want: Any) -> bool:
    """Tell whether what a condition `have` says makes the condition `want` of the same name hold."""
    if have == want and type(have) is type(want):
        return True
    if name in ("roles", "scopes") and not isinstance(have, dict) and not isinstance(want, dict):
        return set(_list(have)) <= set(_list(want))
    if name in _LISTED:
        have = have if isinstance(have, dict) else {"in": _list(have)}
        want = want if isinstance(want, dict) else {"in": _list(want)}
        return _compared(have, want)
    return name.startswith(_VALUED) and _compared(have, want)


def _compared(have: Any, want: Any) -> bool:
    values = only_values(have)
    if values is not None:
        return all(_holds(want, value) for value in values) and MISSING not in values
    if not isinstance(want, dict) or not want.keys() <= NUMBERS or not have.keys() & NUMBERS:
        return False
    low, high = span(have)
    for name, bound in want.items():
        if name in ("gt", "ge"):
            fits = low > bound or (low == bound and (name == "ge" or have.get("gt") == low))
        else:
            fits = high < bound or (high == bound and (name == "le" or have.get("lt") == high))
        if not fits:
            return False
    return True
