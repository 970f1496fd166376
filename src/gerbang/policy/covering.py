"""Which rule takes every decision of another: found by what rules constrain, not by comparing all with all.

A rule covers another only when each of its conditions follows from one of the other's. So every rule is
filed under the one of its conditions that sets it apart best, and a rule is compared with those that are
filed under something that it says itself. Where nothing sets many rules apart, so many are compared and no
more.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Any, Final

from gerbang.policy.condition import Condition
from gerbang.policy.implied import NUMBERS, is_compared, is_listed, only_values, said_by, span, within
from gerbang.policy.rule import Rule

MOST: Final = 128
"""So many rules that do not cover it are compared with one rule; then nobody looks further."""
_TWIN: Final = 1 / 32  # what one counts that covers it and may not take its place
_VALUES: Final = 64  # a longer list sets nothing apart
_WEIGHT: Final = {"allow": 0, "ask": 1, "deny": 2}
_ANY: Final = ("*",)
Key = tuple[Any, ...]


class Covering:
    """The rules of a policy, ready to be asked. `unfinished` are those that were not compared with all."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        filed: dict[tuple[str, ...], list[Rule]] = {}
        for rule in rules:
            for head in _heads(rule):
                filed.setdefault(head, []).append(rule)
        self._filed = {head: _Filed(found) for head, found in filed.items()}
        self.unfinished: list[Rule] = []

    def shadow(self, rule: Rule) -> Rule | None:
        """Return a rule that takes every decision that this one could take, None when none was found."""
        said = said_by(rule.match)
        looked = 0.0
        for other in self._candidates(rule, said):
            if other is rule or _WEIGHT[other.decision] < _WEIGHT[rule.decision]:
                continue
            covers = within(rule.match, other.match, said)
            if covers and _takes(rule, other):
                return other
            looked += _TWIN if covers else 1
            if looked > MOST:
                self.unfinished.append(rule)
                return None
        return None

    def _candidates(self, rule: Rule, said: dict[str, list[Any]]) -> Iterator[Rule]:
        """Yield rules that cover one of the rule's tools and constrain nothing that it does not."""
        tools = rule.match.tools
        name = () if tools.all else tools.heads[0] if tools.heads else tuple(min(tools.exact).split("."))
        for head in (_ANY, *(name[:end] for end in range(1, len(name) + 1))):
            filed = self._filed.get(head)
            if filed is not None:
                yield from filed.candidates(said)


def _heads(rule: Rule) -> Iterator[tuple[str, ...]]:
    tools = rule.match.tools
    if tools.all:
        yield _ANY
    yield from tools.heads
    for name in tools.exact:
        yield tuple(name.split("."))


def _takes(rule: Rule, other: Rule) -> bool:
    """Tell whether a rule that covers another leaves nothing for that one to do."""
    same = other.decision == rule.decision
    if same and ((rule.auto and not other.auto) or not set(rule.obligations) <= set(other.obligations)):
        return False
    if same and other.id > rule.id and within(other.match, rule.match):
        return False  # twins: the later name is the one to remove
    return same or not rule.obligations or other.decision == "deny"  # else its obligations still come along


class _Filed:
    """Rules of one tool, or of all tools below a name, each under one of its conditions."""

    def __init__(self, rules: list[Rule]) -> None:
        self._free: list[Rule] = []
        self._under: dict[Key, list[Rule]] = {}
        self._spans: dict[str, _Spans] = {}
        often = Counter(key for rule in rules for one in rule.match.conditions for key in _keys(one))
        spans: dict[str, list[tuple[float, float, Rule]]] = {}
        for rule in sorted(rules, key=lambda rule: -_WEIGHT[rule.decision]):
            if not rule.match.conditions:
                self._free.append(rule)
                continue
            best = min(rule.match.conditions, key=lambda one: _weight(one, often))
            if _is_span(best):
                spans.setdefault(best.name, []).append((*span(best.want), rule))
            else:
                for key in dict.fromkeys(_keys(best)):
                    self._under.setdefault(key, []).append(rule)
        for name, found in spans.items():
            self._spans[name] = _Spans(found)

    def candidates(self, said: dict[str, list[Any]]) -> Iterator[Rule]:
        """Yield the rules whose filed condition may follow from what another rule says."""
        yield from self._free
        for name, wants in said.items():
            for want in wants:
                values = _values(name, want)
                for key in _asked(name, want, values):
                    yield from self._under.get(key, ())
                spans = self._spans.get(name)
                if spans is not None:
                    yield from spans.around(*_reach(want, values))


class _Spans:
    """Rules by the numbers that they take, the lowest first."""

    def __init__(self, found: list[tuple[float, float, Rule]]) -> None:
        found.sort(key=lambda item: item[0])
        self._lows = [low for low, _, _ in found]
        self._found = found
        self._reach = list(accumulate((high for _, high, _ in found), max))

    def around(self, low: float, high: float) -> Iterator[Rule]:
        """Yield the rules that take all numbers between, the nearest first."""
        at = bisect_right(self._lows, low) - 1
        while at >= 0 and self._reach[at] >= high:
            if self._found[at][1] >= high:
                yield self._found[at][2]
            at -= 1


def _weight(condition: Condition, often: Counter[Key]) -> float:
    """Return how many rules would be found with this one, were it filed under the condition."""
    keys = _keys(condition)
    most = max(often[key] for key in keys)
    return most / 2 if _is_span(condition) else most + len(keys) / 1000


def _is_span(condition: Condition) -> bool:
    want = condition.want
    return is_compared(condition.name) and isinstance(want, dict) and want.keys() <= NUMBERS


def _keys(condition: Condition) -> list[Key]:
    """Return what a condition is filed under: what another rule must say for it to follow."""
    name, want = condition.name, condition.want
    if _is_span(condition):
        return [("span", name)]
    values = _values(name, want)
    if values is not None and 0 < len(values) <= _VALUES:
        return [("value", name, _form(value)) for value in values]
    if is_compared(name) or is_listed(name):
        return [("said", name, _form(want)), ("partly", name)]
    return [("said", name, _form(want))]


def _asked(name: str, want: Any, values: list[Any] | None) -> Iterator[Key]:
    """Yield what has to be looked under for a rule that says so."""
    yield "said", name, _form(want)
    if values:
        yield "value", name, _form(values[0])
        yield ("partly", name)


def _values(name: str, want: Any) -> list[Any] | None:
    """Return the only values that fit, None where there is no such list, or nothing is known of the name."""
    if is_listed(name) and not isinstance(want, dict):
        return want if isinstance(want, list) else [want]
    return only_values(want) if is_compared(name) or is_listed(name) else None


def _reach(want: Any, values: list[Any] | None) -> tuple[float, float]:
    if values is None:
        return span(want) if isinstance(want, dict) else (float("-inf"), float("inf"))
    numbers = [value for value in values if type(value) in (int, float)]
    if len(numbers) < len(values) or not numbers:
        return float("-inf"), float("inf")  # nothing takes all numbers, so nothing is found
    return min(numbers), max(numbers)


def _form(value: Any) -> Any:
    """Return a value that can be a key, the same for values that are equal."""
    if isinstance(value, dict):
        return "{}", frozenset((name, _form(item)) for name, item in value.items())
    if isinstance(value, list | tuple | set | frozenset):
        items = [_form(item) for item in value]
        return ("[]", *items) if isinstance(value, list | tuple) else ("()", frozenset(items))
    return value if isinstance(value, str | int | float | bool | None) else repr(value)
