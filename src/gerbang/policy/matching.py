"""A rule's `match`, compiled once.

Tool and class are known before a call is looked at, so they choose which rules are looked at; all other
conditions are functions of the document.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import Struct

from gerbang.policy.comparisons import texts
from gerbang.policy.condition import Condition, Context, Predicate
from gerbang.policy.conditions import BUILDERS
from gerbang.policy.input import PolicyInput
from gerbang.policy.where import Where
from gerbang.values import RiskClass


class ToolNames(Struct, frozen=True):
    """Which tools a rule is for. `heads` are the segments before a star; `all` is the star alone."""

    exact: frozenset[str] = frozenset()
    heads: tuple[tuple[str, ...], ...] = ()
    all: bool = False

    def covers(self, tool: str) -> bool:
        """Tell whether the rule is for the tool. `github.*` covers whole segments below `github`."""
        if self.all or tool in self.exact:
            return True
        segments = tuple(tool.split("."))
        return any(len(segments) > len(head) and segments[: len(head)] == head for head in self.heads)


EVERY_TOOL: Final = ToolNames(all=True)
EVERY_CLASS: Final = frozenset(RiskClass)


class Match(Struct, frozen=True):
    """A compiled `match`: for which tools and classes, and the conditions that must all hold."""

    tools: ToolNames = EVERY_TOOL
    classes: frozenset[RiskClass] = EVERY_CLASS
    conditions: tuple[Condition, ...] = ()
    facts: frozenset[str] = frozenset()

    @property
    def rests(self) -> bool:
        """True when it holds only for calls with some risk fact."""
        return any(condition.rests for condition in self.conditions)

    @property
    def everything(self) -> bool:
        """True when it matches every call there can be."""
        return self.tools.all and self.classes == EVERY_CLASS and not self.conditions


def compile_match(match: Mapping[str, Any], where: Where, context: Context) -> Match:
    """Return the compiled conditions. Raises MisplacedError for an unknown one or a wrong value."""
    tools, classes = EVERY_TOOL, EVERY_CLASS
    conditions: list[Condition] = []
    facts: frozenset[str] = frozenset()
    for key, want in match.items():
        below = where.at(key, f", {key}")
        if key == "tool":
            tools = compile_tools(want, below)
        elif key in ("risk", "class"):
            classes &= _classes(want, below)
        elif key in BUILDERS:
            conditions += BUILDERS[key](key, want, below, context)
            if key == "facts":
                facts = frozenset(want)
        else:
            raise where.at(key, "").unknown("condition", key, NAMES)
    conditions.sort(key=lambda condition: condition.name.startswith("facts."))  # resolved ones are asked last
    return Match(tools, classes, tuple(conditions), facts)


def all_of(conditions: Iterable[Condition]) -> Predicate | None:
    """Return one function for conditions that must all hold; None when there are none."""
    tests = tuple(condition.holds for condition in conditions)
    if not tests:
        return None
    if len(tests) == 1:
        return tests[0]
    if len(tests) == 2:
        first, second = tests
        return lambda doc: first(doc) and second(doc)
    if len(tests) == 3:
        one, two, three = tests
        return lambda doc: one(doc) and two(doc) and three(doc)

    def holds(doc: PolicyInput) -> bool:
        for test in tests:  # noqa: SIM110 - a generator costs as much again
            if not test(doc):
                return False
        return True

    return holds


def compile_tools(want: Any, where: Where) -> ToolNames:
    """Return the tools of a name, a pattern such as `github.*`, or a list of them."""
    exact: set[str] = set()
    heads: list[tuple[str, ...]] = []
    for name in texts(want, where):
        segments = name.split(".")
        if name == "*":
            return EVERY_TOOL
        if len(segments) > 1 and segments[-1] == "*" and "*" not in "".join(segments[:-1]):
            heads.append(tuple(segments[:-1]))
        elif "*" in name:
            raise where.error(f"{name!r}: a star may only stand for the last segments, as in 'mail.*'.")
        else:
            exact.add(name)
    return ToolNames(frozenset(exact), tuple(heads))


def _classes(want: Any, where: Where) -> frozenset[RiskClass]:
    if isinstance(want, dict):
        if set(want) != {"above"}:
            raise where.error("takes a class, a list of classes, or {above: CLASS}.")
        floor = _class(want["above"], where).rank
        return frozenset(risk for risk in RiskClass if risk.rank > floor)
    return frozenset(_class(value, where) for value in texts(want, where))


def _class(value: Any, where: Where) -> RiskClass:
    try:
        return RiskClass(value)
    except ValueError:
        raise where.error(f"{value!r} is not a risk class. Use one of: {', '.join(RiskClass)}.") from None


NAMES: Final = frozenset({"tool", "risk", "class", *BUILDERS})
"""The conditions that there are. `class` is another word for `risk`."""
