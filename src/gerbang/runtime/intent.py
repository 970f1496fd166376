"""A call that is about to be sent, as its row and its event: who asks for what, what was decided on what."""

from typing import TYPE_CHECKING, Any, Final

from gerbang.audit.chain import PENDING
from gerbang.ledger.machine import LedgerEvent, advance
from gerbang.policy.basis import facts_text, kept
from gerbang.policy.input import PolicyInput
from gerbang.runtime.bodies import CallEvent, decided, shown_input, step_name, with_detail
from gerbang.runtime.session import RunSession
from gerbang.values.record import CallRow, CallState, NewEvent

if TYPE_CHECKING:
    from gerbang.runtime.ticket import Ticket
    from gerbang.runtime.verdict import Verdict

DISPATCHED: Final = advance(CallState.PLANNED, LedgerEvent.DISPATCH)
"""The state of a row that says so; looked up once, for it is taken for every call."""
_NO_FACTS: Final[dict[str, Any]] = {}


def intent(
    kind: str, session: RunSession, ticket: "Ticket", row: CallRow, verdict: "Verdict | None", process: str
) -> NewEvent:
    """Return the event of that kind. `process` names the process that sends."""
    call, decision, who, memory = ticket.call, ticket.decision, session.principal, session.memory
    body = CallEvent(
        session.run_id,
        row.step_id,
        who.agent,
        call.contract.name,
        row.call_id,
        risk_class=call.contract.risk,
        contract=call.contract.digest,
        input_hash=memory.marks.of(call.canonical),
        input_bytes=len(call.canonical),
        coerced=call.coerced,
        repaired=call.proposal.repaired,
        policy_decision=decided(decision, verdict is not None),
        reasons=decision.reasons,
        rule=decision.rule,
        policy_version=decision.policy_version,
        approval_id=row.approval_id,
        approver=None if verdict is None else verdict.by,
        attempt=row.attempt,
        state=row.state,
        started_at=row.updated_at,
        process=process,
        roles=session.roles,
        scopes=session.scopes,
        user=who.user,
        team=who.team,
        delegated_by=who.delegated_by,
        tainted=memory.tainted,
        salt_id=memory.marks.name,
        detail_hash=PENDING,
        input_redacted=shown_input(call),
        facts=_NO_FACTS if ticket.found is None else ticket.found.facts,
        reads=() if ticket.found is None else tuple(ticket.found.records),
    )
    return with_detail(kind, session.run_id, body, memory.marks)


def dispatched_row(
    session: RunSession, ticket: "Ticket", attempt: int, at: float, approval_id: str | None
) -> CallRow:
    """Return the row of a call that is about to run."""
    call, proposal = ticket.call, ticket.call.proposal
    return CallRow(
        key=ticket.key,
        run_id=session.run_id,
        step_id=step_name(proposal.step_id),
        ordinal=proposal.ordinal,
        call_id=proposal.call_id,
        tool=call.contract.name,
        state=DISPATCHED,
        fingerprint=ticket.fingerprint,
        arguments=call.canonical,
        attempt=attempt,
        approval_id=approval_id,
        updated_at=at,
        policy_input=b"" if ticket.seen is None else basis(session, ticket.seen),
    )


def basis(session: RunSession, seen: PolicyInput) -> bytes:
    """Return what is kept of what policy decided on; the tool's facts only once a run."""
    facts = seen.tool_facts
    told = None if facts.contract in session.memory.described else facts_text(facts)
    return kept(seen, session.roles, session.scopes, told)
