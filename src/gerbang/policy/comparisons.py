"""Comparisons of a rule with a value, compiled once to plain functions.

A value that is missing equals nothing: `eq`, `in`, the orderings, lengths, `prefix` and `suffix` do not hold
for it, their opposites `ne` and `not_in` do, and `exists` asks for it. A value of a kind that a comparison is
not made for is an error, which denies the call.
"""

import operator
from collections.abc import Callable
from typing import Any, Final

from gerbang.policy.where import Where

Test = Callable[[Any], bool]
MISSING: Final[Any] = object()
"""What stands where there is no value."""


def comparison(test: Any, where: Where) -> Test:
    """Return the function for a plain value (equality) or a mapping of comparisons that must all hold.

    Raises MisplacedError for an unknown comparison or a bound of the wrong type.
    """
    if not isinstance(test, dict):
        return _eq(test, where)
    if not test:
        raise where.error("an empty comparison would hold for everything.")
    checks = []
    for name, bound in test.items():
        builder = OPERATORS.get(name)
        if builder is None:
            raise where.at(name, "").unknown("comparison", name, OPERATORS)
        checks.append(builder(bound, where.at(name, "")))
    if len(checks) == 1:
        return checks[0]
    if len(checks) == 2:
        first, second = checks
        return lambda value: first(value) and second(value)
    return lambda value: all(check(value) for check in checks)


def same(value: Any, want: Any) -> bool:
    """Compare as JSON does: 1 and 1.0 are the same, 1 and true are not."""
    if isinstance(want, list):
        same_length = isinstance(value, list) and len(value) == len(want)
        return same_length and all(map(same, value, want))
    if isinstance(want, dict):
        same_keys = isinstance(value, dict) and value.keys() == want.keys()
        return same_keys and all(same(value[key], item) for key, item in want.items())
    return bool(value == want) and isinstance(value, bool) == isinstance(want, bool)


def texts(want: Any, where: Where) -> list[str]:
    """Return a text or a list of texts as a list."""
    values = want if isinstance(want, list) else [want]
    if not values or not all(isinstance(value, str) for value in values):
        raise where.error("takes a text or a list of texts.")
    return values


def _eq(want: Any, where: Where) -> Test:
    if type(want) is str:
        return lambda value: value == want if type(value) is str else False
    return lambda value: same(value, want)


def _ne(want: Any, where: Where) -> Test:
    return lambda value: not same(value, want)


def number(bound: Any) -> bool:
    """Tell whether a bound is a number (and not true, false, or none at all)."""
    return not isinstance(bound, bool) and isinstance(bound, int | float) and bound == bound


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Where], Test]:
    def build(bound: Any, where: Where) -> Test:
        if not number(bound):
            raise where.error("an ordering comparison takes a number.")

        def holds(value: Any) -> bool:
            kind = type(value)
            if kind is int or kind is float:
                return compare(value, bound)
            if value is MISSING:
                return False
            raise TypeError("a number is compared with something that is none")  # becomes POLICY_ERROR

        return holds

    return build


_ORDERINGS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
}


def _sized(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Where], Test]:
    def build(bound: Any, where: Where) -> Test:
        if isinstance(bound, bool) or not isinstance(bound, int):
            raise where.error("a length is a whole number.")
        return lambda value: value is not MISSING and compare(len(value), bound)  # no length: POLICY_ERROR

    return build


def _length(bound: Any, where: Where) -> Test:
    if not isinstance(bound, dict):
        return _sized(operator.eq)(bound, where)
    if not bound or not bound.keys() <= _ORDERINGS.keys():
        raise where.error(f"takes a number, or comparisons of: {', '.join(_ORDERINGS)}.")
    checks = [_sized(_ORDERINGS[name])(size, where) for name, size in bound.items()]
    return lambda value: all(check(value) for check in checks)


def _lookup(bound: Any, where: Where) -> Test:
    """Return whether a value is in the list. The cost grows only with its lists and objects."""
    if not isinstance(bound, list):
        raise where.error("takes a list.")
    plain = frozenset(_key(item) for item in bound if item is None or isinstance(item, str | int | float))
    deep = [item for item in bound if item is not None and not isinstance(item, str | int | float)]

    def holds(value: Any) -> bool:
        if isinstance(value, list | dict):
            return any(same(value, item) for item in deep)
        return _key(value) in plain

    return holds


def _key(value: Any) -> tuple[bool, Any]:
    """Return what tells a plain value from others as JSON does: 1 and 1.0 are one, 1 and true are two."""
    return isinstance(value, bool), value


def _members(inside: bool) -> Callable[[Any, Where], Test]:
    def build(bound: Any, where: Where) -> Test:
        found = _lookup(bound, where)
        return found if inside else lambda value: not found(value)

    return build


def _each(every: bool) -> Callable[[Any, Where], Test]:
    """Build a test over the members of a list. A text is a list of one; an empty list holds for none."""

    def build(bound: Any, where: Where) -> Test:
        found = _lookup(bound, where)

        def holds(value: Any) -> bool:
            if value is MISSING:
                return False
            if not isinstance(value, str | list):
                raise TypeError("a list is compared with something that is none")  # becomes POLICY_ERROR
            members = _as_list(value)
            return bool(members) and (all if every else any)(map(found, members))

        return holds

    return build


def _as_list(value: str | list[Any]) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _edge(of: Callable[[str, tuple[str, ...]], bool]) -> Callable[[Any, Where], Test]:
    def build(bound: Any, where: Where) -> Test:
        wanted = tuple(texts(bound, where))

        def holds(value: Any) -> bool:
            if value is MISSING:
                return False
            if not isinstance(value, str):
                raise TypeError("a text is compared with something that is none")  # becomes POLICY_ERROR
            return of(value, wanted)

        return holds

    return build


def _exists(bound: Any, where: Where) -> Test:
    if not isinstance(bound, bool):
        raise where.error("takes true or false.")
    return lambda value: (value is not MISSING) is bound


OPERATORS: Final[dict[str, Callable[[Any, Where], Test]]] = {
    "eq": _eq,
    "ne": _ne,
    "in": _members(True),
    "not_in": _members(False),
    "lt": _ordered(operator.lt),
    "le": _ordered(operator.le),
    "gt": _ordered(operator.gt),
    "ge": _ordered(operator.ge),
    "all_in": _each(True),
    "any_in": _each(False),
    "length": _length,
    "max_length": _sized(operator.le),
    "min_length": _sized(operator.ge),
    "prefix": _edge(str.startswith),
    "suffix": _edge(str.endswith),
    "exists": _exists,
}
"""The comparisons that there are."""
