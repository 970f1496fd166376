"""The record of a call that got the stored result of an earlier one: a call, though nothing ran."""

from typing import TYPE_CHECKING

import msgspec

from gerbang.audit.chain import PENDING
from gerbang.audit.receipts import hash_of
from gerbang.runtime.bodies import decided, event, refused_body, shown_input
from gerbang.runtime.session import RunSession
from gerbang.values import CallError, Taint
from gerbang.values.event import NewEvent
from gerbang.values.record import CallRow

if TYPE_CHECKING:
    from gerbang.runtime.ticket import Ticket


def given_again(
    session: RunSession,
    ticket: "Ticket",
    row: CallRow,
    error: CallError | None,
    taint: Taint | None,
    at: float,
) -> NewEvent:
    """Return the event. `row` is the call that ran, maybe in another run; `error` and `taint` are of it.

    The arguments are those that were asked for now: what a person made of them then is in the call that ran.
    """
    call, decision, marks = ticket.call, ticket.decision, session.memory.marks
    body = refused_body(
        session.principal,
        call.proposal,
        risk_class=str(call.contract.risk),
        contract=call.contract.digest,
        input_hash=marks.of(call.canonical),
        input_bytes=len(call.canonical),
        coerced=call.coerced,
        policy_decision=decided(decision, decision.decision == "ask" and row.approval_id is not None),
        reasons=decision.reasons,
        rule=decision.rule,
        policy_version=decision.policy_version,
        approval_id=row.approval_id,
        attempt=row.attempt,
        state=row.state,
        status="success" if error is None else "error",
        error_code="" if error is None else error.error_code,
        effect="" if error is None else error.effect,
        started_at=at,
        finished_at=at,
        output_hash=marks.of(row.result) if row.result else "",
        output_bytes=len(row.result),
        taint="" if taint is None else taint.trust_level,
        may_contain_instructions=taint is not None and taint.may_contain_instructions,
        salt_id=marks.name,
        detail_hash=PENDING,
        input_redacted=shown_input(call),
        arguments_hash=hash_of(msgspec.json.decode(call.canonical)),
    )
    return event("call.replayed", session.run_id, body, marks)
