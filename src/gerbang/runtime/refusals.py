"""The errors that the runtime itself gives: denied, not approved, in doubt, cancelled."""

from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from gerbang.approval.votes import read_votes
from gerbang.audit.redact import redact
from gerbang.limits import MAX_CALLS_PER_ANSWER, MAX_CODE_TEXT, MAX_TOOL_WORDS
from gerbang.parse.faults import why_of
from gerbang.values import CallError, Decision
from gerbang.values.record import FREE_STATES, RUN_SWITCH, ApprovalRow, CallState, Committed, Limited
from gerbang.values.sentences import said
from gerbang.values.sentences_en import ERRORS

FREE: Final = FREE_STATES
"""Ledger states in which a key may be used again."""


OPEN: Final = FREE_STATES | {CallState.PLANNED}
"""Ledger states in which somebody may take the call up."""

_RATED: Final = frozenset({"TOOL", "ACTOR", "TENANT", "TEAM", "RUN"})
_OUR_REASONS: Final = frozenset({"KILL_SWITCH", "POLICY_ERROR", "POLICY_UNDEFINED", "NO_POLICY"})


def unreadable(code: str, message: str) -> CallError:
    """Return the error for the text of a call that could not be read."""
    why = why_of(code, message)
    return said(
        "parse_error",
        code,
        {"why": why} if why else {"limit": MAX_CALLS_PER_ANSWER},
        message=message[: 2 * MAX_CODE_TEXT],
        recoverable=True,
    )


def denied(decision: Decision) -> CallError:
    """Return the error for a denial by policy; its code is the policy's own first reason."""
    code, reasons = decision.reasons[0], ", ".join(decision.reasons)
    entry = code if code in _OUR_REASONS else "policy_denied"
    return said("policy_denied", code, {"reasons": reasons}, entry=entry)


def not_approved(by: str, reason: str) -> CallError:
    """Return the error for a person's refusal."""
    entry = "APPROVER_REFUSED/why" if reason else "APPROVER_REFUSED"
    return said("approval_denied", "APPROVER_REFUSED", {"by": by, "why": reason}, entry=entry)


def nobody_to_ask() -> CallError:
    """Return the error for an approver that could not ask anybody."""
    return said("approval_denied", "APPROVER_UNAVAILABLE")


def approver_failed() -> CallError:
    """Return the error for an approver that broke: no answer is a no."""
    return said("approval_denied", "APPROVER_ERROR")


def senseless(error: CallError) -> CallError:
    """Return the findings of validators as they may be shown: others wrote them, from what was read."""
    fields = tuple(
        replace(field, message=redact(field.message[: 2 * MAX_CODE_TEXT])[:MAX_CODE_TEXT])
        for field in error.invalid_fields
    )
    message = redact(error.message[: 2 * MAX_TOOL_WORDS])[:MAX_TOOL_WORDS]
    return replace(error, message=message, invalid_fields=fields)


def expired() -> CallError:
    """Return the error for an approval that nobody gave, or used, in time."""
    return said("approval_expired", "APPROVAL_TIMEOUT")


def stale() -> CallError:
    """Return the error for an approval that does not fit what would run now."""
    return said("approval_denied", "APPROVAL_STALE")


def decided_against(approval: ApprovalRow) -> CallError:
    """Return the error for a request that was decided against: by a person, by time, by the runtime."""
    if approval.state != "refused":
        return expired()
    votes = read_votes(approval.votes) or ()
    code = votes[-1].code if votes else ""
    if code in ERRORS:
        return said("approval_denied", code, {"by": approval.decided_by or "Somebody"})
    return not_approved(approval.decided_by or "Somebody", approval.note)


def key_reused() -> CallError:
    """Return the error for a key that belongs to another call."""
    return said("conflict", "KEY_REUSED", recoverable=True)


def erased() -> CallError:
    """Return what stands in the place of a result that was erased: the call has been made."""
    return said("conflict", "RESULT_ERASED", effect="happened")


