"""Tools: their contracts, and what the design review finds in them."""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import to_builtins

from gerbang.contract.lint import lint
from gerbang.contract.lint_rule import LEVELS, Finding
from gerbang.server.console import pages
from gerbang.server.console.visit import Page, Visit
from gerbang.server.operation import short, whole
from gerbang.server.problems import not_found
from gerbang.server.replies import Reply
from gerbang.values import Contract

_PAGE: Final = 100
_MAX_KEPT: Final = 8
_KEPT: Final[dict[tuple[str, ...], tuple[Finding, ...]]] = {}
"""Findings by the digests of the contracts: the review is made once for each set of tools."""


async def listed(visit: Visit) -> Reply:
    """Show the tools that the person may know of."""
    asked = visit.query(q=_words, level=_level, page=whole(1, 10_000))
    contracts, findings = await _known(visit)
    counts = _counts(findings)
    words = asked.get("q", "").lower().split()
    level = asked.get("level", "")
    found = [
        contract
        for contract in contracts
        if all(word in f"{contract.name} {contract.description}".lower() for word in words)
        and (not level or counts.get(contract.name, {}).get(level))
    ]
    number = asked.get("page", 1)
    part = found[(number - 1) * _PAGE : number * _PAGE]
    return visit.page(
        "tools.html",
        contracts=part,
        counts=counts,
        total=len(found),
        q=asked.get("q", ""),
        level=level,
        levels=LEVELS,
        number=number,
        following=number + 1 if number * _PAGE < len(found) else None,
        held=visit.gateway.held_tools,
    )


async def shown(visit: Visit) -> Reply:
    """Show one contract."""
    name = visit.query(name=short).get("name", "")
    contracts, findings = await _known(visit)
    contract = next((one for one in contracts if one.name == name), None)
    if contract is None:
        raise not_found("tool of that name")
    whole_contract: dict[str, Any] = to_builtins(contract, str_keys=True)
    schemas = {key: whole_contract.pop(key, None) for key in ("parameters", "returns")}
    facts = [
        (key, value if isinstance(value, str) else msgspec.json.encode(value).decode())
        for key, value in whole_contract.items()
        if value not in (None, "", [], {}, False) and key not in ("name", "description", "risk")
    ]
    return visit.page(
        "tool.html",
        contract=contract,
        findings=[finding for finding in findings if finding.tool == name],
        parameters=pages.editable(schemas["parameters"]),
        returns=None if schemas["returns"] is None else pages.editable(schemas["returns"]),
        facts=facts,
    )


def offered(visit: Visit) -> list[Contract]:
    """Return the contracts that the person may know of, by name."""
    return sorted(visit.gateway.tools(principal=visit.who), key=lambda contract: contract.name)


async def _known(visit: Visit) -> tuple[list[Contract], Sequence[Finding]]:
    contracts = offered(visit)
    key = tuple(contract.digest for contract in contracts)
    found = _KEPT.get(key)
    if found is None:
        found = await asyncio.to_thread(lint, contracts)  # about a millisecond a contract
        if len(_KEPT) >= _MAX_KEPT:
            _KEPT.clear()
        _KEPT[key] = found
    return contracts, found


def _counts(findings: Sequence[Finding]) -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = {}
    for finding in sorted(findings, key=lambda finding: LEVELS.index(finding.level), reverse=True):
        levels = counts.setdefault(finding.tool, {})
        levels[finding.level] = levels.get(finding.level, 0) + 1
    return counts


def _words(value: str) -> str:
    if len(value) > 200:
        raise ValueError("it has at most 200 characters")
    return value


def _level(value: str) -> str:
    if value and value not in LEVELS:
        raise ValueError(f"it is one of {', '.join(LEVELS)}")
    return value


PAGES: Final = (
    Page("GET", "/console/tools", "calls", listed),
    Page("GET", "/console/tool", "calls", shown),
)
