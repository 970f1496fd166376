"""The street for one call: resolve, check, decide, count, ask, authorise, record, execute, record, present.

Every proposal ends in exactly one terminal record and one Result, whatever fails on the way.
"""

import asyncio
import contextlib
import inspect
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from gerbang.approval.grant import AuthorisedCall, authorise
from gerbang.contract.check import check, unknown_tool
from gerbang.errors import StoreError, UsageError
from gerbang.ledger.keys import Fingerprints, caller_key, natural_key, runtime_key
from gerbang.policy.input import PolicyInput
from gerbang.ports import Clock, Policy, Store
from gerbang.runtime import refusals
from gerbang.runtime.approvals import Approvals, Verdict
from gerbang.runtime.events import Decided
from gerbang.runtime.executor import Execution, Executor
from gerbang.runtime.present import show_error
from gerbang.runtime.records import Records
from gerbang.runtime.requests import arguments_of
from gerbang.runtime.session import RunSession
from gerbang.runtime.ticket import Refusal, Ticket
from gerbang.values import CallContext, CallError, Decision, Outcome, Proposal, Result, ValidCall
from gerbang.values.record import CallRow, CallState, RunState

Waiting = Callable[[], None]
_CLOSING_S = 5.0
_VERDICTS = frozenset({"allow", "ask", "deny"})


