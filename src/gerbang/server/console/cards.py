"""A request as a person sees it: what will happen, where its values come from, why they are asked."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from gerbang.approval.machine import ApprovalState
from gerbang.audit.redact import MASK, redact
from gerbang.server.console.origins import Origins, Source, Value, source_text
from gerbang.server.console.visit import Visit
from gerbang.taint.label import looks_like_instructions, trust_of
from gerbang.values import Contract
from gerbang.values.canonical import digest
from gerbang.values.record import ApprovalRow, CallState, RunRow

_KNOWN: Final = frozenset({CallState.SUCCEEDED, CallState.RESOLVED_SUCCEEDED})


class Card(Struct, frozen=True):
    """One request. `mark` names exactly what was shown: a decision on anything else is refused."""

    row: ApprovalRow
    run: RunRow | None
    contract: Contract | None
    values: tuple[Value, ...]
    reasons: tuple[str, ...]
    outside: tuple[str, ...]
    suspicious: tuple[str, ...]
    open: bool
    mark: str


async def card(visit: Visit, row: ApprovalRow) -> Card:
    """Return the card of a request."""
    contract = contract_of(visit, row.tool)
    run = await visit.store.run(row.run_id)
    calls = await visit.store.calls(row.run_id)
    sources = [
        Source(call.tool, _is_outside(visit, call.tool), source_text(call.result))
        for call in calls
        if call.state in _KNOWN and call.key != row.key
    ]
    origins = Origins("" if run is None else run.prompt, sources)
    return Card(
        row=row,
        run=run,
        contract=contract,
        values=values_of(origins, contract, read_arguments(row.arguments)),
        reasons=tuple(reason for reason in row.reasons.split(",") if reason),
        outside=tuple(origins.outside),
        suspicious=_suspicious(sources),
        open=row.state == ApprovalState.PENDING and visit.now < row.expires_at,
        mark=mark_of(row),
    )


def values_of(origins: Origins, contract: Contract | None, arguments: dict[str, Any]) -> tuple[Value, ...]:
    """Return the arguments as they are shown, those that steer the effect first."""
    control = frozenset() if contract is None else contract.control
    found = [
        origins.value(
            name, value, control=name in control, mask=MASK if is_masked(contract, name, value) else None
        )
        for name, value in arguments.items()
    ]
    return tuple(sorted(found, key=lambda value: not value.control))


def is_masked(contract: Contract | None, name: str, value: Any) -> bool:
    """Tell whether nobody is shown an argument: its contract says so, or it holds a credential."""
    if contract is not None and name in contract.sensitive:
        return True
    written = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    line = f"{name}: {written}"
    return redact(line) != line


def read_arguments(written: bytes) -> dict[str, Any]:
    """Return the arguments of a row."""
    found: dict[str, Any] = msgspec.json.decode(written)
    return found


def mark_of(row: ApprovalRow) -> str:
    """Return the digest of what a decision would be about."""
    return digest(["console", row.approval_id, row.binding, row.state, row.arguments.decode()])


def contract_of(visit: Visit, tool: str) -> Contract | None:
    """Return the contract of a tool that the tenant has."""
    entry = visit.gateway.catalogue.find(tool)
    return None if entry is None else entry.contract


def _is_outside(visit: Visit, tool: str) -> bool:
    contract = contract_of(visit, tool)
    return contract is None or trust_of(contract.risk) == "external"


def _suspicious(sources: Sequence[Source]) -> tuple[str, ...]:
    """Return the tools whose results speak to the model."""
    return tuple(
        dict.fromkeys(
            source.tool for source in sources if source.outside and looks_like_instructions(source.text)
        )
    )


def restored(contract: Contract | None, before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return edited arguments, a value that was masked and left alone put back."""
    return {
        name: before[name]
        if value == MASK and name in before and is_masked(contract, name, before[name])
        else value
        for name, value in after.items()
    }


def masked(contract: Contract | None, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments as an editor may show them."""
    return {name: MASK if is_masked(contract, name, value) else value for name, value in arguments.items()}
