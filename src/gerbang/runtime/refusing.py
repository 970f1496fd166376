"""The event of a proposal that is not run: what was asked for, what was decided, and why not."""

from typing import TYPE_CHECKING, Any

import msgspec

from gerbang.audit.chain import PENDING
from gerbang.audit.receipts import hash_of
from gerbang.ledger.keys import denied_key
from gerbang.ledger.machine import LedgerEvent, advance
from gerbang.policy.input import PolicyInput
from gerbang.runtime.bodies import CallEvent, event, refused_body, shown_input, step_name
from gerbang.runtime.intent import basis
from gerbang.runtime.session import RunSession
from gerbang.runtime.stored import stored_error
from gerbang.values import CallError, Decision, Principal, Proposal, Result, ValidCall
from gerbang.values.event import NewEvent
from gerbang.values.record import CallRow, CallState

if TYPE_CHECKING:
    from gerbang.runtime.verdict import Verdict

_REFUSED = advance(CallState.PLANNED, LedgerEvent.REFUSE)


def denies(result: Result) -> bool:
    """Tell whether it was policy that said no."""
    return result.decision is not None and result.decision.decision == "deny"


def denied_row(session: RunSession, call: ValidCall, seen: PolicyInput, result: Result, at: float) -> CallRow:
    """Return the row of a call that policy denied: what was asked for, and what was decided on.

    It holds a key of its own, by its place and its arguments: the same call may be denied again, another may
    be made in its place. The arguments are in the key as a commitment, which nobody can guess from once the
    run's salt is erased.
    """
    proposal, memory = call.proposal, session.memory
    place = (session.principal.tenant, session.run_id, proposal.step_id, proposal.ordinal, proposal.call_id)
    return CallRow(
        key=denied_key(*place, memory.marks.of(call.canonical)),
        run_id=session.run_id,
        step_id=step_name(proposal.step_id),
        ordinal=proposal.ordinal,
        call_id=proposal.call_id,
        tool=call.contract.name,
        state=_REFUSED,
        fingerprint="",
        arguments=call.canonical,
        result=b"" if result.error is None else stored_error(result.error),
        for_model=result.for_model,
        updated_at=at,
        policy_input=basis(session, seen),
    )


def left_body(
    principal: Principal,
    proposal: Proposal,
    row: CallRow,
    error: CallError,
    at: float,
    reasons: tuple[str, ...] = (),
) -> CallEvent:
    """Return the body of the event that ends a call whose outcome nobody waits for; `row` is that end."""
    return refused_body(
        principal,
        proposal,
        state=row.state,
        attempt=row.attempt,
        status="error",
        error_code=error.error_code,
        effect=error.effect,
        finished_at=at,
        reasons=reasons,
    )


def cut_off(principal: Principal, proposal: Proposal, error: CallError, at: float) -> NewEvent:
    """Return the event of a proposal that was never sent, because its run has ended."""
    body = refused_body(
        principal,
        proposal,
        state=CallState.CANCELLED,
        status="error",
        error_code=error.error_code,
        effect="none",
        finished_at=at,
    )
    return event("call.refused", proposal.run_id, body)


def refusal(
    session: RunSession,
    proposal: Proposal,
    error: CallError,
    call: ValidCall | None,
    decision: Decision | None,
    verdict: "Verdict | None",
    at: float,
) -> NewEvent:
    """Return the event. `call` is what was asked for, where it fits its contract."""
    facts: dict[str, Any] = {
        "state": str(CallState.REFUSED),
        "status": "error",
        "error_code": error.error_code,
        "effect": error.effect,
        "started_at": at,
        "finished_at": at,
        "policy_decision": "denied_by_policy" if error.error_type == "policy_denied" else "refused",
    }
    entry = session.catalogue.find(proposal.name) if call is None else None
    if entry is not None:  # what was asked for does not fit its contract; whose it is stands all the same
        facts["risk_class"] = str(entry.contract.risk)
    if call is not None:
        facts |= {
            "risk_class": str(call.contract.risk),
            "contract": call.contract.digest,
            "input_hash": session.memory.marks.of(call.canonical),
            "input_bytes": len(call.canonical),
            "salt_id": session.memory.marks.name,
            "detail_hash": PENDING,
            "input_redacted": shown_input(call),
            "arguments_hash": hash_of(msgspec.json.decode(call.canonical)),
        }
    if decision is not None:
        facts |= {
            "reasons": decision.reasons,
            "rule": decision.rule,
            "policy_version": decision.policy_version,
        }
    if verdict is not None:
        facts |= {"approval_id": verdict.approval_id, "approver": verdict.by}
    body = refused_body(session.principal, proposal, **facts)
    return event("call.refused", session.run_id, body, None if call is None else session.memory.marks)
