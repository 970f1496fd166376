"""Bundles: one file of rules, or several that count as one. What is not wholly understood does not load."""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from gerbang.errors import PolicyError
from gerbang.policy.floors import CLASS_FLOOR
from gerbang.policy.hours import Window, Zones, window
from gerbang.policy.rule import Rule, only, read_rule, verdict_of
from gerbang.policy.rules import CLASS_DEFAULTS, RulesPolicy
from gerbang.policy.where import MisplacedError, Where, located, short
from gerbang.values import RiskClass
from gerbang.values.canonical import NotCanonical, digest
from gerbang.values.decision import Verdict
from gerbang.values.yamltext import read_yaml

_KEYS: Final = ("version", "name", "note", "defaults", "facts", "hours", "rules")


class _File(Struct, frozen=True):
    """One file, read and checked. `facts` are those that it declares, its own rules' and others'."""

    origin: str
    data: dict[str, Any]
    facts: tuple[str, ...]
    hours: Window | None
    defaults: dict[RiskClass, Verdict]


def load_rules(text: str, origin: str, zones: Zones | None = None) -> RulesPolicy:
    """Return the policy of a YAML text. Raises PolicyError with file, line and column."""
    return load_bundle({origin: text}, zones)


def load_bundle(texts: Mapping[str, str], zones: Zones | None = None) -> RulesPolicy:
    """Return the policy of several YAML texts by their files' names. Which file comes first never matters.

    Rules, facts, defaults and hours count as if they stood in one file: an id, the default of a class and
    the hours may stand there once. `zones` gives time zones by name. Raises PolicyError with file, line and
    column.
    """
    data = {origin: read_yaml(text, origin, PolicyError) for origin, text in texts.items()}
    try:
        return compile_bundle(data, zones)
    except MisplacedError as error:
        raise located(error, texts[error.origin]) from None


def compile_rules(data: Any, origin: str, zones: Zones | None = None) -> RulesPolicy:
    """Return the policy of a mapping with `version: 1`, `rules` and the other fields of a file."""
    return compile_bundle({origin: data}, zones)


def compile_bundle(data: Mapping[str, Any], zones: Zones | None = None) -> RulesPolicy:
    """Return the policy of several files that were read already, by their names. Raises MisplacedError."""
    files = [_file(data[origin], origin, zones) for origin in sorted(data)]
    facts = frozenset(name for file in files for name in file.facts)
    rules: dict[str, Rule] = {}
    for file in files:
        for index, written in enumerate(file.data.get("rules", [])):
            where = Where(file.origin, ("rules", index), f"rule {index + 1}")
            rule = read_rule(written, where, facts, zones)
            if rule.id in rules:
                other = rules[rule.id].origin
                there = "" if other == file.origin else f"; the other one is in {other}"
                raise Where(file.origin, ("rules", index, "id")).error(
                    f"two rules are called {short(rule.id)}{there}."
                )
            rules[rule.id] = rule
    defaults, hours = _once(files)
    versions = [_version(file) for file in files]
    return RulesPolicy(
        tuple(rules.values()),
        {**CLASS_DEFAULTS, **defaults},
        versions[0] if len(files) == 1 else digest(sorted(versions)),
        facts=facts,
        hours=hours,
        defaulted=frozenset(defaults),
    )


def _once(files: list[_File]) -> tuple[dict[RiskClass, Verdict], Window | None]:
    """Return what may stand in a bundle once."""
    defaults: dict[RiskClass, tuple[str, Verdict]] = {}
    hours: tuple[str, Window] | None = None
    for file in files:
        for risk, verdict in file.defaults.items():
            if risk in defaults:
                raise Where(file.origin, ("defaults", str(risk))).error(
                    f"the default of {risk} stands in {defaults[risk][0]} already. Keep one of them."
                )
            defaults[risk] = (file.origin, verdict)
        if file.hours is not None:
            if hours is not None:
                raise Where(file.origin, ("hours",)).error(
                    f"the hours stand in {hours[0]} already. Keep one."
                )
            hours = (file.origin, file.hours)
    return {risk: said for risk, (_, said) in defaults.items()}, None if hours is None else hours[1]


def _file(data: Any, origin: str, zones: Zones | None) -> _File:
    where = Where(origin)
    if not isinstance(data, dict):
        raise where.error("a policy is a mapping with 'version' and 'rules'.")
    only(data, _KEYS, where)
    number = data.get("version")
    if number != 1 or isinstance(number, bool):
        raise where.at("version", "").error("'version: 1' is missing; it names the format of this file.")
    if not isinstance(data.get("rules", []), list):
        raise where.at("rules", "").error("'rules' is a list.")
    facts = data.get("facts", [])
    if not isinstance(facts, list) or not all(isinstance(name, str) and name for name in facts):
        raise where.at("facts", "").error("'facts' is a list of the names of facts.")
    hours = None
    if "hours" in data:
        hours = window(data["hours"], where.at("hours", "hours"), zones)
    return _File(origin, data, tuple(facts), hours, _defaults(data.get("defaults", {}), where))


def _version(file: _File) -> str:
    try:
        return digest(file.data)
    except NotCanonical as error:
        raise Where(file.origin).error(
            f"{error.path or 'the file'} holds something that is not JSON."
        ) from None


def _defaults(data: Any, where: Where) -> dict[RiskClass, Verdict]:
    if not isinstance(data, dict):
        raise where.at("defaults", "").error("'defaults' maps risk classes to allow, ask or deny.")
    below = where.at("defaults", "defaults")
    found: dict[RiskClass, Verdict] = {}
    for name, value in data.items():
        at = below.at(name, f".{name}")
        if name not in list(RiskClass):
            raise below.at(name, "").error(
                f"{short(str(name))} is not a risk class. Known: {', '.join(RiskClass)}."
            )
        verdict = verdict_of(value)
        if verdict is None:
            raise at.error("takes allow, ask or deny.")
        risk = RiskClass(name)
        if risk in CLASS_FLOOR and verdict == "allow":
            raise at.error("this class is at least 'ask'; name the tool in a rule with 'auto: true'.")
        found[risk] = verdict
    return found
