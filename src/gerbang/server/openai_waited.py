"""The answer of a run that waited for a person: asked for again by its id, once it went on."""

from msgspec.structs import replace

from gerbang.compose.continuing import handed_calls
from gerbang.compose.events import RunResult
from gerbang.server.approvals import go_on
from gerbang.server.openai_errors import invalid
from gerbang.server.operation import Exchange
from gerbang.server.problems import problem
from gerbang.server.run_history import WORKING, own_run
from gerbang.values import Result
from gerbang.values.record import RunRow, RunState

_PARAM = "gerbang.run_id"


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
    row = await _row(exchange, run_id)
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
    if row is None or row.user != who.user:
        raise invalid("There is no run of that id. An answer's `gerbang.run_id` is one.", _PARAM)
    return row
