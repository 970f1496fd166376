"""Getting a person's decision: asked for at once, or left pending in the store until somebody answers."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from gerbang.approval.machine import ApprovalEvent, ApprovalState
from gerbang.approval.seal import is_genuine, sealed
from gerbang.approval.terms import Terms, asker, difference, is_same, written
from gerbang.approval.votes import Duties
from gerbang.errors import StoreError
from gerbang.ledger import machine as ledger
from gerbang.ledger.machine import LedgerEvent
from gerbang.ports import ApprovalAnswer, ApproverLike, Clock, Store, UnreadableFile
from gerbang.runtime import refusals
from gerbang.runtime.approval_record import approval_event, notified
from gerbang.runtime.ballot import Ballot, ended, opened
from gerbang.runtime.behind import Behind
from gerbang.runtime.bodies import step_name, with_detail
from gerbang.runtime.duties import duties_of
from gerbang.runtime.events import ApprovalNeeded
from gerbang.runtime.intent import call_row
from gerbang.runtime.named_files import NamedFiles
from gerbang.runtime.objections import SOMEBODY_ELSE, forged, no_file, objected, stale
from gerbang.runtime.outbox import Outbox
from gerbang.runtime.patience import Patience
from gerbang.runtime.preview import preview, visible
from gerbang.runtime.questions import Questions
from gerbang.runtime.requests import Edited, edit, not_json, said_text
from gerbang.runtime.session import RunSession
from gerbang.runtime.verdict import Verdict, granted
from gerbang.runtime.writing import TakenOver, write
from gerbang.values import CallError, Principal, ValidCall
from gerbang.values.record import ApprovalRow, Batch, CallRow, CallState, RunState

if TYPE_CHECKING:
    from gerbang.runtime.ticket import Ticket

LASTS_S: Final = 86_400.0
"""How long a request and its grant stand when nothing says otherwise, in seconds."""
_MOST_ANSWERS: Final = 4
_LOOK_S: Final = 1.0


class Approvals:
    """Asks through `approver`; without one, requests wait in the store."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        approver: ApproverLike | None,
        *,
        lasts_s: float = LASTS_S,
        files: NamedFiles | None = None,
        outbox: Outbox | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._questions = Questions(approver, outbox)
        self._lasts_s = lasts_s
        self._files = files or NamedFiles(None, {})
        self._key = b""
        self.render: Callable[[ValidCall], Awaitable[str | None]] | None = None

    async def binding(self, session: RunSession, ticket: "Ticket", then: Terms | None = None) -> str:
        """Return what an approval would be bound to now, asked for under `then`. Raises UnreadableFile."""
        return (await self._terms(session, ticket, then)).bind(ticket.key, ticket.call.canonical)

    async def bound(self, session: RunSession, ticket: "Ticket", verdict: Verdict) -> str | CallError:
        """Return the binding of what would run now, or why the grant cannot be used for that."""
        ballot = None if verdict.approval is None else opened(verdict.approval)
        if ballot is None:
            return stale("version")
        try:
            now = await self._terms(session, ticket, ballot.terms)
        except UnreadableFile as file:
            return no_file(str(file.args[0]))
        changed = difference(ballot.terms, now)
        if changed is not None:
            return stale(*changed)
        duties = duties_of(ticket.decision.obligations)
        code = ballot.lacks(duties)
        if code:
            return objected(code, verdict.by or "", duties)
        return now.bind(ticket.key, ticket.call.canonical)

    def told(self, session: RunSession, ticket: "Ticket", duties: Duties) -> None:
        """Have it recorded, with the call, who is to be told of it; tell the channel that can."""
        body = notified(session, ticket, duties, self._clock.now())
        batch = session.batch()
        batch.events.append(with_detail("policy.notified", session.run_id, body, session.memory.marks))
        said = replace(body, detail_hash="")
        batch.messages = (*batch.messages, *self._questions.news(said))
        session.carry = batch
        self._questions.tell(said)

    async def obtain(
        self, session: RunSession, ticket: "Ticket", row: CallRow | None, waiting: Callable[[], None] | None
    ) -> Verdict:
        """Return the person's decision on the call. `row` is the planned call of an earlier request."""
        self._key = self._key or await self._store.secret_key()
        if row is not None and row.approval_id is not None:
            approval = await self._store.approval(row.approval_id)
            if approval is None:
                return Verdict("refused", held=row, error=forged())
            return await self._earlier(session, ticket, row, approval)
        try:
            terms = await self._terms(session, ticket)
        except UnreadableFile as file:
            return Verdict("refused", error=no_file(str(file.args[0])))
        held, approval, unasked = await self._request(session, ticket, terms)
        if unasked is not None:
            return unasked
        return await self._ask_now(session, ticket, held, approval, waiting)

    async def _terms(self, session: RunSession, ticket: "Ticket", then: Terms | None = None) -> Terms:
        """Return the circumstances of a call as they are now, of one that was asked for under `then`."""
        call, decision = ticket.call, ticket.decision
        return Terms(
            asker=asker(session.principal, session.purpose),
            run="" if session.nameless else session.run_id,
            contract=call.contract.digest,
            policy_version=decision.policy_version,
            tainted=session.memory.tainted_since(None if then is None else then.tainted, call.proposal),
            files=await self._files.of(call),
            duties=decision.obligations,
            masked=tuple(sorted(call.contract.sensitive)),
            fingerprint=ticket.fingerprint,
            risk=str(call.contract.risk),
            step_id=step_name(call.proposal.step_id),
            call_id=call.proposal.call_id,
        )

    async def _earlier(
        self, session: RunSession, ticket: "Ticket", held: CallRow, approval: ApprovalRow
    ) -> Verdict:
        """Take up a request that was made before."""
        ballot, named = opened(approval), approval.approval_id
        if ballot is None:
            return Verdict("refused", named, held=held, error=stale("version"))
        if not is_genuine(approval, self._key) or approval.key != ticket.key:
            return Verdict("refused", named, held=held, error=forged())
        terms = ballot.terms
        if not is_same(terms.asker, asker(session.principal, session.purpose)):
            return Verdict("refused", named, error=stale("asker"))  # theirs to use or lose
        await self._inherit(session, held, terms)
        if approval.state in (ApprovalState.PENDING, ApprovalState.GRANTED) and (
            self._clock.now() >= approval.expires_at
        ):
            await self._settle(approval, ended(approval, ApprovalEvent.TIME_OUT, "", self._clock.now()))
            return Verdict("refused", named, approval, held, error=refusals.expired())
        if terms.run != ("" if session.nameless else session.run_id):
            if approval.state == ApprovalState.PENDING:
                return Verdict("pending", named, approval, held)
            return Verdict("refused", named, error=stale("run"))
        if approval.state == ApprovalState.PENDING:
            if self._questions.asked_at_once:
                return await self._ask_now(session, ticket, held, approval, None)
            return Verdict("pending", named, approval, held)
        if approval.state == ApprovalState.GRANTED:
            return granted(ballot, ticket, held, session.lang, self._key)
        if approval.state == ApprovalState.CANCELLED:  # withdrawn while somebody was being asked
            return Verdict("refused", named, error=refusals.not_sent())
        row = await self._store.call(ticket.key)  # the one that we know may be of yesterday
        if row is not None and (row.state != CallState.PLANNED or row.approval_id != held.approval_id):
            return Verdict("taken", row=row)
        return Verdict(
            "refused", named, approval, held, by=approval.decided_by, error=refusals.decided_against(approval)
        )

    async def _inherit(self, session: RunSession, held: CallRow, terms: Terms) -> None:
        """Note the run of one call, without a name, whose request is taken up from another such run: it ends
        with the call, for nobody comes back to it.
        """
        if session.nameless and terms.run == "" and held.run_id != session.run_id:
            run = await self._store.run(held.run_id)
            if run is not None and run.state == RunState.PENDING_APPROVAL:
                session.inherited = run

    async def dropped(self, row: CallRow) -> Verdict | None:
        """Return what ends the request of a call that waits, along with the refusal of that call."""
        self._key = self._key or await self._store.secret_key()
        approval = None if row.approval_id is None else await self._store.approval(row.approval_id)
        if approval is not None and not is_genuine(approval, self._key):
            approval = None
        seal = partial(sealed, key=self._key)
        return Verdict("dropped", row.approval_id, approval, row, seal=seal)

    async def _request(
        self, session: RunSession, ticket: "Ticket", terms: Terms
    ) -> tuple[CallRow, ApprovalRow, Verdict | None]:
        """Make a request durable; the call's key is held by a PLANNED row. A verdict: it was not written."""
        call, now = ticket.call, self._clock.now()
        duties = duties_of(terms.duties)
        effects = call.contract.side_effects
        asked_s = (duties.lasts_s, None if effects is None else effects.approval_s)
        lasts_s = min([self._lasts_s, *(seconds for seconds in asked_s if seconds is not None)])
        text = preview(call.contract, call.arguments, ticket.decision)
        own = None if self.render is None or duties.redact else await self.render(call)
        text += "" if own is None else f"\nIt would: {visible(own)}"
        text += f"\nAsked for: {visible(session.principal.user)} ({visible(session.principal.tenant)})"
        approval = ApprovalRow(
            approval_id=f"apr_{secrets.token_hex(10)}",
            run_id=session.run_id,
            key=ticket.key,
            tool=call.contract.name,
            tenant=session.principal.tenant,
            state=ApprovalState.PENDING,
            binding=terms.bind(ticket.key, call.canonical),
            preview=text,
            arguments=call.canonical,
            reasons=",".join(ticket.decision.reasons),
            created_at=now,
            expires_at=now + lasts_s,
            terms=written(terms),
        )
        approval = sealed(approval, self._key)
        held = call_row(session, ticket, CallState.PLANNED, 0, now, approval.approval_id)
        batch = session.batch()
        batch.claims = (*batch.claims, held)
        batch.knows = session.memory.knows
        batch.approvals = (*batch.approvals, approval)
        asked = Ballot(approval, terms, ())
        batch.events.append(approval_event("requested", asked, now))
        letter = self._questions.letter(session, asked)
        batch.messages = batch.messages if letter is None else (*batch.messages, letter)
        batch.lease, batch.stops = session.lease, (session.switch,)  # nobody is asked for a run that is ended
        try:
            committed = await write(self._store, batch)
        except asyncio.CancelledError:
            if await self._store.approval(approval.approval_id) is None:
                session.give_back(batch, letter)
            else:
                await asyncio.shield(self._cancel(session, held, approval))
            raise
        except StoreError:
            session.give_back(batch, letter)
            raise
        if not committed.written:
            session.give_back(batch, letter)
        if committed.fenced or committed.behind:
            raise TakenOver if committed.fenced else Behind
        if committed.stopped is not None:
            session.ask_to_end()
            return held, approval, Verdict("refused", error=refusals.not_committed(committed))
        return held, approval, None if committed.taken is None else Verdict("taken", row=committed.taken)

    async def _ask_now(
        self,
        session: RunSession,
        ticket: "Ticket",
        held: CallRow,
        approval: ApprovalRow,
        waiting: Callable[[], None] | None,
    ) -> Verdict:
        needed = ApprovalNeeded(
            ticket.call.proposal.call_id, approval.tool, approval.approval_id, approval.preview
        )
        session.emit(needed)
        if session.watched:
            await asyncio.sleep(0)  # whoever watches sees the question before it is asked
        patience = Patience(waiting if self._questions.asked_at_once else None)
        for _ in range(_MOST_ANSWERS):
            ballot = opened(approval)
            assert ballot is not None  # noqa: S101 - we made it, or have opened it before
            try:
                with patience:
                    answered = await self._answer(session, ballot)
            except asyncio.CancelledError:
                await asyncio.shield(self._cancel(session, held, approval))
                raise
            if answered is None:
                fresh = await self._store.approval(approval.approval_id)
                return await self._earlier(session, ticket, held, fresh or approval)
            answer, named = answered
            after, by, error = self._weigh(ticket, ballot, answer, named)
            if after is None:
                return await self._waits(session, approval, held)
            settled = await self._settle(approval, after, by, "" if error is None else error.error_code)
            if settled is None:  # somebody else decided meanwhile, or it expired: that stands
                fresh = await self._store.approval(approval.approval_id)
                return await self._earlier(session, ticket, held, fresh or approval)
            user = None if by is None else by.user
            if error is not None:
                return Verdict("refused", approval.approval_id, settled, held, by=user, error=error)
            approval = settled
            if approval.state == ApprovalState.GRANTED:
                final = opened(approval)
                assert final is not None  # noqa: S101 - as above
                return granted(final, ticket, held, session.lang, self._key)
        return await self._waits(session, approval, held)

    async def _answer(
        self, session: RunSession, ballot: Ballot
    ) -> tuple[ApprovalAnswer | CallError, bool] | None:
        """Ask, and look meanwhile whether somebody decides elsewhere: None then, the question is dropped."""
        left = ballot.row.expires_at - self._clock.now()
        if not self._questions.asked_at_once:
            return await self._questions.ask(session, ballot, left)
        asking = asyncio.ensure_future(self._questions.ask(session, ballot, left))
        try:
            while not (await asyncio.wait((asking,), timeout=_LOOK_S))[0]:
                fresh = await self._store.approval(ballot.row.approval_id)
                if fresh is not None and fresh.seal != ballot.row.seal:
                    return None
            return asking.result()
        finally:
            if not asking.done():
                asking.cancel()
                await asyncio.wait((asking,))

    async def _waits(self, session: RunSession, approval: ApprovalRow, held: CallRow) -> Verdict:
        """Leave the request to whoever decides it later. A run of one call then waits with it."""
        if session.closing is not None:
            run = replace(session.closing, state=RunState.PENDING_APPROVAL, updated_at=self._clock.now())
            await write(self._store, Batch(runs=[run]))
        return Verdict("pending", approval.approval_id, approval, held)

    def _weigh(
        self, ticket: "Ticket", ballot: Ballot, answer: ApprovalAnswer | CallError, named: bool
    ) -> tuple[ApprovalRow | None, Principal | None, CallError | None]:
        """Turn an answer into the request after it, by whom, and the error. No row: it goes on waiting."""
        row, now = ballot.row, self._clock.now()
        late = isinstance(answer, CallError) and answer.error_type == "approval_expired"
        if late or now >= row.expires_at:
            return ended(row, ApprovalEvent.TIME_OUT, "", now), None, refusals.expired()
        if isinstance(answer, CallError):
            return ballot.refuse(None, answer.error_code, now, answer.error_code), None, answer
        by, reason = answer.by, said_text(answer.reason)
        if answer.verdict == "wait":
            return None, None, None
        if answer.verdict == "unavailable":
            error = refusals.nobody_to_ask()
            return ballot.refuse(by, reason, now, error.error_code), by, error
        if answer.verdict != "approve":
            return ballot.refuse(by, reason, now), by, refusals.not_approved(said_text(by.user), reason)
        edited: Edited | CallError | None = None
        if answer.arguments is not None:
            if not_json(answer.arguments):
                edited = refusals.approver_failed()
            else:
                edited = edit(row, ballot.terms, ticket.entry, answer.arguments)
        if isinstance(edited, CallError):
            return ballot.refuse(by, edited.error_code, now, edited.error_code), by, edited
        after = ballot.agree(by, reason, now, named=named, edited=edited)
        if not isinstance(after, CallError):
            return after, by, None
        if after.error_code in SOMEBODY_ELSE and ballot.votes:
            return None, None, None
        return ballot.refuse(by, after.error_code, now, after.error_code), by, after

    async def _settle(
        self, before: ApprovalRow, after: ApprovalRow, by: Principal | None = None, code: str = ""
    ) -> ApprovalRow | None:
        """Record what happened to the request. None when it is no longer as we knew it."""
        after = sealed(after, self._key)
        ballot = opened(after)
        assert ballot is not None  # noqa: S101 - it was opened before
        kind = "voted" if after.state == ApprovalState.PENDING else str(after.state)
        batch = Batch(
            approvals=[after],
            events=[approval_event(kind, ballot, self._clock.now(), by, code=code)],
            expects={before.approval_id: before.seal},
        )
        if ballot.duties.notify:
            batch.messages = (*batch.messages, *self._questions.news(batch.events[0]))
        committed = await write(self._store, batch)
        if committed.stale is not None:
            return None
        if ballot.duties.notify:
            self._questions.tell(batch.events[0])
        return after

    async def _cancel(self, session: RunSession, held: CallRow, approval: ApprovalRow) -> None:
        """Withdraw a request whose run was cancelled, and is ours; the call's key is free again."""
        batch = withdrawal(approval, held, self._key, self._clock.now(), "the run was cancelled")
        await write(self._store, replace(batch, lease=session.lease))


def withdrawal(
    approval: ApprovalRow, held: CallRow | None, key: bytes, now: float, note: str, by: Any = None
) -> Batch:
    """Return what withdraws a request: its row, its call's row, which gives the key free, and the event.

    Raises UsageError when it is decided already.
    """
    after = sealed(ended(approval, ApprovalEvent.CANCEL, note, now), key)
    ballot = opened(after)
    batch = Batch(approvals=[after], expects={approval.approval_id: approval.seal or approval.state})
    if ballot is not None:
        batch.events.append(approval_event("cancelled", ballot, now, by))
    if held is not None and held.approval_id == approval.approval_id and held.state == CallState.PLANNED:
        state = ledger.advance(CallState.PLANNED, LedgerEvent.CANCEL)
        batch.calls = (*batch.calls, replace(held, state=state, updated_at=now))
    return batch
