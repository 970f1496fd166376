"""A request as a person sees it: what will happen, where its values come from, why they are asked."""

from collections.abc import Collection, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from gerbang.approval.machine import ApprovalState
from gerbang.approval.seal import shown_mark
from gerbang.approval.terms import read_terms
from gerbang.approval.votes import read_votes
from gerbang.audit.redact import MASK, redact
from gerbang.ports import Store
from gerbang.runtime.ballot import Ballot
from gerbang.server.console.differences import Line, difference
from gerbang.server.console.origins import Origins, Source, Value, source_text
from gerbang.server.console.visit import Visit
from gerbang.taint.label import looks_like_instructions, trust_of
from gerbang.values import Contract, RiskClass
from gerbang.values.record import ERASED, ApprovalRow, CallState, RunRow

LONG: Final = 2_000
"""A run with more events is not looked through for a page; its timeline and the audit show it in parts."""
_KNOWN: Final = frozenset({CallState.SUCCEEDED, CallState.RESOLVED_SUCCEEDED})


class Card(Struct, frozen=True):
    """One request. `mark` names exactly what was shown: a decision on anything else is refused.

    `agreed` are those who have agreed already, of `needed` people; `editor` who changed the call before, and
    `edited` what. `typed` is what has to be typed before it is approved, empty for nothing.
    """

    row: ApprovalRow
    run: RunRow | None
    contract: Contract | None
    values: tuple[Value, ...]
    reasons: tuple[str, ...]
    duties: tuple[str, ...]
    outside: tuple[str, ...]
    suspicious: tuple[str, ...]
    tainted: bool
    long: bool
    erased: bool
    agreed: tuple[str, ...]
    needed: int
    editor: str
    edited: tuple[Line, ...]
    typed: str
    open: bool
    mark: str


async def card(visit: Visit, row: ApprovalRow) -> Card:
    """Return the card of a request."""
    contract = contract_of(visit, row.tool)
    run = await visit.store.run(row.run_id)
    long = await is_long(visit.store, row.run_id)
    sources = [] if long else await _sources(visit, row)
    origins = Origins("" if run is None else run.prompt, sources)
    ballot = ballot_of(row)
    hidden = hidden_of(contract, row)
    arguments = read_arguments(row.arguments)
    editor = None if ballot is None else ballot.editor
    return Card(
        row=row,
        run=run,
        contract=contract,
        values=values_of(origins, contract, arguments, hidden),
        reasons=tuple(reason for reason in row.reasons.split(",") if reason),
        duties=() if ballot is None else ballot.terms.duties,
        outside=tuple(origins.outside),
        suspicious=_suspicious(sources),
        long=long,
        erased=run is not None and run.salt == ERASED,
        tainted=bool(origins.outside) or (ballot is not None and ballot.terms.tainted),
        agreed=() if ballot is None else ballot.agreed,
        needed=1 if ballot is None else ballot.duties.needed,
        editor="" if editor is None else editor.user,
        edited=() if ballot is None or editor is None else _edited(ballot, arguments, hidden),
        typed=row.tool if contract is not None and contract.risk == RiskClass.DESTRUCTIVE else "",
        open=row.state == ApprovalState.PENDING and visit.gateway.clock.now() < row.expires_at,
        mark=shown_mark(row),
    )


async def _sources(visit: Visit, row: ApprovalRow) -> list[Source]:
    return [
        Source(call.tool, _is_outside(visit, call.tool), source_text(call.result))
        for call in await visit.store.calls(row.run_id)
        if call.state in _KNOWN and call.key != row.key
    ]


async def is_long(store: Store, run_id: str) -> bool:
    """Tell whether a run has more events than a page looks through."""
    return bool(await store.events(run_id, after=LONG, limit=1))


def ballot_of(row: ApprovalRow) -> Ballot | None:
    """Return a request with its terms and votes; None for one that an older version wrote."""
    terms, votes = read_terms(row.terms), read_votes(row.votes)
    return None if terms is None or votes is None else Ballot(row, terms, votes)


def hidden_of(contract: Contract | None, row: ApprovalRow) -> frozenset[str]:
    """Return the arguments that nobody is shown: those of the contract, and those of the policy."""
    terms = read_terms(row.terms)
    sensitive = frozenset() if contract is None else contract.sensitive
    return sensitive if terms is None else sensitive | frozenset(terms.masked)


def _edited(ballot: Ballot, now: dict[str, Any], hidden: Collection[str]) -> tuple[Line, ...]:
    before = read_arguments(ballot.asked_for)
    return tuple(difference(masked(hidden, before), masked(hidden, now)))


def values_of(
    origins: Origins, contract: Contract | None, arguments: dict[str, Any], hidden: Collection[str]
) -> tuple[Value, ...]:
    """Return the arguments as they are shown, those that steer the effect first."""
    control = frozenset() if contract is None else contract.control
    found = [
        origins.value(
            name, value, control=name in control, mask=MASK if is_masked(hidden, name, value) else None
        )
        for name, value in arguments.items()
    ]
    return tuple(sorted(found, key=lambda value: not value.control))


def is_masked(hidden: Collection[str], name: str, value: Any) -> bool:
    """Tell whether nobody is shown an argument: it is among the `hidden` ones, or it holds a credential."""
    if name in hidden:
        return True
    written = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    line = f"{name}: {written}"
    return redact(line) != line


def read_arguments(written: bytes) -> dict[str, Any]:
    """Return the arguments of a row."""
    found: dict[str, Any] = msgspec.json.decode(written)
    return found


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


def restored(hidden: Collection[str], before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return edited arguments, a value that was masked and left alone put back."""
    return {
        name: before[name]
        if value == MASK and name in before and is_masked(hidden, name, before[name])
        else value
        for name, value in after.items()
    }


def masked(hidden: Collection[str], arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments as an editor may show them."""
    return {name: MASK if is_masked(hidden, name, value) else value for name, value in arguments.items()}
