"""What runs cost, added up from their events: a page of runs and a page of events in memory at a time."""

from collections.abc import AsyncIterator
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from gerbang.ports import Store
from gerbang.values.record import RunRow

By = Literal["run", "tool", "user", "team", "tenant"]
_PAGE: Final = 200
_COUNTED: Final = frozenset({"call.finished", "call.refused", "call.replayed", "call.resolved"})


class Cost(Struct):
    """A sum. `cost_units` is what contracts book, `seconds` the time that calls took; tokens are the model's.

    Tokens belong to a run: by tool they are not told.
    """

    name: str
    runs: int = 0
    calls: int = 0
    refused: int = 0
    errors: int = 0
    cost_units: float = 0.0
    seconds: float = 0.0
    answers: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


async def costs(
    store: Store, by: By, *, since: float = 0.0, tenant: str | None = None
) -> AsyncIterator[Cost]:
    """Yield sums of the runs that began at `since` or later, newest run first, or by name.

    By run each is given as soon as it is known; by anything else there is one for each name.
    """
    sums: dict[str, Cost] = {}
    async for row in _runs(store, since, tenant):
        made = await _of_run(store, row, by)
        for cost in made:
            if by == "run":
                yield cost
            else:
                _add(sums.setdefault(cost.name, Cost(cost.name)), cost)
    for name in sorted(sums):
        yield sums[name]


async def _runs(store: Store, since: float, tenant: str | None) -> AsyncIterator[RunRow]:
    last: str | None = None
    while rows := await store.runs(limit=_PAGE, tenant=tenant, before=last):
        for row in rows:
            if row.started_at < since:
                return
            yield row
        last = rows[-1].run_id


async def _of_run(store: Store, row: RunRow, by: By) -> list[Cost]:
    whole = Cost({"run": row.run_id, "user": row.user, "tenant": row.tenant}.get(by, "-"), runs=1)
    tools: dict[str, Cost] = {}
    async for event in store.stream(row.run_id):
        try:
            body = msgspec.json.decode(event.body)
        except msgspec.MsgspecError:
            continue  # not one of ours; `audit verify` says so
        if not isinstance(body, dict):
            continue
        if event.kind == "model.answered":
            whole.answers += 1
            whole.input_tokens += body.get("input_tokens", 0)
            whole.output_tokens += body.get("output_tokens", 0)
        if by == "team" and body.get("team"):
            whole.name = body["team"]
        if event.kind not in _COUNTED:
            continue
        name = str(body.get("tool_name", ""))
        into = tools.setdefault(name, Cost(name, runs=1)) if by == "tool" else whole
        _count(into, event.kind, body)
    return list(tools.values()) if by == "tool" else [whole]


def _count(into: Cost, kind: str, body: dict[str, Any]) -> None:
    if kind == "call.refused":
        into.refused += 1
        return
    if kind == "call.resolved":  # its call was counted when its fate was not known
        return
    into.calls += 1
    if kind == "call.finished":
        into.errors += body.get("status") != "success"
        into.cost_units += body.get("cost_units", 0.0)
        into.seconds += body.get("latency_ms", 0.0) / 1000


def _add(into: Cost, more: Cost) -> None:
    for name in Cost.__struct_fields__[1:]:
        setattr(into, name, getattr(into, name) + getattr(more, name))
