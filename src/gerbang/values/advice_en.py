"""What to do about each type of error, in English, where the error itself does not say."""

from typing import Final

ADVICE: Final[dict[str, str]] = {
    "parse_error": "Send the whole call again.",
    "unknown_tool": "Use one of the listed tools.",
    "validation_error": "Mend the arguments and send the call again.",
    "semantic_error": "Read first, or choose another value.",
    "permission_denied": "Stop, and tell the user.",
    "policy_denied": "Choose another way that changes less, or tell the user.",
    "approval_denied": "Respect it: do not send the same call again.",
    "approval_expired": "Tell the user; do not send the same call again.",
    "rate_limited": "Wait, or finish with what is known.",
    "budget_exceeded": "Finish with what is known, and say what is missing.",
    "timeout": "Ask for less, or use another tool.",
    "transient_network_error": "Try later, or use another tool.",
    "upstream_error": "Use other arguments or another tool, or tell the user.",
    "conflict": "Read it again before you send another call.",
    "output_validation_error": "Use another tool.",
    "uncertain_effect": "Never repeat it. Tell the user that somebody has to look.",
    "cancelled": "Stop; start nothing more in this run.",
    "internal_error": "Tell the user; another tool may still work.",
}