def uncertain() -> CallError:
    """Return the error for a call whose effect is not known."""
    return said("uncertain_effect", "EFFECT_UNKNOWN", effect="unknown")


def not_again(why: CallError) -> CallError:
    """Return the error for a call whose effect is not known, and that may not be sent again any more."""
    code = {"code": why.error_code}
    return said("uncertain_effect", "EFFECT_UNKNOWN", code, entry="EFFECT_UNKNOWN/refused", effect="unknown")


def cancelled(read: bool, late: bool = False) -> CallError:
    """Return the error for a call that was cancelled while it ran; `late`: since the run's time was up."""
    effect = "none" if read else "unknown"
    code = "DEADLINE" if late else "RUN_CANCELLED"
    return said("cancelled", code, entry=f"{code}/running", effect=effect)


def before_crash(code: str) -> CallError:
    """Return the error for a call that was refused before its process ended, and would not be now."""
    return said("permission_denied", code, entry="REFUSED_BEFORE")


def not_sent(late: bool = False) -> CallError:
    """Return the error for a call that was cancelled before it ran; `late`: since the run's time was up."""
    return said("cancelled", "DEADLINE" if late else "RUN_CANCELLED")


def no_step_left() -> CallError:
    """Return the error for a call of an answer that was to be the run's last."""
    return said("budget_exceeded", "BUDGET_STEPS")


def no_room() -> CallError:
    """Return the error for a call for which, and for whose result, the model's context has no room."""
    return said("budget_exceeded", "BUDGET_CONTEXT")


def killed() -> CallError:
    """Return the error for a call that a kill switch stops."""
    return said("policy_denied", "KILL_SWITCH")


def not_happened() -> CallError:
    """Return the error for a call that a probe has shown not to have happened, and that is not sent again."""
    return said("upstream_error", "NOT_HAPPENED", recoverable=True)


def too_busy(tool: str) -> CallError:
    """Return the error for a call that found no free place among those of its tool that run."""
    about = {"tool": tool}
    return said("rate_limited", "TOO_MANY_AT_ONCE", about, recoverable=True, retry_after_ms=1_000)


def key_needed(tool: str) -> CallError:
    """Return the error for a call that may only be made under an idempotency key."""
    return said("validation_error", "KEY_REQUIRED", {"tool": tool})


def not_committed(committed: Committed) -> CallError:
    """Return the error for an intent that could not go on record: nothing has run."""
    if committed.stopped is not None:
        return not_sent() if committed.stopped.startswith(RUN_SWITCH) else killed()
    if committed.limited is not None:
        return limited(committed.limited)
    if committed.stale is not None:
        return said("approval_denied", "APPROVAL_STALE", entry="APPROVAL_STALE/used")
    return taken_over()


def taken_over() -> CallError:
    """Return the error for a call of a run that another process drives by now: it was not made."""
    return said("cancelled", "RUN_TAKEN_OVER")


def not_cleared(code: str) -> CallError:
    """Return the error for a call that a last look has kept from being sent. `code`: what the look found."""
    if code == "KILL_SWITCH":
        return killed()
    return taken_over() if code == "RUN_TAKEN_OVER" else said("cancelled", "DEADLINE")


def limited(limit: Limited) -> CallError:
    """Return the error for a limit that is reached. The store's key begins with what the limit is by, and
    what it counts.
    """
    by, _, counted = limit.key.partition(":")[0].upper().partition(".")
    wait = UNSET if limit.retry_after_ms is None else limit.retry_after_ms
    if counted == "RATE":
        return said("rate_limited", f"RATE_{by}", recoverable=True, retry_after_ms=wait)
    entry = f"BUDGET_{counted}" if counted in ("COST", "TOKENS") else "BUDGET_CALLS"
    return said("budget_exceeded", entry, recoverable=wait is not UNSET, retry_after_ms=wait)
