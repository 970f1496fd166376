"""The results that the gate itself gives, without a tool: an error, or that a person is still to be asked."""

from gerbang.runtime.present import show_error
from gerbang.runtime.session import RunSession
from gerbang.runtime.ticket import Ticket
from gerbang.runtime.verdict import Verdict
from gerbang.values import CallError, Proposal, Result


def refused_with(session: RunSession, proposal: Proposal, error: CallError) -> Result:
    """Return the error as the result of the proposal."""
    return Result(
        status="error",
        tool=proposal.name,
        run_id=session.run_id,
        step_id=proposal.step_id,
        call_id=proposal.call_id,
        error=error,
        for_model=show_error(error, proposal.name, session.profile, session.texts),
    )


def waiting_for(session: RunSession, ticket: Ticket, verdict: Verdict) -> Result:
    """Return the result of a call that a person is to decide on."""
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
