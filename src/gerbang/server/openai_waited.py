"""The answer of a run that waited for a person: asked for again by its id, once it went on."""

import asyncio
from typing import Final

from msgspec.structs import replace

from gerbang.compose.continuing import handed_calls
from gerbang.compose.events import RunResult
from gerbang.server.approvals import go_on
from gerbang.server.openai_errors import unknown_run
from gerbang.server.operation import Exchange
from gerbang.server.problems import problem
from gerbang.server.run_history import WORKING, own_run
from gerbang.values import Result
from gerbang.values.record import RunRow, RunState

_LOOK_S: Final = 0.25
_LONGEST_S: Final = 60.0


async def waited_result(exchange: Exchange, run_id: str) -> RunResult:
    """Return how a run of the caller ended, after it has gone on if it can. Raises Problem, StoreError."""
    service, store = exchange.service, exchange.service.store
    who = exchange.caller.principal
    row = await _row(exchange, run_id)
    waiting = await store.approvals(run_id=run_id, limit=100)
    if row.state == RunState.PENDING_APPROVAL and waiting:
        await go_on(service, waiting[0])  # it does, unless something is still undecided
    live = service.runs.find(run_id, who.tenant)
    while live is not None and not live.over:
        await live.changed()
    row, waited = await _row(exchange, run_id), 0.0
    while row.state in WORKING and waited < _LONGEST_S:  # another process drives it
        await asyncio.sleep(_LOOK_S)
        row, waited = await _row(exchange, run_id), waited + _LOOK_S
    if row.state in WORKING:
        raise problem(409, "conflict", "NOT_HERE", "Another process drives that run. Ask again later.")
    pending = [one for one in waiting if one.state == "pending"]
    result = RunResult(row.answer, str(row.state), row.steps, (), run_id)
    if row.state == RunState.CLIENT_CALLS:
        return replace(result, client_calls=await handed_calls(store, row))
    if row.state == RunState.PENDING_APPROVAL:
        calls = [
            Result("pending", one.tool, run_id, 0, one.approval_id, approval_id=one.approval_id)
            for one in pending
        ]
        return replace(result, calls=tuple(calls))
    return result


async def _row(exchange: Exchange, run_id: str) -> RunRow:
    who = exchange.caller.principal
    row = await own_run(exchange.service.store, run_id, who.tenant)
    if row is None or row.user != who.user or row.state == RunState.OPEN:  # calls of a program have no answer
        raise unknown_run()
    return row
