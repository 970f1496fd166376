"""Checks of meaning: shipped ones by name, and one of our own. Run it: python examples/semantic_checks.py"""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

import gerbang as g

TICKETS = {"T-1": {"state": "open", "version": 3}}
LOOK = {"reader": "ticket", "subject": ["ticket"]}


def ticket(subject: dict[str, Any], who: g.Principal) -> Any:
    return TICKETS.get(subject["ticket"])


def polite(options: Mapping[str, Any], facts: g.SemanticFacts) -> Iterator[g.Finding]:
    name = options["argument"]
    if "please" not in facts.arguments[name].lower():
        yield g.Finding("NOT_POLITE", (name,), f"{name} must say please.")


@g.tool(
    name="tickets.close.v1",
    risk="write_internal",
    validators=[
        {"name": "exists", "options": LOOK},
        {"name": "version", "options": {**LOOK, "argument": "version", "path": "/version"}},
        {"name": "polite", "options": {"argument": "note"}},
    ],
)
async def close(ticket: str, version: int, note: str) -> str:
    """Close a ticket. Use when the user says that it is done. Returns the ticket."""
    return f"closed {ticket}"


async def main() -> None:
    own = [g.SemanticValidator("polite", polite)]
    async with g.Gateway(
        [close], readers={"ticket": ticket}, validators=own, approver=lambda _: True
    ) as gate:
        for name, version, note in (("T-9", 1, "Please."), ("T-1", 2, "Done."), ("T-1", 3, "Please close.")):
            arguments = {"ticket": name, "version": version, "note": note}
            result = await gate.call("tickets.close.v1", arguments)
            found = result.error.invalid_fields if result.error else ()
            print(result.status, result.value or "", *(f"{field.path}: {field.code}" for field in found))


asyncio.run(main())
