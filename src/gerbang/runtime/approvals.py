"""Getting a person's decision: asked for at once, or left pending in the store until somebody answers."""

import asyncio
import inspect
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gerbang.approval.machine import ApprovalEvent, ApprovalState, advance, binding
from gerbang.audit.redact import redact
from gerbang.errors import UsageError
from gerbang.ledger import machine as ledger
from gerbang.ledger.machine import LedgerEvent
from gerbang.ports import ApprovalAnswer, ApprovalRequest, ApproverLike, Clock, Store
from gerbang.runtime import refusals
from gerbang.runtime.bodies import event, refused_body
from gerbang.runtime.events import ApprovalNeeded
from gerbang.runtime.preview import preview
from gerbang.runtime.session import RunSession
from gerbang.runtime.writing import write
from gerbang.values import CallError
from gerbang.values.canonical import NotCanonical, canonical
from gerbang.values.record import ApprovalRow, Batch, CallRow, CallState
from gerbang.values.text import clean_text

if TYPE_CHECKING:
    from gerbang.runtime.gate import Ticket

_LIFETIME_S = 86_400.0


class Verdict(Struct, frozen=True, gc=False):
    """What came of asking.

    `row` is the call's row that holds the key instead (`taken`); `held` the row that the approval itself
    put there. `arguments` is set when the person edited the call.
    """

    state: Literal["granted", "refused", "pending", "taken"]
    approval_id: str | None = None
    approval: ApprovalRow | None = None
    held: CallRow | None = None
    row: CallRow | None = None
    by: str | None = None
    error: CallError | None = None
    arguments: dict[str, Any] | None = None
    event_id: str = ""
    edited_note: str = ""

    def used(self, at: float) -> list[ApprovalRow]:
        """Return the approval's row after its one use."""
        if self.approval is None:
            return []
        state = advance(self.approval.state, ApprovalEvent.USE)
        return [] if state is None else [replace(self.approval, state=state, decided_at=at)]


