"""The street for one call: admit, count, ask, authorise, dispatch, and exactly one result.

Every proposal ends in exactly one terminal record and one Result, whatever fails on the way.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from msgspec.structs import replace

from gerbang.approval.grant import AuthorisedCall, authorise
from gerbang.contract.check import check
from gerbang.errors import PolicyError, StoreBusy, UsageError
from gerbang.policy.input import PolicyInput
from gerbang.ports import Clock, Store
from gerbang.runtime import refusals
from gerbang.runtime.admission import Admission
from gerbang.runtime.answering import refused_with, waiting_for
from gerbang.runtime.approvals import Approvals
from gerbang.runtime.behind import TRIES, Behind
from gerbang.runtime.catching_up import CatchingUp
from gerbang.runtime.dispatch import Dispatch, Stopped
from gerbang.runtime.duties import duties_of, not_honoured, redacted
from gerbang.runtime.events import Decided, DryRun
from gerbang.runtime.in_flight import InFlight
from gerbang.runtime.looking import Looking
from gerbang.runtime.lost import Lost
from gerbang.runtime.records import Records
from gerbang.runtime.requests import arguments_of
from gerbang.runtime.resolutions import Resolutions
from gerbang.runtime.session import RunSession
from gerbang.runtime.standing import Standing
from gerbang.runtime.ticket import Refusal, Ticket
from gerbang.runtime.verdict import Verdict
from gerbang.runtime.withdrawing import forgo
from gerbang.values import CallContext, CallError, Decision, Proposal, Result, ValidCall
from gerbang.values.record import CallRow, CallState

Waiting = Callable[[], None]
_CLOSING_S = 5.0


class Gate:
    """Takes proposals, gives results. One instance serves many runs at once."""

    def __init__(
        self,
        *,
        admission: Admission,
        dispatch: Dispatch,
        records: Records,
        store: Store,
        approvals: Approvals,
        clock: Clock,
    ) -> None:
        self.admission = admission
        self._dispatcher = dispatch
        self._store = store
        self._approvals = approvals
        approvals.render = dispatch.preview
        self._clock = clock
        self._records = records
        self._catching_up = CatchingUp(store, records.watched, taint=records.asks_taint)
        self._looking = Looking(admission, dispatch, self._catching_up)
        self._resolutions = Resolutions(records, clock)
        self.lost = Lost(self, store, records, approvals, clock, dispatch.blocks)
        self._closing = False
        self.in_flight = InFlight(store)
        self._standing = Standing(store, self.lost, approvals, records, self.in_flight)

    async def call(
        self,
        session: RunSession,
        proposal: Proposal,
        *,
        key: str | None = None,
        waiting: Waiting | None = None,
        counted: bool = True,
    ) -> Result:
        """Take one proposal to its result. `waiting` is called when the call starts to wait for a person.

        `counted` False: it is a question of ours about another call, and none of the run's budget.

        Raises StoreError when a record cannot be written (nothing is executed after that) and
        CancelledError; a cancelled call has its terminal record all the same.
        """
        if self._closing:
            raise UsageError("The gateway is closing; nothing further is run.")
        for again in range(TRIES):
            try:
                return await self._call(session, proposal, key, waiting, counted, again > 0)
            except Behind:
                await self._catching_up.learn(session)
        raise StoreBusy(
            f"Others write to run {session.run_id!r:.80} all the time: no call of it could be decided. "
            "Nothing was executed; try again, or give each process a run of its own."
        )

    async def _call(
        self,
        session: RunSession,
        proposal: Proposal,
        key: str | None,
        waiting: Waiting | None,
        counted: bool,
        again: bool,
    ) -> Result:
        """Take the proposal to its result, once. Raises Behind as well; `again` says that it was before."""
        ticket = self.admission.now(session, proposal, key)
        if ticket is None:
            ticket = await self.admission.admit(session, proposal, key)
        if session.closed.get(proposal.call_id):
            return await self._closed(session, proposal, ticket)
        if session.watched and ticket.decision is not None:
            session.emit(Decided(proposal.call_id, proposal.name, ticket.decision))
        if isinstance(ticket, Refusal):
            decision, call, seen, knows = ticket.decision, ticket.call, ticket.seen, session.memory.knows
            return await self._refuse(
                session, proposal, ticket.error, None, None, decision, call, seen, knows
            )
        if ticket.decision.obligations:
            answered = await self._obliged(session, ticket, again)
            if answered is not None:
                return answered
        contract, budget = ticket.call.contract, session.budget
        refused = None
        if counted:
            now = self._clock.monotonic()
            refused = budget.take(contract.name, ticket.fingerprint, now, contract.cost_units)
        if refused is not None:
            return await self._refuse(session, proposal, refused, ticket)
        try:
            return await self._only(session, ticket, waiting)
        except Behind:
            if counted:
                budget.give_back(contract.name, ticket.fingerprint, contract.cost_units)
            raise

    async def _only(self, session: RunSession, ticket: Ticket, waiting: Waiting | None) -> Result:
        """Take a call on when nothing else in this process works on its key any more."""
        key = ticket.key
        waits = key in self.in_flight.busy
        while key in self.in_flight.busy:
            await self.in_flight.join(key)
            row = await self._store.call(key)
            asked = row is not None and row.state == CallState.PLANNED and self.in_flight.asks(key)
            if row is not None and (asked or row.state not in refusals.OPEN):
                return await self.settled(session, ticket, row)
        self.in_flight.begin(key)
        try:
            if waits and not await self.admission.same(session, ticket):
                raise Behind
            return await self._first(session, ticket, waiting)
        finally:
            self.in_flight.end(key)

    async def _closed(self, session: RunSession, proposal: Proposal, ticket: Ticket | Refusal) -> Result:
        """Return the result of a call that was refused on record before a crash: it stays refused."""
        code = session.closed[proposal.call_id]
        again = ticket.error if isinstance(ticket, Refusal) else None
        error = again if again is not None and again.error_code == code else refusals.before_crash(code)
        if session.standing and proposal.call_id in session.standing:  # an earlier version left its row open
            return await self._refuse(session, proposal, error)
        result = refused_with(session, proposal, error)
        session.ended[result.call_id] = result
        return result

    async def dry_run(self, session: RunSession, proposal: Proposal) -> DryRun:
        """Say what would happen to the proposal, looking up what is needed. Runs and records nothing."""
        return await self._looking.dry_run(session, proposal)

    async def _obliged(self, session: RunSession, ticket: Ticket, again: bool) -> Result | None:
        """See to the duties that come with a decision. A result: the call is answered by it."""
        proposal, decision = ticket.call.proposal, ticket.decision
        try:
            duties = duties_of(decision.obligations)
        except PolicyError:  # what nobody knows cannot be honoured
            unknown = not_honoured(decision)
            return await self._refuse(session, proposal, refusals.denied(unknown), decision=unknown)
        redacted(ticket, duties)
        if decision.decision != "allow":
            return None
        if duties.notify and not again:
            self._approvals.told(session, ticket, duties)
        if not duties.dry_run:
            return None
        text = await self._looking.preview(ticket)
        return await self._resolutions.previewed(session, ticket, text)

    def _first(
        self, session: RunSession, ticket: Ticket, waiting: Waiting | None = None
    ) -> Coroutine[Any, Any, Result]:
        """Take a call on whose key nothing else in this process works."""
        if ticket.decision.decision == "ask":
            return self._ask(session, ticket, waiting)
        context = self.context(session, ticket)
        grant = authorise(ticket.call, ticket.decision, context, approved_binding=None, binding=None)
        return self._dispatch(session, ticket, grant)

    def restored(self, session: RunSession, proposal: Proposal, row: CallRow) -> Result:
        """Return the result of a call that is over, from its row. Runs and records nothing."""
        return self._records.restored(session, proposal, row)

    def decide(self, session: RunSession, proposal: Proposal) -> Decision:
        """Say what would happen to the proposal, and why. Runs and records nothing.

        What an earlier layer than policy refuses is a denial whose reason is that layer's error code.
        """
        admitted = self.admission.blocking(session, proposal)
        if admitted.decision is not None:
            return admitted.decision
        assert isinstance(admitted, Refusal)  # noqa: S101 - a ticket always has a decision
        return Decision("deny", (admitted.error.error_code,), None, self.admission.version)

    async def _ask(self, session: RunSession, ticket: Ticket, waiting: Waiting | None) -> Result:
        """Get a person's decision: from an earlier grant, by asking now, or leave the call pending."""
        row = await self._store.call(ticket.key)
        if row is not None and row.state in refusals.FREE:
            row = None
        if row is not None and (row.state != CallState.PLANNED or row.fingerprint != ticket.fingerprint):
            return await self.settled(session, ticket, row)
        with self.in_flight.asking(ticket.key):
            verdict = await self._approvals.obtain(session, ticket, row, waiting)
        if verdict.state == "taken" and verdict.row is not None:
            return await self.settled(session, ticket, verdict.row)
        if verdict.state == "pending":
            return waiting_for(session, ticket, verdict)
        if verdict.state == "refused":
            assert verdict.error is not None  # noqa: S101 - a refusal always says why
            if verdict.error.error_code not in ("APPROVAL_STALE", "RUN_CANCELLED"):  # may be asked for anew
                session.budget.refuse_again(ticket.fingerprint, verdict.error)
            return await self._refuse(session, ticket.call.proposal, verdict.error, ticket, verdict)
        try:
            return await self._use(session, ticket, verdict)
        except asyncio.CancelledError:
            await asyncio.shield(forgo(self._store, self._clock, session, verdict.held))
            raise

    async def _use(self, session: RunSession, ticket: Ticket, verdict: Verdict) -> Result:
        """Run an approved call. Layers 2 to 5 are asked again now; an edited call passes all of them."""
        proposal = ticket.call.proposal
        if verdict.error is not None:
            return await self._refuse(session, proposal, verdict.error, ticket, verdict)
        if verdict.arguments is not None:
            proposal = replace(proposal, arguments=verdict.arguments, fault=None, repaired=False)
            call = check(ticket.entry, proposal)
            if isinstance(call, CallError):
                return await self._refuse(session, proposal, call, ticket, verdict)
            edited = self.admission.ticket(session, ticket.entry, call, None)
            edited.key, edited.fingerprint, edited.decision = ticket.key, ticket.fingerprint, ticket.decision
            ticket = edited
        else:  # run what was bound, not an object that others held while a person thought
            call = replace(ticket.call, arguments=arguments_of(ticket.call.canonical))
            ticket = ticket.of(call, ticket.decision)
        again = await self.admission.again(session, ticket)
        if isinstance(again, Refusal):
            ticket.decision = again.decision or Decision("deny", (again.error.error_code,), None, "")
            ticket.seen = again.seen
            return await self._refuse(session, proposal, again.error, ticket, verdict)
        ticket = again.of(again.call, replace(again.decision, decision="ask"))
        redacted(ticket, duties_of(ticket.decision.obligations))
        bound = await self._approvals.bound(session, ticket, verdict)
        if isinstance(bound, CallError):
            return await self._refuse(session, ticket.call.proposal, bound, ticket, verdict)
        grant = authorise(
            ticket.call,
            ticket.decision,
            self.context(session, ticket),
            approved_binding=verdict.binding,
            binding=bound,
        )
        if grant is None:
            return await self._refuse(session, ticket.call.proposal, refusals.stale(), ticket, verdict)
        return await self._dispatch(session, ticket, grant, verdict)

    async def _dispatch(
        self,
        session: RunSession,
        ticket: Ticket,
        grant: AuthorisedCall | None,
        verdict: Verdict | None = None,
        over: CallRow | None = None,
    ) -> Result:
        """Run the call. `over` is a lost attempt whose place it takes."""
        if grant is None:
            return await self._refuse(session, ticket.call.proposal, refusals.stale(), ticket)
        dispatch = self._dispatcher
        work = dispatch.run if ticket.call.contract.concurrency is None else dispatch.in_turn
        result = await work(session, ticket, grant, verdict, over)
        if type(result) is Result:
            error, probe = result.error, ticket.call.contract.probe
            if probe is not None and error is not None and error.effect == "unknown":
                return await self.lost.probe(session, ticket, result)
            return result
        assert isinstance(result, Stopped)  # noqa: S101 - the other one
        if result.taken is not None:
            return await self.settled(session, ticket, result.taken)
        if result.asks:
            return await self._ask(session, ticket, None)
        assert result.error is not None  # noqa: S101 - stopped for a reason
        return await self._refuse(session, ticket.call.proposal, result.error, ticket, verdict)

    async def aclose(self) -> None:
        """Let running calls finish for a while, then cancel them: each has its record when this returns."""
        self._closing = True
        await self.in_flight.finish(_CLOSING_S)
        self.in_flight.cancel()
        await self.in_flight.finish(_CLOSING_S)
        await self._dispatcher.aclose()

    async def settled(self, session: RunSession, ticket: Ticket, row: CallRow) -> Result:
        """Answer a call whose key is taken: by the stored result, or by the error that says why not."""
        proposal = ticket.call.proposal
        if row.fingerprint != ticket.fingerprint:
            return await self._not_again(session, ticket, row, refusals.key_reused())
        own = session.lease is not None and (row.run_id, row.call_id) == (session.run_id, proposal.call_id)
        if row.state in (CallState.SUCCEEDED, CallState.RESOLVED_SUCCEEDED):
            if own or proposal.call_id in session.closed:  # its record stands; we go on with the run
                return self._records.restored(session, proposal, row)
            return await self._records.replayed(session, ticket, row)
        if row.state in refusals.FREE:
            remembered = session.budget.refused(ticket.fingerprint)
            if remembered is not None:
                return await self._not_again(session, ticket, row, remembered)
            if not await self.admission.same(session, ticket):  # it may have waited for the other to end
                raise Behind
            return await self._first(session, ticket)
        if row.state == CallState.PLANNED:
            return waiting_for(session, ticket, Verdict("pending", row.approval_id))
        if row.state == CallState.DISPATCHED:
            now = await self.lost.elsewhere(session, row, ticket.call.contract)
            if now.state != CallState.DISPATCHED:
                return await self.settled(session, ticket, now)
            return await self.lost.settle(session, ticket, now)
        if own:
            unsure = self._records.restored(session, proposal, row)
        else:
            unsure = await self._not_again(session, ticket, row, refusals.uncertain())
        if row.state == CallState.UNCERTAIN and ticket.call.contract.probe is not None:
            return await self.lost.probe(session, ticket, unsure)
        return unsure

    async def _not_again(self, session: RunSession, ticket: Ticket, row: CallRow, error: CallError) -> Result:
        """Refuse a call for what `row` says of an earlier one. What was erased is not written down anew."""
        asked = ticket.call if row.fingerprint else None
        return await self._refuse(session, ticket.call.proposal, error, decision=ticket.decision, call=asked)

    async def refuse(self, session: RunSession, ticket: Ticket, error: CallError) -> Result:
        """Give an admitted call an error as its result."""
        return await self._refuse(session, ticket.call.proposal, error, ticket)

    async def ask(self, session: RunSession, ticket: Ticket) -> Result:
        """Get a person's decision on a call that has no row in the way."""
        return await self._ask(session, ticket, None)

    async def send(
        self, session: RunSession, ticket: Ticket, grant: AuthorisedCall, over: CallRow | None
    ) -> Result:
        """Run a granted call that has been sent before. `over` is the row whose place it takes."""
        return await self._dispatch(session, ticket, grant, over=over)

    async def _refuse(
        self,
        session: RunSession,
        proposal: Proposal,
        error: CallError,
        ticket: Ticket | None = None,
        verdict: Verdict | None = None,
        decision: Decision | None = None,
        call: ValidCall | None = None,
        seen: PolicyInput | None = None,
        knows: int = -1,
    ) -> Result:
        """Give the error as the call's one result, with its record."""
        if verdict is None and session.standing != {}:
            ended = await self._standing.ended(session, proposal, error, ticket)
            if type(ended) is Result:
                return ended
            verdict = ended if type(ended) is Verdict else None
        result = refused_with(session, proposal, error)
        if ticket is not None:
            decision, seen = ticket.decision, ticket.seen
            result = replace(result, tool=ticket.call.contract.name)
        if verdict is not None:
            note = f"{verdict.edited_note}\n" if verdict.edited_note else ""
            result = replace(result, for_model=note + result.for_model, approval_id=verdict.approval_id)
        if decision is not None:
            result = replace(result, decision=decision)
        asked = call if ticket is None else ticket.call
        return await self._records.refused(
            session, proposal, error, asked, verdict, result, seen, knows=knows
        )

    def context(self, session: RunSession, ticket: Ticket) -> CallContext:
        """Return what the tool may ask of the runtime."""
        proposal = ticket.call.proposal
        return CallContext(
            session.principal, session.run_id, proposal.step_id, proposal.call_id, ticket.key, session.purpose
        )
