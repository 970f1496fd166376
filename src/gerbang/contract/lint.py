"""The design review of contracts as a linter: rules in tables, findings that say how to mend them.

A contract may allow itself a finding, with the reason in writing::

    annotations:
      lint_allow:
        unversioned-name: The name is fixed by the protocol.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from gerbang.contract import lint_effects, lint_names, lint_schema
from gerbang.contract.lint_rule import LEVELS, Finding, Hit, Level, Rule
from gerbang.values import Contract

ALLOW: Final = "lint_allow"
"""The annotation that names rules whose findings are meant, each with a reason."""
_ENOUGH: Final = 20
"""Findings of one rule in one contract; the last one says that there are more."""


def _bad_allowance(contract: Contract) -> Iterator[Hit]:
    allowed = contract.annotations.get(ALLOW, {})
    if not isinstance(allowed, Mapping):
        yield f"/annotations/{ALLOW}", "It must be a map of rules and reasons."
        return
    for rule, reason in allowed.items():
        if rule not in BY_ID:
            yield f"/annotations/{ALLOW}/{rule}", f"There is no rule {rule!r}."
        elif not isinstance(reason, str) or not reason.strip():
            yield f"/annotations/{ALLOW}/{rule}", f"Nothing says why {rule!r} does not count."


RULES: Final[tuple[Rule, ...]] = (
    *lint_names.RULES,
    *lint_schema.RULES,
    *lint_effects.RULES,
    Rule(
        "bad-allowance",
        "warning",
        "A finding is allowed without a reason, or under a name that no rule has.",
        "Write the rule's name and the reason in annotations.lint_allow, or take it out.",
        _bad_allowance,
    ),
)
"""Every rule, in the order of the documentation."""
BY_ID: Final[dict[str, Rule]] = {rule.id: rule for rule in RULES}


def lint(
    contracts: Iterable[Contract], places: Mapping[str, tuple[str, int]] | None = None
) -> tuple[Finding, ...]:
    """Return what the rules find, in the order of the contracts and then of the rules.

    `places` maps tool names to the file and line (from 1) of their definition, where known. Linear in the
    number of contracts and the size of their schemas. Never raises on a contract that was made.
    """
    given = list(contracts)
    compared = _compared(given)
    known = places or {}
    return tuple(finding for contract in given for finding in _findings(contract, compared, known))


def at_least(findings: Sequence[Finding], level: Level) -> tuple[Finding, ...]:
    """Return the findings of a level or a graver one."""
    floor = LEVELS.index(level)
    return tuple(finding for finding in findings if LEVELS.index(finding.level) >= floor)


def _compared(contracts: Sequence[Contract]) -> dict[tuple[str, str], list[Hit]]:
    found: dict[tuple[str, str], list[Hit]] = defaultdict(list)
    for rule in RULES:
        for contract, hit in rule.compare(contracts) if rule.compare is not None else ():
            found[rule.id, contract.name].append(hit)
    return found


def _findings(
    contract: Contract,
    compared: Mapping[tuple[str, str], list[Hit]],
    places: Mapping[str, tuple[str, int]],
) -> Iterator[Finding]:
    allowed = _allowed(contract)
    file, line = places.get(contract.name, (None, None))
    for rule in RULES:
        if rule.id in allowed:
            continue
        hits = compared.get((rule.id, contract.name), ()) if rule.look is None else rule.look(contract)
        for count, (path, message) in enumerate(hits, 1):
            more = " There are more of these." if count == _ENOUGH else ""
            yield Finding(
                rule.id,
                rule.level,
                contract.name,
                path,
                message + more,
                rule.fix,
                contract.origin,
                file,
                line,
            )
            if count == _ENOUGH:
                break


def _allowed(contract: Contract) -> frozenset[str]:
    allowed = contract.annotations.get(ALLOW)
    if not isinstance(allowed, Mapping):
        return frozenset()
    return frozenset(
        rule for rule, reason in allowed.items() if isinstance(reason, str) and reason.strip()
    ) - {"bad-allowance"}