class Approvals:
    """Asks through `approver`; without one, requests wait in the store."""

    def __init__(self, store: Store, clock: Clock, approver: ApproverLike | None) -> None:
        self._store = store
        self._clock = clock
        self._approver = approver

    def binding(self, ticket: "Ticket") -> str:
        """Return the digest of what would run now."""
        call = ticket.call
        return binding(
            key=ticket.key,
            arguments=call.canonical,
            contract=call.contract.digest,
            policy_version=ticket.decision.policy_version,
        )

    def approved_binding(self, ticket: "Ticket", verdict: Verdict) -> str | None:
        """Return the digest of what the person approved: what they saw, or what they wrote."""
        approval = verdict.approval
        if approval is None or approval.state != ApprovalState.GRANTED:
            return None
        if verdict.arguments is None:
            return approval.binding
        return binding(
            key=ticket.key,
            arguments=approval.arguments,
            contract=ticket.call.contract.digest,
            policy_version=ticket.decision.policy_version,
        )

    async def obtain(
        self, session: RunSession, ticket: "Ticket", row: CallRow | None, waiting: Callable[[], None] | None
    ) -> Verdict:
        """Return the person's decision on the call. `row` is the planned call of an earlier request."""
        if row is not None and row.approval_id is not None:
            approval = await self._store.approval(row.approval_id)
            if approval is None:
                return Verdict("refused", held=row, error=refusals.stale())
            return await self._earlier(session, ticket, row, approval)
        held, approval, taken = await self._request(session, ticket)
        if taken is not None:
            return Verdict("taken", row=taken)
        return await self._ask_now(session, ticket, held, approval, waiting)

    async def _earlier(
        self, session: RunSession, ticket: "Ticket", held: CallRow, approval: ApprovalRow
    ) -> Verdict:
        """Take up a request that was made before."""
        if approval.state in (ApprovalState.PENDING, ApprovalState.GRANTED) and (
            self._clock.now() >= approval.expires_at
        ):
            await self._settle(session, ticket, approval, ApprovalEvent.TIME_OUT, "")
            return Verdict("refused", approval.approval_id, approval, held, error=refusals.expired())
        if approval.state == ApprovalState.PENDING:
            if self._approver is not None:
                return await self._ask_now(session, ticket, held, approval, None)
            return Verdict("pending", approval.approval_id, approval, held)
        if approval.state == ApprovalState.GRANTED:
            return self._granted(ticket, held, approval)
        refused = approval.state == ApprovalState.REFUSED
        error = (
            refusals.not_approved(approval.decided_by or "Somebody", approval.note)
            if refused
            else refusals.expired()
        )
        return Verdict("refused", approval.approval_id, approval, held, by=approval.decided_by, error=error)

    def _granted(self, ticket: "Ticket", held: CallRow, approval: ApprovalRow) -> Verdict:
        edited = None
        note = ""
        if approval.arguments != ticket.call.canonical:
            edited = msgspec.json.decode(approval.arguments)
            ran = approval.arguments.decode()[:2000]
            note = f"Note: {approval.decided_by} changed the call; it ran with {ran}"
        return Verdict(
            "granted",
            approval.approval_id,
            approval,
            held,
            by=approval.decided_by,
            arguments=edited,
            edited_note=note,
        )

    async def _request(
        self, session: RunSession, ticket: "Ticket"
    ) -> tuple[CallRow, ApprovalRow, CallRow | None]:
        """Make a request durable; the call's key is held by a PLANNED row."""
        call, now = ticket.call, self._clock.now()
        approval_id = f"apr_{secrets.token_hex(10)}"
        text = preview(call.contract, call.arguments, ticket.decision)
        approval = ApprovalRow(
            approval_id=approval_id,
            run_id=session.run_id,
            key=ticket.key,
            tool=call.contract.name,
            tenant=session.principal.tenant,
            state=ApprovalState.PENDING,
            binding=self.binding(ticket),
            preview=text,
            arguments=call.canonical,
            reasons=",".join(ticket.decision.reasons),
            created_at=now,
            expires_at=now + _LIFETIME_S,
        )
        held = CallRow(
            key=ticket.key,
            run_id=session.run_id,
            step_id=str(call.proposal.step_id),
            ordinal=call.proposal.ordinal,
            call_id=call.proposal.call_id,
            tool=call.contract.name,
            state=CallState.PLANNED,
            fingerprint=ticket.fingerprint,
            arguments=call.canonical,
            approval_id=approval_id,
            updated_at=now,
        )
        batch = session.batch()
        batch.claims.append(held)
        batch.approvals.append(approval)
        batch.events.append(self._event("approval.requested", session, ticket, approval, None))
        try:
            committed = await write(self._store, batch)
        except asyncio.CancelledError:
            if await self._store.approval(approval_id) is not None:
                await asyncio.shield(self._cancel(session, ticket, held, approval))
            raise
        if committed.taken is not None:
            batch.claims.clear()
            batch.approvals.clear()
            batch.events.pop()
            session.carry = batch
        return held, approval, committed.taken

    async def _ask_now(
        self,
        session: RunSession,
        ticket: "Ticket",
        held: CallRow,
        approval: ApprovalRow,
        waiting: Callable[[], None] | None,
    ) -> Verdict:
        session.emit(_needed(ticket, approval))
        if self._approver is None:
            return Verdict("pending", approval.approval_id, approval, held)
        if waiting is not None:
            waiting()
        answer = await self._answer(session, ticket, held, approval)
        if isinstance(answer, CallError):
            await self._settle(session, ticket, approval, ApprovalEvent.REFUSE, "", answer.error_code)
            return Verdict("refused", approval.approval_id, approval, held, error=answer)
        by = answer.by.user
        if answer.verdict != "approve":
            error = (
                refusals.nobody_to_ask()
                if answer.verdict == "unavailable"
                else refusals.not_approved(by, answer.reason)
            )
            await self._settle(session, ticket, approval, ApprovalEvent.REFUSE, by, answer.reason)
            return Verdict("refused", approval.approval_id, approval, held, by=by, error=error)
        arguments = approval.arguments
        if answer.arguments is not None:
            try:
                arguments = canonical(answer.arguments)
            except NotCanonical:
                error = refusals.approver_failed()
                await self._settle(session, ticket, approval, ApprovalEvent.REFUSE, by, error.error_code)
                return Verdict("refused", approval.approval_id, approval, held, by=by, error=error)
        granted = await self._settle(
            session, ticket, replace(approval, arguments=arguments), ApprovalEvent.APPROVE, by, answer.reason
        )
        return self._granted(ticket, held, granted)

    async def _answer(
        self, session: RunSession, ticket: "Ticket", held: CallRow, approval: ApprovalRow
    ) -> ApprovalAnswer | CallError:
        call = ticket.call
        request = ApprovalRequest(
            approval_id=approval.approval_id,
            run_id=session.run_id,
            tool=call.contract.name,
            risk=str(call.contract.risk),
            arguments=call.arguments,
            preview=approval.preview,
            reasons=ticket.decision.reasons,
            principal=session.principal,
        )
        ask: Any = getattr(self._approver, "ask", self._approver)
        try:
            said = ask(request)
            if inspect.isawaitable(said):
                said = await said
        except asyncio.CancelledError:
            await asyncio.shield(self._cancel(session, ticket, held, approval))
            raise
        except Exception:  # an approver that fails has not approved
            return refusals.approver_failed()
        if said is True:
            return ApprovalAnswer("approve", session.principal)
        if said is False:
            return ApprovalAnswer("refuse", session.principal)
        return said if isinstance(said, ApprovalAnswer) else refusals.approver_failed()

    async def _settle(
        self,
        session: RunSession,
        ticket: "Ticket",
        approval: ApprovalRow,
        what: ApprovalEvent,
        by: str,
        note: str = "",
    ) -> ApprovalRow:
        decided = decide_row(approval, what, by or None, note, self._clock.now())
        kind = f"approval.{decided.state}"
        await write(
            self._store,
            Batch(approvals=[decided], events=[self._event(kind, session, ticket, decided, by or None)]),
        )
        return decided

    async def _cancel(
        self, session: RunSession, ticket: "Ticket", held: CallRow, approval: ApprovalRow
    ) -> None:
        """Withdraw a request whose run was cancelled; the call's key is free again."""
        now = self._clock.now()
        withdrawn = decide_row(approval, ApprovalEvent.CANCEL, None, "", now)
        state = ledger.advance(CallState.PLANNED, LedgerEvent.CANCEL)
        await write(
            self._store,
            Batch(
                approvals=[withdrawn],
                calls=[replace(held, state=state, updated_at=now)],
                events=[self._event("approval.cancelled", session, ticket, withdrawn, None)],
            ),
        )

    def _event(
        self, kind: str, session: RunSession, ticket: "Ticket", approval: ApprovalRow, by: str | None
    ) -> Any:
        body = refused_body(
            session.principal,
            ticket.call.proposal,
            approval_id=approval.approval_id,
            approver=by,
            risk_class=str(ticket.call.contract.risk),
            reasons=ticket.decision.reasons,
            state=approval.state,
            started_at=approval.created_at,
            finished_at=self._clock.now(),
        )
        return event(kind, session.run_id, body)


def decide_row(
    approval: ApprovalRow, what: ApprovalEvent, by: str | None, note: str, at: float
) -> ApprovalRow:
    """Return the approval after an event. Raises UsageError when it was decided before."""
    state = advance(approval.state, what)
    if state is None:
        raise UsageError(f"Approval {approval.approval_id} is {approval.state} already; nothing was changed.")
    return replace(approval, state=state, decided_by=by, decided_at=at, note=clean_text(redact(note[:500])))


def _needed(ticket: "Ticket", approval: ApprovalRow) -> Any:
    return ApprovalNeeded(
        ticket.call.proposal.call_id, ticket.call.contract.name, approval.approval_id, approval.preview
    )