class Gate:
    """Takes proposals, gives results. One instance serves many runs at once."""

    def __init__(
        self,
        *,
        policy: Policy,
        store: Store,
        store_key: bytes,
        executor: Executor,
        approvals: Approvals,
        clock: Clock,
    ) -> None:
        self._policy = policy
        self._store = store
        self._fingerprints = Fingerprints(store_key)
        self._executor = executor
        self._approvals = approvals
        self._clock = clock
        self._records = Records(store, clock)
        self._late: set[asyncio.Task[None]] = set()
        self._closing = self._closed = False
        self._owners: dict[str, asyncio.Task[Any] | None] = {}
        self._inflight: dict[str, list[asyncio.Future[None]]] = {}

    async def call(
        self,
        session: RunSession,
        proposal: Proposal,
        *,
        key: str | None = None,
        waiting: Waiting | None = None,
    ) -> Result:
        """Take one proposal to its result. `waiting` is called when the call starts to wait for a person.

        Raises StoreError when a record cannot be written (nothing is executed after that) and
        CancelledError; a cancelled call has its terminal record all the same.
        """
        if self._closing:
            raise UsageError("The gateway is closing; nothing further is run.")
        ticket = self._admit(session, proposal, key)
        if session.watched and ticket.decision is not None:
            session.emit(Decided(proposal.call_id, proposal.name, ticket.decision))
        if isinstance(ticket, Refusal):
            return await self._refuse(session, proposal, ticket.error, decision=ticket.decision)
        refused = self._count(session, ticket)
        if refused is not None:
            return await self._refuse(session, proposal, refused, ticket)
        while ticket.key in self._inflight:
            row = await self._join(ticket)
            if row is not None and row.state not in refusals.OPEN:
                return await self._settled(session, ticket, row)
        self._inflight[ticket.key] = []
        self._owners[ticket.key] = asyncio.current_task()
        try:
            return await self._first(session, ticket, waiting)
        finally:
            del self._owners[ticket.key]
            for waiter in self._inflight.pop(ticket.key):
                if not waiter.done():
                    waiter.set_result(None)

    async def _first(self, session: RunSession, ticket: Ticket, waiting: Waiting | None = None) -> Result:
        """Take a call on whose key nothing else in this process works."""
        if ticket.decision.decision == "ask":
            return await self._ask(session, ticket, waiting)
        context = self._context(session, ticket)
        grant = authorise(ticket.call, ticket.decision, context, approved_binding=None, binding=None)
        return await self._dispatch(session, ticket, grant)

    def decide(self, session: RunSession, proposal: Proposal) -> Decision:
        """Say what would happen to the proposal, and why. Runs and records nothing.

        What an earlier layer than policy refuses is a denial whose reason is that layer's error code.
        """
        admitted = self._admit(session, proposal, None)
        if isinstance(admitted, Ticket) or admitted.decision is not None:
            assert admitted.decision is not None  # noqa: S101 - a ticket always has one
            return admitted.decision
        return Decision("deny", (admitted.error.error_code,), None, self._policy.version)

    def _admit(self, session: RunSession, proposal: Proposal, key: str | None) -> Ticket | Refusal:
        """Resolve, check and decide: the pure part."""
        entry = session.catalogue.find(proposal.name)
        if entry is None:
            return Refusal(proposal.fault or unknown_tool(session.catalogue, proposal.name))
        call = check(entry, proposal)
        if isinstance(call, CallError):
            return Refusal(call)
        decision = self._decide(session, call)
        if decision.decision == "deny":
            return Refusal(refusals.denied(decision), decision)
        contract = call.contract
        tenant = session.principal.tenant
        mark = self._fingerprints.of(contract.name, call.canonical)
        if key is not None:
            name = caller_key(tenant, session.principal.user, key)
        elif contract.natural_key:
            name = natural_key(tenant, contract.name, contract.natural_key, call.arguments)
        else:
            name = runtime_key(tenant, session.run_id, proposal.step_id, proposal.ordinal)
        return Ticket(call, entry, decision, name, mark)

    def _decide(self, session: RunSession, call: ValidCall) -> Decision:
        budget = session.budget
        document = PolicyInput(
            tool=call.contract.name,
            risk=call.contract.risk,
            arguments=call.arguments,
            actor=session.principal,
            purpose=session.purpose,
            intent=session.intent,
            run_id=session.run_id,
            repaired=call.proposal.repaired,
            coerced=bool(call.coerced),
            tainted_run=session.memory.tainted,
            calls_before=budget.calls,
            calls_of_tool=budget.calls_of(call.contract.name),
            time=self._clock.now(),
        )
        try:
            decision = self._policy.decide(document)
        except Exception:  # a policy that fails is a policy that says no
            return Decision("deny", ("POLICY_ERROR",), None, self._policy.version)
        given: Any = decision
        if type(given) is Decision and given.decision in _VERDICTS and given.reasons:
            return given
        if inspect.iscoroutine(given):
            given.close()
        return Decision("deny", ("POLICY_ERROR",), None, self._policy.version)

    def _count(self, session: RunSession, ticket: Ticket) -> CallError | None:
        remembered = session.budget.refused(ticket.fingerprint)
        if remembered is not None:
            return remembered
        return session.budget.take(ticket.call.contract.name, ticket.fingerprint, self._clock.monotonic())

    async def _ask(self, session: RunSession, ticket: Ticket, waiting: Waiting | None) -> Result:
        """Get a person's decision: from an earlier grant, by asking now, or leave the call pending."""
        row = await self._store.call(ticket.key)
        if row is not None and row.state in refusals.FREE:
            row = None
        if row is not None and (row.state != CallState.PLANNED or row.fingerprint != ticket.fingerprint):
            return await self._settled(session, ticket, row)
        verdict = await self._approvals.obtain(session, ticket, row, waiting)
        if verdict.state == "taken" and verdict.row is not None:
            return await self._settled(session, ticket, verdict.row)
        if verdict.state == "pending":
            return self._pending(session, ticket, verdict)
        if verdict.state == "refused":
            assert verdict.error is not None  # noqa: S101 - a refusal always says why
            session.budget.refuse_again(ticket.fingerprint, verdict.error)
            return await self._refuse(session, ticket.call.proposal, verdict.error, ticket, verdict)
        return await self._use(session, ticket, verdict)

    async def _use(self, session: RunSession, ticket: Ticket, verdict: Verdict) -> Result:
        """Run an approved call; an edited one passes every layer again first."""
        if verdict.arguments is not None:
            proposal = replace(ticket.call.proposal, arguments=verdict.arguments, fault=None, repaired=False)
            call = check(ticket.entry, proposal)
            decision = ticket.decision if isinstance(call, CallError) else self._decide(session, call)
            if isinstance(call, CallError) or decision.decision == "deny":
                error = call if isinstance(call, CallError) else refusals.denied(decision)
                return await self._refuse(session, proposal, error, ticket, verdict)
            mark = self._fingerprints.of(call.contract.name, call.canonical)
            ticket = Ticket(call, ticket.entry, replace(decision, decision="ask"), ticket.key, mark)
        else:  # run what was bound, not an object that others held while a person thought
            call = replace(ticket.call, arguments=arguments_of(ticket.call.canonical))
            ticket = Ticket(call, ticket.entry, ticket.decision, ticket.key, ticket.fingerprint)
        bound = self._approvals.binding(session, ticket)
        grant = authorise(
            ticket.call,
            ticket.decision,
            self._context(session, ticket),
            approved_binding=self._approvals.approved_binding(verdict),
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
        """Record the intent, run, record the outcome. `over` is a lost read whose place the call takes."""
        if grant is None:
            return await self._refuse(session, ticket.call.proposal, refusals.stale(), ticket)
        started = self._clock.now()
        attempt = grant.attempt if over is None else over.attempt + 1
        row, taken = await self._records.dispatched(session, ticket, attempt, started, verdict, over)
        if taken is not None:
            return await self._settled(session, ticket, taken)
        cancelled: asyncio.CancelledError | None = None
        lates: list[asyncio.Future[Any]] = []
        try:
            execution = await self._executor.run(
                grant, ticket.entry, self._time_for(session, ticket), lates.append
            )
        except asyncio.CancelledError as caught:  # the outcome is recorded first, then the task ends
            cancelled = caught
            if session.closing is not None:
                session.closing = replace(session.closing, state=RunState.CANCELLED)
            read = ticket.call.contract.risk.is_read
            execution = Execution(Outcome("FAILED" if read else "UNCERTAIN", error=refusals.cancelled(read)))
        result = await self._records.finished(session, ticket, row, execution, started, verdict)
        for late in lates:
            self._watch(session, ticket, row, late)
        if cancelled is not None:
            raise cancelled
        return result

    def _watch(self, session: RunSession, ticket: Ticket, row: CallRow, late: "asyncio.Future[Any]") -> None:
        """Resolve the UNCERTAIN call when its work comes back after all."""

        async def resolve() -> None:
            execution = self._executor.late_result(late, ticket.entry)
            if execution is not None:
                with contextlib.suppress(StoreError):  # closed meanwhile: UNCERTAIN stands
                    await self._records.resolved(session, ticket, row, execution)

        def back(_: object) -> None:
            if self._closed:
                return
            task = asyncio.ensure_future(resolve())
            self._late.add(task)
            task.add_done_callback(self._late.discard)

        late.add_done_callback(back)

    async def aclose(self) -> None:
        """Let running calls finish for a while, then cancel them: each has its record when this returns."""
        self._closing = True
        await self._finish_running(_CLOSING_S)
        for task in set(self._owners.values()):
            if task is not None and task is not asyncio.current_task():
                task.cancel()
        await self._finish_running(_CLOSING_S)
        self._closed = True
        if self._late:
            await asyncio.wait(self._late)

    async def _finish_running(self, seconds: float) -> None:
        own = asyncio.current_task()
        running = [task for task in set(self._owners.values()) if task is not None and task is not own]
        if running:
            await asyncio.wait(running, timeout=seconds)

    def _time_for(self, session: RunSession, ticket: Ticket) -> float:
        """Return the seconds that the call may take: its own time-out, or what the run has left."""
        timeout = ticket.call.contract.timeout_s
        left = session.budget.remaining(self._clock.monotonic())
        return timeout if left is None or timeout <= left else max(0.0, left)

    async def _join(self, ticket: Ticket) -> CallRow | None:
        """Wait for the same call that is in flight in this process, and return its row."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._inflight[ticket.key].append(waiter)
        await waiter
        return await self._store.call(ticket.key)

    async def _settled(self, session: RunSession, ticket: Ticket, row: CallRow) -> Result:
        """Answer a call whose key is taken: by the stored result, or by the error that says why not."""
        proposal = ticket.call.proposal
        if row.fingerprint != ticket.fingerprint:
            return await self._refuse(session, proposal, refusals.key_reused())
        if row.state in (CallState.SUCCEEDED, CallState.RESOLVED_SUCCEEDED):
            return await self._records.replayed(session, ticket, row)
        if row.state in refusals.FREE:
            remembered = session.budget.refused(ticket.fingerprint)
            if remembered is not None:
                return await self._refuse(session, proposal, remembered)
            return await self._first(session, ticket)
        if row.state == CallState.PLANNED:
            return self._pending(session, ticket, Verdict("pending", row.approval_id))
        if row.state == CallState.DISPATCHED and ticket.call.contract.risk.is_read:
            context = self._context(session, ticket)  # whoever ran it is gone, and a read changes nothing
            grant = authorise(ticket.call, ticket.decision, context, approved_binding=None, binding=None)
            return await self._dispatch(session, ticket, grant, over=row)
        return await self._refuse(session, proposal, refusals.uncertain())

    async def _refuse(
        self,
        session: RunSession,
        proposal: Proposal,
        error: CallError,
        ticket: Ticket | None = None,
        verdict: Verdict | None = None,
        decision: Decision | None = None,
    ) -> Result:
        """Give the error as the call's one result, with its record."""
        decision = decision if ticket is None else ticket.decision
        result = Result(
            status="error",
            tool=proposal.name if ticket is None else ticket.call.contract.name,
            run_id=session.run_id,
            step_id=proposal.step_id,
            call_id=proposal.call_id,
            error=error,
            for_model=show_error(error, proposal.name, session.profile, session.texts),
            approval_id=None if verdict is None else verdict.approval_id,
            decision=decision,
        )
        return await self._records.refused(session, proposal, error, ticket, verdict, result)

    def _pending(self, session: RunSession, ticket: Ticket, verdict: Verdict) -> Result:
        proposal = ticket.call.proposal
        return Result(
            status="pending",
            tool=ticket.call.contract.name,
            run_id=session.run_id,
            step_id=proposal.step_id,
            call_id=proposal.call_id,
            event_id=verdict.event_id,
            for_model=session.texts.pending_result,
            approval_id=verdict.approval_id,
            decision=ticket.decision,
        )

    def _context(self, session: RunSession, ticket: Ticket) -> CallContext:
        proposal = ticket.call.proposal
        return CallContext(
            principal=session.principal,
            run_id=session.run_id,
            step_id=proposal.step_id,
            call_id=proposal.call_id,
            idempotency_key=ticket.key,
            purpose=session.purpose,
        )


def held_result(session: RunSession, proposal: Proposal) -> Result:
    """Return the result of a call that waits behind another one's approval."""
    return Result(
        status="pending",
        tool=proposal.name,
        run_id=session.run_id,
        step_id=proposal.step_id,
        call_id=proposal.call_id,
        for_model=session.texts.pending_result,
    )
