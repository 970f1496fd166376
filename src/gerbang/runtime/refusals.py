"""The errors that the runtime itself gives: denied, not approved, in doubt, cancelled."""

from typing import Final

from gerbang.limits import MAX_CODE_TEXT
from gerbang.values import CallError, Decision
from gerbang.values.record import FREE_STATES, CallState

FREE: Final = FREE_STATES
"""Ledger states in which a key may be used again."""


OPEN: Final = FREE_STATES | {CallState.PLANNED}
"""Ledger states in which somebody may take the call up."""


def unreadable(code: str, message: str) -> CallError:
    """Return the error for the text of a call that could not be read."""
    return CallError(
        "parse_error",
        code,
        message[: 2 * MAX_CODE_TEXT],
        recoverable=True,
        suggested_fix="Send the whole call again, its arguments as one complete JSON object.",
    )


def denied(decision: Decision) -> CallError:
    """Return the error for a denial by policy; its code is the policy's own first reason."""
    return CallError(
        "policy_denied",
        decision.reasons[0],
        f"The policy does not allow this call ({', '.join(decision.reasons)}).",
        suggested_fix="Choose another way that changes less, or tell the user that this is not allowed.",
    )


def not_approved(by: str, reason: str) -> CallError:
    """Return the error for a person's refusal."""
    said = f": {reason}" if reason else "."
    return CallError(
        "approval_denied",
        "APPROVER_REFUSED",
        f"{by} refused this call{said}",
        suggested_fix="Respect it: do not send the same call again. Offer something else.",
    )


def nobody_to_ask() -> CallError:
    """Return the error for an approver that could not ask anybody."""
    return CallError(
        "approval_denied",
        "APPROVER_UNAVAILABLE",
        "This call needs a person's approval, and nobody can be asked here.",
        suggested_fix="Tell the user what you wanted to do and that it needs approval.",
    )


def approver_failed() -> CallError:
    """Return the error for an approver that broke: no answer is a no."""
    return CallError(
        "approval_denied",
        "APPROVER_ERROR",
        "The approval could not be asked for.",
        suggested_fix="Tell the user that the call could not be approved.",
    )


def expired() -> CallError:
    """Return the error for an approval that nobody gave, or used, in time."""
    return CallError(
        "approval_expired",
        "APPROVAL_TIMEOUT",
        "The approval was not given, or not used, in time.",
        suggested_fix="Tell the user; do not send the same call again.",
    )


def stale() -> CallError:
    """Return the error for an approval that does not fit what would run now."""
    return CallError(
        "approval_denied",
        "APPROVAL_STALE",
        "What was approved is not what would run now: the call, its contract or the policy changed.",
        suggested_fix="Tell the user that it has to be approved anew.",
    )


def key_reused() -> CallError:
    """Return the error for a key that belongs to another call."""
    return CallError(
        "conflict",
        "KEY_REUSED",
        "The idempotency key was used before, for a call with other arguments.",
        recoverable=True,
        suggested_fix="Use a new key or step for a new call.",
    )


def uncertain() -> CallError:
    """Return the error for a call whose effect is not known."""
    return CallError(
        "uncertain_effect",
        "EFFECT_UNKNOWN",
        "An earlier attempt of this call may have taken effect; it is not repeated.",
        effect="unknown",
        suggested_fix="Never repeat it. Tell the user that somebody has to look.",
    )


def cancelled(read: bool) -> CallError:
    """Return the error for a call that was cancelled while it ran."""
    return CallError(
        "cancelled",
        "RUN_CANCELLED",
        "The run was cancelled while this call ran.",
        effect="none" if read else "unknown",
    )


def not_sent() -> CallError:
    """Return the error for a call that was cancelled before it ran."""
    return CallError("cancelled", "RUN_CANCELLED", "The run was cancelled before this call was sent.")
