"""The retry matrix: what may follow an attempt that did not succeed, by class, evidence and contract."""

from typing import Final, Literal

from gerbang.values import CallError, Contract, RiskClass

Fate = Literal["not_sent", "unknown", "rate_limited", "refused"]
"""What is known of an attempt: never sent, nobody knows, turned away for now, or turned away for good."""

Next = Literal["retry", "probe", "uncertain", "person", "ask", "no"]
"""`retry`: send again. `probe`: find out first. `uncertain`: leave it so. `person`: leave it so, and tell
somebody at once. `ask`: a person decides whether to send it again. `no`: it has failed."""

_GRAVE: Final = frozenset({RiskClass.EXTERNAL_COMMUNICATION, RiskClass.TRANSACTIONAL, RiskClass.DESTRUCTIVE})
_SAFE: Final = frozenset({RiskClass.COMPUTE, RiskClass.READ_INTERNAL, RiskClass.READ_EXTERNAL})
_NO_REPEAT: Final = frozenset({"validation_error", "permission_denied"})


def fate_of(error: CallError, contract: Contract) -> Fate:
    """Return what an attempt's error is evidence of.

    `effect: none` of a network error means that the request was never sent: connecting failed, or writing
    never began. Of everything else it means that the target refused.
    """
    if error.error_type == "rate_limited":
        return "rate_limited"
    if error.effect == "unknown":
        return "unknown"
    if error.error_type == "transient_network_error":
        return "not_sent"
    if contract.risk in _SAFE and (
        error.error_type == "timeout" or (error.error_type == "upstream_error" and error.recoverable)
    ):
        return "unknown"  # a read has no effect to be unsure of; it is as good as lost
    return "refused"


def next_step(contract: Contract, error: CallError, attempt: int) -> Next:
    """Return what follows attempt number `attempt` (from 1) that ended with this error.

    What a contract's `never_retry_on` can name is never repeated anyway, whether or not it names it.
    """
    fate = fate_of(error, contract)
    if fate == "refused" or error.error_type in _NO_REPEAT:
        return "no"
    again = attempt < contract.retry.max_attempts and error.error_type in contract.retry.retry_on
    if fate == "not_sent":
        if contract.risk in _GRAVE and not contract.honours_key and contract.probe is None:
            return "retry" if again and attempt < 2 else "no"
        return "retry" if again else "no"
    if fate == "rate_limited":
        if contract.risk in _GRAVE and not contract.honours_key and contract.probe is None:
            return "ask"
        return "retry" if again else "no"
    if contract.risk in _SAFE or _writes_nothing_outside(contract):
        return "retry" if again else "no"
    if contract.honours_key:
        return "retry" if again else "probe" if contract.probe else _lost(contract)
    if contract.probe is not None:
        return "probe"
    return _lost(contract)


def after_crash(contract: Contract) -> Next:
    """Return what to do with a call that was sent, and whose outcome nobody recorded."""
    if contract.risk in _SAFE or _writes_nothing_outside(contract) or contract.honours_key:
        return "retry"
    return "probe" if contract.probe is not None else _lost(contract)


def _lost(contract: Contract) -> Next:
    return "person" if contract.risk in _GRAVE else "uncertain"


def _writes_nothing_outside(contract: Contract) -> bool:
    """Tell whether a draft stays inside: only a declaration can say so."""
    effects = contract.side_effects
    return contract.risk is RiskClass.DRAFT and effects is not None and effects.kind == "none"


def wait_ms(contract: Contract, attempt: int, chance: float, asked_ms: int | None) -> int:
    """Return the milliseconds to wait before the attempt after number `attempt`.

    Exponential with full jitter: `chance` is a random number from 0 to 1. A wait that the target asked for
    (Retry-After) is kept to, whatever it is.
    """
    retry = contract.retry
    top = min(retry.max_ms, retry.base_ms * 2 ** min(attempt - 1, 30))
    waited = int(top * chance)
    return waited if asked_ms is None else max(waited, asked_ms)
