"""The event of a call that has ended: what the chain says of its outcome."""

from typing import TYPE_CHECKING

from gerbang.runtime.bodies import CallEvent
from gerbang.runtime.session import RunSession
from gerbang.values import Outcome, Taint
from gerbang.values.record import CallRow

if TYPE_CHECKING:
    from gerbang.runtime.ticket import Ticket


def ended(
    session: RunSession,
    ticket: "Ticket",
    done: CallRow,
    outcome: Outcome,
    taint: Taint | None,
    started: float,
    *,
    has_output: bool,
) -> CallEvent:
    """Return what the chain says of a call that has ended as its row `done` tells."""
    contract, error, marks = ticket.call.contract, outcome.error, session.memory.marks
    return CallEvent(
        session.run_id,
        done.step_id,
        session.principal.agent,
        contract.name,
        done.call_id,
        risk_class=contract.risk,
        attempt=done.attempt,
        state=done.state,
        status="success" if error is None else "error",
        error_code="" if error is None else error.error_code,
        effect="" if error is None else error.effect,
        approval_id=done.approval_id,
        started_at=started,
        finished_at=done.updated_at,
        latency_ms=round((done.updated_at - started) * 1000, 3),
        output_hash=marks.of(done.result) if has_output else "",
        salt_id=marks.name,
        output_bytes=len(done.result),
        cost_units=contract.cost_units,
        taint="" if taint is None else taint.trust_level,
        may_contain_instructions=taint is not None and taint.may_contain_instructions,
    )
