"""Getting a person's decision: asked for at once, or left pending in the store until somebody answers."""

import asyncio
import inspect
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from gerbang.approval.machine import ApprovalEvent, ApprovalState, advance, binding
from gerbang.errors import StoreError
from gerbang.ledger import machine as ledger
from gerbang.ledger.machine import LedgerEvent
from gerbang.ports import ApprovalAnswer, ApprovalRequest, ApproverLike, Clock, Store
from gerbang.runtime import refusals
from gerbang.runtime.bodies import event, refused_body, shown_input
from gerbang.runtime.events import ApprovalNeeded
from gerbang.runtime.preview import preview, visible
from gerbang.runtime.requests import arguments_of, decide_row, edit, is_answer, not_json, said_text
from gerbang.runtime.session import RunSession
from gerbang.runtime.writing import write
from gerbang.values import CallError
from gerbang.values.canonical import digest
from gerbang.values.record import ApprovalRow, Batch, CallRow, CallState

if TYPE_CHECKING:
    from gerbang.runtime.ticket import Ticket

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

    def binding(self, session: RunSession, ticket: "Ticket") -> str:
        """Return what an approval is bound to: who asks and what for, the run's taint, and what would run."""
        call = ticket.call
        bound = binding(
            key=ticket.key,
            arguments=call.canonical,
            contract=call.contract.digest,
            policy_version=ticket.decision.policy_version,
        )
        taint = "tainted" if session.memory.tainted else "clean"
        return f"{_asker(session)}.{taint}.{bound}"

    @staticmethod
    def approved_binding(verdict: Verdict) -> str | None:
        """Return the digest of what the person approved: what they saw, or what they wrote."""
        approval = verdict.approval
        granted = approval is not None and approval.state == ApprovalState.GRANTED
        return approval.binding if approval is not None and granted else None

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
        if not approval.binding.startswith(f"{_asker(session)}."):  # somebody else's: theirs to use or lose
            return Verdict("refused", approval.approval_id, error=refusals.stale())
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
        row = await self._store.call(ticket.key)  # the one that we know may be of yesterday
        if row is not None and (row.state != CallState.PLANNED or row.approval_id != held.approval_id):
            return Verdict("taken", row=row)
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
            edited = arguments_of(approval.arguments)
            call = replace(ticket.call, arguments=edited, canonical=approval.arguments)
            note = f"Note: {approval.decided_by} changed the call; it ran with {shown_input(call)}"
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
        text += f"\nAsked for: {visible(session.principal.user)} ({visible(session.principal.tenant)})"
        approval = ApprovalRow(
            approval_id=approval_id,
            run_id=session.run_id,
            key=ticket.key,
            tool=call.contract.name,
            tenant=session.principal.tenant,
            state=ApprovalState.PENDING,
            binding=self.binding(session, ticket),
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
        except StoreError:
            session.give_back(batch)
            raise
        if committed.taken is not None:
            session.give_back(batch)
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
        if session.watched:
            await asyncio.sleep(0)  # whoever watches sees the question before it is asked
        if self._approver is None:
            return Verdict("pending", approval.approval_id, approval, held)
        if waiting is not None:
            waiting()
        answer = await self._answer(session, ticket, held, approval)
        what, by, note, error, decided = self._weigh(ticket, approval, answer)
        settled = await self._settle(session, ticket, decided, what, by, note)
        if settled is None:  # somebody else decided meanwhile, or it expired: that stands
            fresh = await self._store.approval(approval.approval_id)
            return await self._earlier(session, ticket, held, fresh or approval)
        if error is not None:
            return Verdict("refused", approval.approval_id, settled, held, by=by or None, error=error)
        return self._granted(ticket, held, settled)

    def _weigh(
        self, ticket: "Ticket", approval: ApprovalRow, answer: ApprovalAnswer | CallError
    ) -> tuple[ApprovalEvent, str, str, CallError | None, ApprovalRow]:
        """Turn an answer into what happens to the request: event, by whom, note, error, and the row."""
        refuse = ApprovalEvent.REFUSE
        if self._clock.now() >= approval.expires_at:
            return ApprovalEvent.TIME_OUT, "", "", refusals.expired(), approval
        if isinstance(answer, CallError):
            return refuse, "", answer.error_code, answer, approval
        by = answer.by.user
        if answer.verdict == "unavailable":
            return refuse, by, answer.reason, refusals.nobody_to_ask(), approval
        if answer.verdict != "approve":
            reason = said_text(answer.reason)
            return refuse, by, reason, refusals.not_approved(said_text(by), reason), approval
        if answer.arguments is None:
            return ApprovalEvent.APPROVE, by, answer.reason, None, approval
        if not_json(answer.arguments):
            failed = refusals.approver_failed()
            return refuse, by, failed.error_code, failed, approval
        edited = edit(approval, ticket.entry, answer.arguments, ticket.decision.policy_version)
        if isinstance(edited, CallError):
            return refuse, by, edited.error_code, edited, approval
        return ApprovalEvent.APPROVE, by, answer.reason, None, edited

    async def _answer(
        self, session: RunSession, ticket: "Ticket", held: CallRow, approval: ApprovalRow
    ) -> ApprovalAnswer | CallError:
        call = ticket.call
        request = ApprovalRequest(
            approval_id=approval.approval_id,
            run_id=session.run_id,
            tool=call.contract.name,
            risk=str(call.contract.risk),
            arguments=arguments_of(call.canonical),  # a copy: what runs is not theirs to change
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
        return said if is_answer(said) else refusals.approver_failed()

    async def _settle(
        self,
        session: RunSession,
        ticket: "Ticket",
        approval: ApprovalRow,
        what: ApprovalEvent,
        by: str,
        note: str = "",
    ) -> ApprovalRow | None:
        """Record what happened to the request. None when it is no longer in the state that we knew."""
        decided = decide_row(approval, what, by or None, note, self._clock.now())
        kind = f"approval.{decided.state}"
        batch = Batch(
            approvals=[decided],
            events=[self._event(kind, session, ticket, decided, by or None)],
            expects={approval.approval_id: approval.state},
        )
        committed = await write(self._store, batch)
        return decided if committed.stale is None else None

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
                expects={approval.approval_id: approval.state},
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


def _asker(session: RunSession) -> str:
    """Return a digest of who asks and what for: an approval is for them alone."""
    who = session.principal
    return digest(["asker", who.user, who.tenant, who.agent, session.purpose]).removeprefix("sha256:")


def _needed(ticket: "Ticket", approval: ApprovalRow) -> Any:
    return ApprovalNeeded(
        ticket.call.proposal.call_id, ticket.call.contract.name, approval.approval_id, approval.preview
    )
