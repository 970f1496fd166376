"""A run that several processes drive: what the others have done in it, learnt from the records they left.

A caller's own loop may run in many processes at once. Each of them keeps what the run has done in memory, and
says in the commit of every call up to which event it knows the others' doings. The store refuses the commit
when there is more: then the rest is read here, and the call is decided on once more. Nothing is asked of the
store while nobody else writes, and every event is read once.
"""

import asyncio
from collections.abc import Container
from typing import Final

import msgspec
from msgspec import Struct

from gerbang.contract.semantic import SeenCall
from gerbang.errors import UsageError
from gerbang.policy.history import CallStatus
from gerbang.ports import Store
from gerbang.runtime.probing import is_question
from gerbang.runtime.resuming import facts_of, heard, remember_refusals
from gerbang.runtime.session import Elsewhere, RunMemory, RunSession
from gerbang.values.record import CallRow, CallState, EventRow

_STATUS: Final[dict[str, CallStatus]] = {
    CallState.SUCCEEDED: "ok",
    CallState.FAILED: "error",
    CallState.UNCERTAIN: "uncertain",
}
_DECIDED: Final = frozenset({"approval.refused", "approval.expired"})
_FIRST: Final = 50


class _Said(Struct, frozen=True):
    """What is looked up of an event."""

    step_id: str = ""
    call_id: str = ""
    tool_name: str = ""
    risk_class: str = ""
    process: str = ""
    state: str = ""


class CatchingUp:
    """Brings what a run carries up to date. Validators ask about results of `watched` tools."""

    def __init__(self, store: Store, watched: Container[str], *, taint: bool) -> None:
        self._store = store
        self._watched = watched
        self._taint = taint

    async def learn(self, session: RunSession) -> None:
        """Take in what others have done in the run since it was looked at.

        Raises StoreError, and UsageError when somebody else has begun a run of this name meanwhile.
        """
        memory = session.memory
        if memory.turn is None:
            memory.turn = asyncio.Lock()  # a sibling that reads on must find all of it taken in
        async with memory.turn:
            await self._learn(session, memory)

    async def _learn(self, session: RunSession, memory: RunMemory) -> None:
        if memory.knows == 0:
            row, who = await self._store.run(session.run_id), session.principal
            if row is not None and (row.tenant, row.user) != (who.tenant, who.user):
                raise UsageError(f"Run {session.run_id!r} belongs to somebody else. Use another run_id.")
        ended: dict[tuple[str, str], tuple[_Said, str]] = {}
        refused = spoken = False
        async for event in self._store.stream(session.run_id, after=memory.knows):
            memory.knows = event.seq
            refused = refused or event.kind in _DECIDED
            spoken = spoken or event.kind == "run.said"
            said = _read(event)
            if said is None:
                continue
            place = said.step_id, said.call_id
            if event.kind == "call.dispatched" and said.process != memory.name:
                _begin(session, place, said)
            elif event.kind == "call.finished" and place in memory.elsewhere:
                begun = memory.elsewhere.pop(place)
                memory.history.note_finished(begun.number, begun.facts, _STATUS.get(said.state, "error"))
                ended[place] = said, f"{session.run_id}/{event.seq}"
        if refused:
            await remember_refusals(self._store, session.run_id, memory)
        if spoken and (row := await self._store.run(session.run_id)) is not None:
            memory.known.say(row.prompt)
        if ended:
            await self._hear(session, ended)

    async def _hear(self, session: RunSession, ended: dict[tuple[str, str], tuple[_Said, str]]) -> None:
        """Take in what came of calls that others made: where values came from, and what validators ask."""
        for row in await self._rows(session.run_id, ended):
            said, event_id = ended[row.step_id, row.call_id]
            contract, _ = facts_of(session.catalogue, row.tool, said.risk_class)
            good = heard(session.memory, row, contract, said.risk_class, taint=self._taint)
            if good and contract is not None and contract.name in self._watched:
                given = msgspec.json.decode(row.arguments)
                seen = SeenCall(contract.name, row.call_id, event_id, given, row.updated_at)
                session.memory.seen.append(seen)

    async def _rows(self, run_id: str, wanted: dict[tuple[str, str], tuple[_Said, str]]) -> list[CallRow]:
        """Return the rows of these calls: they are among the newest ones, but for calls that take long."""
        newest = _FIRST
        while True:
            rows = await self._store.calls(run_id, newest=newest)
            found = [row for row in rows if not row.is_denial and (row.step_id, row.call_id) in wanted]
            if len(rows) < newest or len({(row.step_id, row.call_id) for row in found}) == len(wanted):
                return found
            newest *= 4


def _begin(session: RunSession, place: tuple[str, str], said: _Said) -> None:
    """Note a call that another process has sent."""
    memory = session.memory
    if place in memory.elsewhere or is_question(*place):
        return
    contract, facts = facts_of(session.catalogue, said.tool_name, said.risk_class)
    memory.budget.recall(said.tool_name, "", 0.0 if contract is None else contract.cost_units)
    memory.elsewhere[place] = Elsewhere(memory.history.note_started(facts, said.step_id), facts)


def _read(event: EventRow) -> _Said | None:
    if not event.kind.startswith("call."):
        return None
    try:
        return msgspec.json.decode(event.body, type=_Said)
    except msgspec.MsgspecError:
        return None  # not one of ours; `audit verify` says so
