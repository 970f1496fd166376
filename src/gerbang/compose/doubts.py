"""Calls of which nobody knows what became of them: with the facts, for a person who finds out and says so."""

from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gerbang.audit.calls import calls_of
from gerbang.compose.recovery import Recovery
from gerbang.compose.runs import check_person, check_place
from gerbang.errors import UsageError
from gerbang.ledger.machine import LedgerEvent, advance
from gerbang.ports import Clock, Store
from gerbang.runtime import refusals
from gerbang.runtime.bodies import SettledByPerson, event
from gerbang.runtime.body import GRACE_S
from gerbang.runtime.gate import Gate
from gerbang.runtime.present import show_error
from gerbang.runtime.process import is_gone
from gerbang.runtime.settling import sending_of
from gerbang.runtime.stored import stored_error
from gerbang.runtime.writing import write
from gerbang.values import Principal
from gerbang.values.record import Batch, CallRow, CallState, RunRow

_NOTE: Final = 500
_ENCODER = msgspec.json.Encoder()


class Doubt(Struct, frozen=True):
    """A call that is UNCERTAIN, and what is known of it.

    `arguments` is the JSON of what was sent, as the record shows it: masked, and empty once it was erased.
    `sent_at` and `until` are seconds since the epoch: nothing of it is sent after `until`. `error_code` is
    what came back, if anything did. `needs_a_person`: nothing else will find out.
    """

    run_id: str
    step_id: str
    call_id: str
    tool: str
    risk_class: str
    tenant: str
    user: str
    arguments: str
    attempt: int
    sent_at: float
    until: float
    error_code: str
    approval_id: str | None
    needs_a_person: bool


class Doubts:
    """Those of a store. `recovery` gives what a run's records are written under."""

    def __init__(self, store: Store, clock: Clock, gate: Gate, recovery: Recovery) -> None:
        self._store = store
        self._clock = clock
        self._gate = gate
        self._recovery = recovery

    async def all(self, tenant: str | None, limit: int) -> list[Doubt]:
        """Return those of a tenant, or of all, oldest first. Raises StoreError."""
        found = []
        for row in await self._store.uncertain(limit):
            run = await self._store.run(row.run_id)
            if run is not None and tenant in (None, run.tenant):
                found.append(await self._told(run, row))
        return found

    async def _told(self, run: RunRow, row: CallRow) -> Doubt:
        events = [one async for one in self._store.stream(row.run_id) if one.kind.startswith("call.")]
        known = [one for one in calls_of(events) if one["call_id"] == row.call_id]
        sent: dict[str, Any] = next((one for one in reversed(known) if one["kind"] != "call.refused"), {})
        entry = self._recovery.entry(row.tool)
        return Doubt(
            row.run_id,
            row.step_id,
            row.call_id,
            row.tool,
            str(sent.get("risk_class", "")),
            run.tenant,
            str(sent.get("user") or run.user),
            str(sent.get("input_redacted", "")),
            row.attempt,
            float(sent.get("started_at", 0.0)),
            float(sent.get("deadline_at", 0.0)),
            str(sent.get("error_code", "")),
            row.approval_id,
            entry is None or entry.contract.probe is None,
        )

    async def resolve(
        self, run_id: str, call_id: str | None, happened: bool, by: Principal, note: str
    ) -> CallRow:
        """Record what a person has found out, and return the call's row as it is then.

        Without `call_id` it is the one call of the run that is in doubt. Raises UsageError and StoreError.
        """
        check_person(by)
        check_place(by, run_id, 1, None, None, None)
        if type(happened) is not bool:
            raise UsageError("happened is True or False: what somebody has found out.")
        if by.agent is not None:
            raise UsageError("A person says what became of a call, not an agent.")
        run, row = await self._meant(run_id, call_id, by)
        if not happened:
            await self._is_over(row)
        session = self._recovery.session(run)
        marks = session.memory.marks
        what = LedgerEvent.LEARN_HAPPENED if happened else LedgerEvent.LEARN_NOT_HAPPENED
        now, error = self._clock.now(), None if happened else refusals.not_happened()
        value = {"happened": True, "said_by": by.user, "note": note[:_NOTE]}
        shown = session.texts.happened
        if error is not None:
            shown = show_error(error, row.tool, session.profile, session.texts)
        done = replace(
            row,
            state=advance(row.state, what),
            result=_ENCODER.encode(value) if error is None else stored_error(error),
            for_model=shown,
            updated_at=now,
        )
        body = SettledByPerson(
            row.run_id,
            row.step_id,
            None,
            row.tool,
            row.call_id,
            row.attempt,
            str(done.state),
            "success" if happened else "error",
            "" if error is None else error.error_code,
            "happened" if happened else "none",
            ("SAID_BY_PERSON",),
            by.user,
            by.tenant,
            tuple(sorted(by.roles)),
            note[:_NOTE],
            now,
            marks.of(done.result) if happened else "",
            len(done.result),
            marks.name,
        )
        said = event("call.resolved", row.run_id, body)
        committed = await write(self._store, Batch(calls=[done], events=[said]))
        if not committed.written:
            raise UsageError(
                f"It has come out meanwhile what became of {row.call_id}. See: gerbang runs show"
            )
        return done

    async def _meant(self, run_id: str, call_id: str | None, by: Principal) -> tuple[RunRow, CallRow]:
        run = await self._store.run(run_id)
        if run is None or run.tenant != by.tenant:
            raise UsageError(f"There is no run {run_id[:80]!r} of {by.tenant}. See: gerbang runs list")
        unsure = [row for row in await self._store.calls(run_id) if row.state == CallState.UNCERTAIN]
        found = unsure if call_id is None else [row for row in unsure if row.call_id == call_id]
        if len(found) == 1:
            return run, found[0]
        if found:
            names = ", ".join(row.call_id for row in found[:5])
            raise UsageError(f"Several calls of {run_id[:80]} are in doubt: {names}. Name one of them.")
        which = "no call" if call_id is None else f"no call {call_id[:80]!r}"
        raise UsageError(f"There is {which} in doubt in the run {run_id[:80]}. See: gerbang runs uncertain")

    async def _is_over(self, row: CallRow) -> None:
        """Raise UsageError while it may still be at work: nobody can know then that it has not happened."""
        entry = self._recovery.entry(row.tool)
        if entry is not None and await self._gate.lost.settling(row, entry.contract) is None:
            raise UsageError(
                "The call is still at work in a thread. What comes of it will settle the matter."
            )
        sending = await sending_of(self._store, row)
        left = sending.until + GRACE_S - await self._store.time()
        if sending.over is None and left > 0 and not is_gone(sending.process):
            raise UsageError(
                f"The call may be at work for {left:.0f} s more. Then it can be said not to have run."
            )
