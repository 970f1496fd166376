"""`GET /v1/audit`: events of all runs of the tenant, by run, tool and kind, a page at a time."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct

from gerbang.server.operation import Exchange, short, whole
from gerbang.server.problems import not_found
from gerbang.server.replies import Reply, json_reply
from gerbang.server.run_history import own_run
from gerbang.server.run_names import given_name
from gerbang.values.record import RunRow

if TYPE_CHECKING:
    from gerbang.ports import Store

MOST: Final = 1_000
"""The most events of one page."""
_LOOKED_AT: Final = 5_000
"""One page looks at so many events, and goes on from there with the next."""
PLACE: Final = {"type": "string", "maxLength": 512, "pattern": "^[^\\x00]+/[0-9]{1,15}$"}
"""The schema of what `_place` reads."""
_RUNS: Final = 50


class FoundEvent(Struct, frozen=True):
    """One event of a run's audit chain. `digest` covers it and all before it in its run."""

    run_id: str
    seq: int
    kind: str
    body: dict[str, Any]
    digest: str


class FoundEvents(Struct, frozen=True):
    """Events, those of the newest run first, in each run in order.

    `next` is the `after` of the next page; null when everything has been looked at. A page may hold fewer
    events than it was asked for, or none, and still have a next one: one page looks at a bounded number.
    """

    events: list[FoundEvent]
    next: str | None


async def found(exchange: Exchange) -> Reply:
    """Give the events that are asked for."""
    asked = exchange.query(run_id=short, tool=short, kind=short, after=_place, limit=whole(1, MOST))
    store, tenant = exchange.service.store, exchange.caller.principal.tenant
    limit, looked, events = asked.get("limit", 200), 0, list[FoundEvent]()
    async for run, after in _runs(store, tenant, asked.get("run_id"), asked.get("after")):
        name = given_name(run.run_id, tenant)
        async for row in store.stream(run.run_id, after=after):
            looked += 1
            if asked.get("kind", row.kind) == row.kind:
                body = msgspec.json.decode(row.body)
                if _names(body, asked.get("tool")):
                    events.append(FoundEvent(name, row.seq, row.kind, body, row.digest.hex()))
            if len(events) == limit or looked == _LOOKED_AT:
                return json_reply(FoundEvents(events, f"{name}/{row.seq}"))
    return json_reply(FoundEvents(events, None))


async def _runs(
    store: "Store", tenant: str, only: str | None, place: tuple[str, int] | None
) -> AsyncIterator[tuple[RunRow, int]]:
    """Yield the runs to look at, the newest first, and the event of each behind which to begin."""
    first = None if only is None else await _own(store, only, tenant)
    before, after = None, 0
    if place is not None:
        begun, after = await _own(store, place[0], tenant), place[1]
        before = begun.run_id
        if first is None or first.run_id == begun.run_id:
            yield begun, after
            if first is not None:
                return
    if first is not None:
        yield first, 0
        return
    while rows := await store.runs(limit=_RUNS, tenant=tenant, before=before):
        for row in rows:
            yield row, 0
        before = rows[-1].run_id


async def _own(store: "Store", run_id: str, tenant: str) -> RunRow:
    run = await own_run(store, run_id, tenant)
    if run is None:
        raise not_found("run of that id")
    return run


def _names(body: dict[str, Any], tool: str | None) -> bool:
    called = body.get("calls")  # of a model's answer their names, of a whole run their number
    return tool in (None, body.get("tool_name")) or (isinstance(called, list) and tool in called)


def _place(text: str) -> tuple[str, int]:
    """Return the run and the sequence of an event's id."""
    run_id, _, seq = text.rpartition("/")
    if not run_id or not seq.isascii() or not seq.isdigit() or len(seq) > 15:
        raise ValueError("it is the `next` of a former answer: a run's id, a slash and a number")
    return short(run_id), int(seq)
