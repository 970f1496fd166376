"""Lint of rules against the tools that there are: names that no tool has, arguments that no tool takes."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from gerbang.policy.condition import Condition
from gerbang.policy.conditions import argument_path
from gerbang.policy.rule import Rule
from gerbang.values.contract import Contract

Said = tuple[str, str]
"""A code and a message."""

_NEEDS: Final[dict[str, frozenset[str]]] = {
    **dict.fromkeys(("lt", "le", "gt", "ge"), frozenset({"number", "integer"})),
    **dict.fromkeys(("prefix", "suffix"), frozenset({"string"})),
    **dict.fromkeys(("length", "max_length", "min_length"), frozenset({"string", "array", "object"})),
    **dict.fromkeys(("all_in", "any_in"), frozenset({"string", "array"})),
}
_ARGUMENTS: Final = "arguments."
_PARTS: Final = ("$ref", "anyOf", "oneOf", "allOf", "if", "not")


class Tools:
    """The tools that there are, found by their names and by what these begin with."""

    def __init__(self, contracts: Iterable[Contract]) -> None:
        self.by_name = {contract.name: contract for contract in contracts}
        self.classes = {contract.risk for contract in self.by_name.values()}
        self._below: dict[tuple[str, ...], list[Contract]] = {}
        for name, contract in self.by_name.items():
            segments = tuple(name.split("."))
            for end in range(1, len(segments) + 1):
                self._below.setdefault(segments[:end], []).append(contract)

    def below(self, head: tuple[str, ...]) -> list[Contract]:
        """Return the tools whose names are, or begin with, these segments."""
        return self._below.get(head, [])

    def of(self, rule: Rule) -> Iterator[Contract]:
        """Yield the tools that a rule names."""
        tools = rule.match.tools
        for name in sorted(tools.exact & self.by_name.keys()):
            yield self.by_name[name]
        for head in tools.heads:
            yield from (one for one in self.below(head) if tools.covers(one.name))


def against_tools(rule: Rule, known: Tools) -> Iterator[Said]:
    """Yield what does not fit between a rule and the tools that there are.

    Schemas that are put together of parts are not followed: of them nothing is said.
    """
    tools = rule.match.tools
    for name in sorted(tools.exact - known.by_name.keys()):
        yield "UNKNOWN_TOOL", f"there is no tool {name!r}."
    for head in tools.heads:
        if not known.below(head):
            yield "UNKNOWN_TOOL", f"there is no tool below {'.'.join(head)!r}."
    met = known.classes if tools.all else {contract.risk for contract in known.of(rule)}
    if not met:
        return
    if met.isdisjoint(rule.match.classes):
        classes = ", ".join(sorted(map(str, met)))
        yield "WRONG_CLASS", f"the tools of this rule are of the class {classes}, which it leaves out."
        return
    if tools.all:
        return  # such rules speak of whatever tool has the argument
    for condition in rule.match.conditions:
        if condition.name.startswith(_ARGUMENTS):
            fitting = (one for one in known.of(rule) if one.risk in rule.match.classes)
            yield from _argument(condition, fitting)


def _argument(condition: Condition, contracts: Iterable[Contract]) -> Iterator[Said]:
    """Yield what is wrong with a condition on an argument for every tool that it is about."""
    first: Said | None = None
    for contract in contracts:
        said = _mismatch(condition, contract)
        if said is None:
            return
        first = first or said
    if first is not None:
        yield first


def _mismatch(condition: Condition, contract: Contract) -> Said | None:
    name = condition.name.removeprefix(_ARGUMENTS)
    path = argument_path(name)
    schema: Any = contract.parameters
    for step, part in enumerate(path):
        schema, found = _below(schema, part)
        if not found:
            place = ".".join(path[: step + 1])
            return "UNKNOWN_ARGUMENT", f"{contract.name} takes no argument {place!r}."
        if schema is None:
            return None
    return _kind(condition.want, schema, name, contract)


def _below(schema: Any, part: str) -> tuple[Any, bool]:
    """Return the schema of a member, and whether there can be one; None when nothing is known of it."""
    if not isinstance(schema, dict) or any(word in schema for word in _PARTS):
        return None, True
    if part.isdecimal() and "items" in schema:
        return schema["items"], True
    properties = schema.get("properties", {})
    if part in properties:
        return properties[part], True
    closed = schema.get("additionalProperties", None) is False and "patternProperties" not in schema
    return None, not closed


def _kind(want: Any, schema: Any, name: str, contract: Contract) -> Said | None:
    """Return why a comparison cannot fit the kind of value that the schema allows."""
    if not isinstance(schema, dict) or any(word in schema for word in _PARTS):
        return None
    types = schema.get("type")
    kinds = frozenset([types] if isinstance(types, str) else types or ())
    written = want if isinstance(want, dict) else {"eq": want}
    for operator, bound in written.items():
        wanted = _NEEDS.get(operator)
        if kinds and wanted is not None and kinds.isdisjoint(wanted):
            return (
                "TYPE_MISMATCH",
                f"{name!r} of {contract.name} is {_listed(kinds)}; "
                f"{operator!r} is made for {_listed(wanted)}.",
            )
        values = (
            [bound] if operator == "eq" else bound if operator == "in" and isinstance(bound, list) else []
        )
        if values and not any(_fits(value, schema, kinds) for value in values):
            return "TYPE_MISMATCH", f"{name!r} of {contract.name} can never be {_listed(map(str, values))}."
    return None


def _fits(value: Any, schema: dict[str, Any], kinds: frozenset[str]) -> bool:
    if "enum" in schema and value not in schema["enum"]:
        return False
    return not kinds or not kinds.isdisjoint(_kinds_of(value))


def _kinds_of(value: Any) -> frozenset[str]:
    if value is None or isinstance(value, bool):
        return frozenset({"null" if value is None else "boolean"})
    if isinstance(value, int | float):
        return frozenset({"number", "integer"} if float(value).is_integer() else {"number"})
    return frozenset(
        {"string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"}
    )


def _listed(names: Iterable[str]) -> str:
    return " or ".join(sorted(names)[:8])
