"""The conditions of a rule, compiled once to plain functions.

An argument that is missing equals nothing: `eq`, `in`, the orderings, lengths and `prefix` do not hold for
it, their opposites `ne` and `not_in` do, and `exists` asks for it. A value of a kind that a comparison is
not made for is an error, which denies the call.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from gerbang.errors import PolicyError
from gerbang.policy.input import PolicyInput
from gerbang.values import RiskClass

Predicate = Callable[[PolicyInput], bool]

_MISSING: Final = object()


def compile_match(match: Mapping[str, Any], where: str) -> tuple[Predicate, ...]:
    """Return one predicate for each condition of `match`; all must hold.

    Raises PolicyError for an unknown condition or a value of the wrong type.
    """
    predicates: list[Predicate] = []
    for key, want in match.items():
        builder = _CONDITIONS.get(key)
        if builder is None:
            known = ", ".join(sorted(_CONDITIONS))
            raise PolicyError(f"{where}: unknown condition {str(key)[:80]!r}. Known: {known}.")
        predicates.append(builder(want, f"{where}, {key}"))
    return tuple(predicates)


def compile_tool(want: Any, where: str) -> Predicate:
    """Return a predicate over tool names. `github.*` matches whole segments below `github`, never text."""
    exact: set[str] = set()
    heads: list[tuple[str, ...]] = []
    for name in _texts(want, where):
        segments = name.split(".")
        if name == "*":
            return _always
        if len(segments) > 1 and segments[-1] == "*" and "*" not in "".join(segments[:-1]):
            heads.append(tuple(segments[:-1]))
        elif "*" in name:
            raise PolicyError(
                f"{where}: {name!r}: a star may only stand for the last segments, as in 'mail.*'."
            )
        else:
            exact.add(name)
    if not heads:
        return lambda doc: doc.tool in exact

    def holds(doc: PolicyInput) -> bool:
        if doc.tool in exact:
            return True
        segments = tuple(doc.tool.split("."))
        return any(len(segments) > len(head) and segments[: len(head)] == head for head in heads)

    return holds


def _always(_: PolicyInput) -> bool:
    return True


def _texts(want: Any, where: str) -> list[str]:
    values = want if isinstance(want, list) else [want]
    if not values or not all(isinstance(value, str) for value in values):
        raise PolicyError(f"{where}: takes a text or a list of texts.")
    return values


def _risk(want: Any, where: str) -> Predicate:
    if isinstance(want, dict):
        if set(want) != {"above"}:
            raise PolicyError(f"{where}: takes a class, a list of classes, or {{above: CLASS}}.")
        floor = _class(want["above"], where).rank
        return lambda doc: doc.risk.rank > floor
    classes = frozenset(_class(value, where) for value in _texts(want, where))
    return lambda doc: doc.risk in classes


def _class(value: Any, where: str) -> RiskClass:
    try:
        return RiskClass(value)
    except ValueError:
        raise PolicyError(
            f"{where}: {value!r} is not a risk class. Use one of: {', '.join(RiskClass)}."
        ) from None


def _field(read: Callable[[PolicyInput], Any]) -> Callable[[Any, str], Predicate]:
    def build(want: Any, where: str) -> Predicate:
        allowed = frozenset(_texts(want, where))
        return lambda doc: read(doc) in allowed

    return build


def _any_of(read: Callable[[PolicyInput], Any]) -> Callable[[Any, str], Predicate]:
    def build(want: Any, where: str) -> Predicate:
        wanted = frozenset(_texts(want, where))
        return lambda doc: not wanted.isdisjoint(read(doc))

    return build


def _flag(read: Callable[[PolicyInput], bool]) -> Callable[[Any, str], Predicate]:
    def build(want: Any, where: str) -> Predicate:
        if not isinstance(want, bool):
            raise PolicyError(f"{where}: takes true or false.")
        return lambda doc: read(doc) is want

    return build


def _arguments(want: Any, where: str) -> Predicate:
    if not isinstance(want, dict) or not want or not all(isinstance(name, str) for name in want):
        raise PolicyError(f"{where}: takes a mapping of argument names to a value or a comparison.")
    tests = [(name.split("."), _comparison(test, f"{where}.{name}")) for name, test in want.items()]

    def holds(doc: PolicyInput) -> bool:
        return all(test(_dig(doc.arguments, path)) for path, test in tests)

    return holds


def _dig(value: Any, path: list[str]) -> Any:
    for part in path:
        if not isinstance(value, Mapping) or part not in value:
            return _MISSING
        value = value[part]
    return value


def _comparison(test: Any, where: str) -> Callable[[Any], bool]:
    if not isinstance(test, dict):
        return lambda value: _same(value, test)
    if not test:
        raise PolicyError(f"{where}: an empty comparison would hold for everything.")
    checks: list[Callable[[Any], bool]] = []
    for operator, bound in test.items():
        builder = _OPERATORS.get(operator)
        if builder is None:
            known = ", ".join(sorted(_OPERATORS))
            raise PolicyError(f"{where}: unknown comparison {str(operator)[:80]!r}. Known: {known}.")
        checks.append(builder(bound, where))
    return lambda value: all(check(value) for check in checks)


def _same(value: Any, want: Any) -> bool:
    """Compare as JSON does: 1 and 1.0 are the same, 1 and true are not."""
    if isinstance(want, list):
        same_length = isinstance(value, list) and len(value) == len(want)
        return same_length and all(map(_same, value, want))
    if isinstance(want, dict):
        same_keys = isinstance(value, dict) and value.keys() == want.keys()
        return same_keys and all(_same(value[key], item) for key, item in want.items())
    return bool(value == want) and isinstance(value, bool) == isinstance(want, bool)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, str], Callable[[Any], bool]]:
    def build(bound: Any, where: str) -> Callable[[Any], bool]:
        if isinstance(bound, bool) or not isinstance(bound, int | float) or bound != bound:
            raise PolicyError(f"{where}: an ordering comparison takes a number.")

        def holds(value: Any) -> bool:
            if value is _MISSING:
                return False
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise TypeError("a number is compared with something that is none")  # becomes POLICY_ERROR
            return compare(value, bound)

        return holds

    return build


def _sized(compare: Callable[[int, int], bool]) -> Callable[[Any, str], Callable[[Any], bool]]:
    def build(bound: Any, where: str) -> Callable[[Any], bool]:
        if isinstance(bound, bool) or not isinstance(bound, int):
            raise PolicyError(f"{where}: a length is a whole number.")
        return lambda value: value is not _MISSING and compare(len(value), bound)  # no length: POLICY_ERROR

    return build


def _members(inside: bool) -> Callable[[Any, str], Callable[[Any], bool]]:
    def build(bound: Any, where: str) -> Callable[[Any], bool]:
        if not isinstance(bound, list):
            raise PolicyError(f"{where}: takes a list.")
        return lambda value: any(_same(value, item) for item in bound) is inside

    return build


def _prefix(bound: Any, where: str) -> Callable[[Any], bool]:
    heads = tuple(_texts(bound, where))

    def holds(value: Any) -> bool:
        if value is _MISSING:
            return False
        if not isinstance(value, str):
            raise TypeError("a text is compared with something that is none")  # becomes POLICY_ERROR
        return value.startswith(heads)

    return holds


def _exists(bound: Any, where: str) -> Callable[[Any], bool]:
    if not isinstance(bound, bool):
        raise PolicyError(f"{where}: takes true or false.")
    return lambda value: (value is not _MISSING) is bound


_OPERATORS: Final[dict[str, Callable[[Any, str], Callable[[Any], bool]]]] = {
    "eq": lambda bound, where: lambda value: _same(value, bound),
    "ne": lambda bound, where: lambda value: not _same(value, bound),
    "in": _members(True),
    "not_in": _members(False),
    "lt": _ordered(lambda value, bound: value < bound),
    "le": _ordered(lambda value, bound: value <= bound),
    "gt": _ordered(lambda value, bound: value > bound),
    "ge": _ordered(lambda value, bound: value >= bound),
    "max_length": _sized(lambda size, bound: size <= bound),
    "min_length": _sized(lambda size, bound: size >= bound),
    "prefix": _prefix,
    "exists": _exists,
}

_CONDITIONS: Final[dict[str, Callable[[Any, str], Predicate]]] = {
    "tool": compile_tool,
    "risk": _risk,
    "user": _field(lambda doc: doc.actor.user),
    "tenant": _field(lambda doc: doc.actor.tenant),
    "agent": _field(lambda doc: doc.actor.agent),
    "roles": _any_of(lambda doc: doc.actor.roles),
    "scopes": _any_of(lambda doc: doc.actor.scopes),
    "purpose": _field(lambda doc: doc.purpose),
    "intent": _field(lambda doc: doc.intent),
    "arguments": _arguments,
    "repaired": _flag(lambda doc: doc.repaired),
    "coerced": _flag(lambda doc: doc.coerced),
    "tainted_run": _flag(lambda doc: doc.tainted_run),
}
