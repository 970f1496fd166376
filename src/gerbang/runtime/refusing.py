"""The event of a proposal that is not run: what was asked for, what was decided, and why not."""

from typing import TYPE_CHECKING, Any

from gerbang.audit.chain import PENDING
from gerbang.audit.receipts import hash_of
from gerbang.runtime.bodies import event, refused_body, shown_input
from gerbang.runtime.session import RunSession
from gerbang.values import CallError, Decision, Proposal, ValidCall
from gerbang.values.record import CallState, NewEvent

if TYPE_CHECKING:
    from gerbang.runtime.verdict import Verdict


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
        "finished_at": at,
        "policy_decision": "denied_by_policy" if error.error_type == "policy_denied" else "refused",
    }
    if call is not None:
        facts |= {
            "risk_class": str(call.contract.risk),
            "contract": call.contract.digest,
            "input_hash": session.memory.marks.of(call.canonical),
            "input_bytes": len(call.canonical),
            "salt_id": session.memory.marks.name,
            "detail_hash": PENDING,
            "input_redacted": shown_input(call),
            "arguments_hash": hash_of(call.arguments),
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
