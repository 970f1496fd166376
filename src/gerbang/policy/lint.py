"""Lint of rules: what does not load, and what loads and can never do anything."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct

from gerbang.errors import PolicyError
from gerbang.policy.bundle import compile_bundle
from gerbang.policy.covering import MOST, Covering
from gerbang.policy.hours import Zones
from gerbang.policy.implied import impossible
from gerbang.policy.lint_tools import Tools, against_tools
from gerbang.policy.rule import Rule, read_rule
from gerbang.policy.rules import RulesPolicy
from gerbang.policy.where import MisplacedError, Places, Where
from gerbang.values import RiskClass
from gerbang.values.contract import Contract
from gerbang.values.yamltext import read_yaml

Level = Literal["error", "warning", "note"]


class Finding(Struct, frozen=True):
    """One thing that is wrong or useless. `line` and `column` count from 1; 0 where there is no place."""

    code: str
    level: Level
    message: str
    file: str
    line: int = 0
    column: int = 0
    rule: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the form that `--json` prints."""
        return {name: getattr(self, name) for name in self.__struct_fields__}


def lint(
    texts: Mapping[str, str], zones: Zones | None = None, contracts: Iterable[Contract] = ()
) -> tuple[Finding, ...]:
    """Return the findings of a bundle's texts, by file and line. Errors say why it does not load; every rule
    that is wrong is named, not only the first. With `contracts` the rules are also held against these tools.
    """
    found: list[Finding] = []
    data: dict[str, Any] = {}
    for origin, text in texts.items():
        try:
            data[origin] = read_yaml(text, origin, PolicyError)
        except PolicyError as error:
            found.append(Finding("NOT_READABLE", "error", _without(str(error), origin), origin))
    if found:
        return tuple(found)
    places = {origin: Places(text) for origin, text in texts.items()}
    found = [_at(wrong, places) for wrong in _wrong_rules(data, zones)]
    if not found:
        try:
            policy = compile_bundle(data, zones)
        except MisplacedError as error:
            found.append(_at(error, places))
        else:
            found = [*_useless(policy, places), *_unfit(policy, places, tuple(contracts))]
    return tuple(sorted(found, key=lambda item: (item.file, item.line, item.column, item.code)))


def _without(message: str, origin: str) -> str:
    return message.removeprefix(f"{origin}: ")


def _wrong_rules(data: dict[str, Any], zones: Zones | None) -> Iterator[MisplacedError]:
    """Yield the error of each rule that is wrong by itself."""
    facts = frozenset(
        name
        for file in data.values()
        if isinstance(file, dict) and isinstance(file.get("facts"), list)
        for name in file["facts"]
        if isinstance(name, str)
    )
    for origin, file in data.items():
        rules = file.get("rules") if isinstance(file, dict) else None
        for index, written in enumerate(rules if isinstance(rules, list) else []):
            try:
                read_rule(written, Where(origin, ("rules", index), f"rule {index + 1}"), facts, zones)
            except MisplacedError as error:
                yield error


def _at(error: MisplacedError, places: Mapping[str, Places]) -> Finding:
    line, column = places[error.origin].of(error.path) or (0, 0)
    return Finding("DOES_NOT_LOAD", "error", error.said, error.origin, line, column)


def _of_rule(rule: Rule, places: Mapping[str, Places], code: str, level: Level, message: str) -> Finding:
    line, column = places[rule.origin].of(("rules", rule.index)) or (0, 0)
    return Finding(code, level, message, rule.origin, line, column, rule.id)


def _unfit(
    policy: RulesPolicy, places: Mapping[str, Places], contracts: tuple[Contract, ...]
) -> Iterator[Finding]:
    if contracts:
        tools = Tools(contracts)
        for rule in policy.rules:
            for code, message in against_tools(rule, tools):
                yield _of_rule(rule, places, code, "warning", message)


def _useless(policy: RulesPolicy, places: Mapping[str, Places]) -> Iterator[Finding]:
    def finding(rule: Rule, code: str, level: Level, message: str) -> Finding:
        return _of_rule(rule, places, code, level, message)

    covering = Covering(policy.rules)
    for rule in policy.rules:
        why = impossible(rule.match)
        if why:
            yield finding(rule, "NEVER_MATCHES", "warning", f"this rule can never match: {why}.")
            continue
        other = covering.shadow(rule)
        if other is not None:
            same = other.decision == rule.decision
            yield finding(
                rule,
                "REDUNDANT" if same else "SHADOWED",
                "note" if same else "warning",
                f"whenever this rule matches, {other.id!r} ({other.decision}) does too"
                + (": it adds nothing but its reason." if same else ", and decides. Remove one of them."),
            )
        if rule.match.everything and rule.decision == "allow":
            yield finding(
                rule, "ALLOWS_EVERYTHING", "warning", "this rule allows every call that no other rule stops."
            )
        if rule.auto and "two_person" in rule.obligations:
            yield finding(
                rule, "AUTO_AND_TWO_PERSON", "warning", "'two_person' asks all the same: 'auto' does nothing."
            )
    if covering.unfinished:
        first, count = covering.unfinished[0], len(covering.unfinished)
        yield finding(
            first,
            "NOT_ALL_COMPARED",
            "note",
            f"so many rules say nearly the same that {count} of them, this one first, were compared with "
            f"{MOST} others only: whether another always overrides them is not known. Name tools or values "
            "that set them apart.",
        )
    origin = next(iter(places))
    used = {name for rule in policy.rules for name in rule.match.facts}
    for name in sorted(policy.facts - used):
        yield Finding("UNUSED_FACT", "warning", f"no rule asks for the fact {name!r}. Remove it.", origin)
    missing = [str(risk) for risk in RiskClass if risk not in policy.defaulted]
    if missing:
        said = "no default is written for " + ", ".join(missing) + "; the built-in one holds."
        yield Finding("MISSING_DEFAULT", "note", said, origin)
