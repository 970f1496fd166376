"""Runs: the list, one run with its calls, and its timeline, which goes on while the run does."""

from typing import Any, Final

import msgspec

from gerbang.compose.asked import asked_of
from gerbang.server.cancelling import cancel_run
from gerbang.server.console import pages
from gerbang.server.console.cards import LONG, contract_of, hidden_of, is_long
from gerbang.server.console.events import CallView, Line, calls_of, line_of
from gerbang.server.console.visit import Page, Visit
from gerbang.server.live import LiveRun
from gerbang.server.operation import short, whole
from gerbang.server.owners import owner_of
from gerbang.server.problems import not_found, problem
from gerbang.server.replies import Reply
from gerbang.server.run_history import WORKING, own_run
from gerbang.values.record import ERASED, RunRow, RunState

_PAGE: Final = 30
_MAX_EVENTS: Final = 500
"""Events of one answer; a longer timeline goes on by itself."""
_MAX_NOTES: Final = 500
_MAX_SAID: Final = 4_000
STATES: Final = tuple(str(state) for state in RunState)
FOLLOWED: Final = WORKING | {RunState.PENDING_APPROVAL}
"""States in which more may happen, so that the page asks again."""


async def listed(visit: Visit) -> Reply:
    """Show the tenant's runs, newest first."""
    asked = visit.query(state=_state, before=short)
    before = asked.get("before")
    if before is not None:
        before = (await own(visit, before)).run_id
    rows = await visit.store.runs(
        limit=_PAGE, tenant=visit.tenant, state=asked.get("state") or None, before=before
    )
    return visit.page(
        "runs.html",
        rows=[(row, await asked_of(visit.store, row)) for row in rows],
        state=asked.get("state", ""),
        states=STATES,
        following=rows[-1].run_id if len(rows) == _PAGE else None,
    )


async def shown(visit: Visit) -> Reply:
    """Show one run, its timeline from a sequence on."""
    asked = visit.query(id=short, after=whole(0, 2**53))
    run = await own(visit, asked.get("id", ""))
    lines, last = await _lines(visit, run, asked.get("after", 0))
    return visit.page(
        "run.html",
        run=run,
        lines=lines,
        last=last,
        full=len(lines) == _MAX_EVENTS,
        calls=await _calls(visit, run),
        **_live(visit, run),
        may_audit=visit.caller.may("audit"),
    )


async def followed(visit: Visit) -> Reply:
    """Give what has happened since, as pieces of the page that is open."""
    asked = visit.query(id=short, after=whole(0, 2**53))
    run = await own(visit, asked.get("id", ""))
    lines, last = await _lines(visit, run, asked.get("after", 0))
    calls = await _calls(visit, run) if lines else None
    return visit.page("run_more.html", run=run, lines=lines, last=last, calls=calls, **_live(visit, run))


async def cancel(visit: Visit) -> Reply:
    """Cancel a run, whichever process drives it. One that is over stays as it is."""
    run = await own(visit, visit.form.get("id", ""))
    await cancel_run(visit.service, run.run_id, visit.who)
    return pages.moved(address(run.run_id))


async def resume(visit: Visit) -> Reply:
    """Take up a run that waits, or that was cut off."""
    run = await own(visit, visit.form.get("id", ""))
    if run.state not in (RunState.PENDING_APPROVAL, RunState.RUNNING):
        raise problem(409, "conflict", "NOT_WAITING", visit.said("not_waiting", state=run.state))
    owner = await owner_of(visit.service, run)
    visit.service.runs.resume(visit.service.toolsets.of(visit.tenant), run.run_id, owner, run.prompt)
    return pages.moved(address(run.run_id))


def address(run_id: str) -> str:
    """Return the address of a run's page."""
    quoted: Any = pages.environment().filters["quoted"]
    return f"/console/run?id={quoted(run_id)}"


async def own(visit: Visit, run_id: str) -> RunRow:
    """Return a run of the tenant. Another tenant's does not exist for it: Problem 404."""
    row = await own_run(visit.store, run_id, visit.tenant)
    if row is not None:
        return row
    live = visit.service.runs.find(run_id, visit.tenant)
    if live is None:
        raise not_found("run of that id")
    state = live.status if live.over else RunState.RUNNING  # its first record is still to come
    who, began = live.principal, live.started_at
    return RunRow(run_id, who.tenant, who.user, state, began, began, live.prompt, live.answer or "")


async def _lines(visit: Visit, run: RunRow, after: int) -> tuple[list[Line], int]:
    rows = await visit.store.events(run.run_id, after=after, limit=_MAX_EVENTS)
    return [line_of(row) for row in rows], rows[-1].seq if rows else after


async def _calls(visit: Visit, run: RunRow) -> list[CallView] | None:
    """Return the run's calls; None when they are too many for one page."""
    store = visit.store
    if await is_long(store, run.run_id):
        return None
    hidden: dict[str, frozenset[str]] = {}
    for row in await store.approvals(run_id=run.run_id, limit=_MAX_EVENTS):
        contract = contract_of(visit, row.tool)
        hidden[row.tool] = hidden.get(row.tool, frozenset()) | hidden_of(contract, row)
    return calls_of(
        await store.events(run.run_id, limit=LONG),
        await store.calls(run.run_id),
        await store.answers(run.run_id),
        lambda tool: hidden.get(tool) or sensitive_of(visit, tool),
    )


def sensitive_of(visit: Visit, tool: str) -> frozenset[str]:
    """Return the arguments of a tool that nobody is shown."""
    contract = contract_of(visit, tool)
    return frozenset() if contract is None else frozenset(contract.sensitive)


def _live(visit: Visit, run: RunRow) -> dict[str, Any]:
    live = visit.service.runs.find(run.run_id, visit.tenant)
    driven = live is not None and not live.over
    waits = run.state in (RunState.PENDING_APPROVAL, RunState.RUNNING) and not driven
    return {
        "erased": run.salt == ERASED,
        "driven": driven,
        "saying": _saying(live) if live is not None and driven else "",
        "follow": driven or run.state in FOLLOWED,
        "can_resume": waits and visit.service.runs.can_resume(visit.service.toolsets.of(visit.tenant)),
    }


def _saying(live: LiveRun) -> str:
    """Return the end of what the model has said since its last call."""
    said: list[str] = []
    for note in reversed(live.since(max(0, live.last_seq - _MAX_NOTES))):
        if note.kind == "tool_call":
            break
        if note.kind == "assistant_delta":
            said.append(str(msgspec.json.decode(note.text).get("text", "")))
    return "".join(reversed(said))[-_MAX_SAID:]


def _state(value: str) -> str:
    if value and value not in STATES:
        raise ValueError(f"it is one of {', '.join(STATES)}")
    return value


PAGES: Final = (
    Page("GET", "/console/runs", "runs", listed),
    Page("GET", "/console/run", "runs", shown),
    Page("GET", "/console/run/more", "runs", followed),
    Page("POST", "/console/run/cancel", "runs", cancel),
    Page("POST", "/console/run/resume", "runs", resume),
)
