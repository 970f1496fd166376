"""Circuit breakers: an upstream that keeps failing is left alone for a while, then tried with one call."""

from collections.abc import Mapping
from typing import Final

from gerbang.values import CallError, Contract
from gerbang.values.sentences import said

_FAILURES: Final = 5
_OPEN_S: Final = 30.0
_COUNTED: Final = frozenset({"timeout", "transient_network_error", "upstream_error"})
_ANSWERED: Final = frozenset({"HTTP_3XX", "HTTP_4XX", "NOT_HAPPENED"})
"""Codes of an upstream that is well, and said no to this one request."""
_UNHEARD: Final = frozenset({"permission_denied", "cancelled", "internal_error"})
"""What says nothing of the upstream: the call did not come so far, or the tool itself broke."""
_UNSENT: Final = frozenset({"TOO_MANY_LATE_CALLS", "HTTP_METHOD"})
"""The same by their codes: no thread was free, the verb of the definition is none."""


class _Circuit:
    __slots__ = ("failures", "opened")

    def __init__(self) -> None:
        self.failures = 0
        self.opened: float | None = None


class Breakers:
    """One circuit for each upstream. `now` is a monotonic time in seconds.

    Closed: calls pass. After five failures in a row it opens for 30 seconds: calls are refused. Then one
    call is let through (half open); if it succeeds the circuit closes, else it opens again. When nothing is
    heard of that call (it was refused for another reason, or cancelled), the next is let through 30 seconds
    after it.
    """

    def __init__(self) -> None:
        self.troubled: dict[str, _Circuit] = {}
        """Not empty when some upstream has failed of late: successes count only then."""

    def refused(self, contract: Contract, now: float) -> CallError | None:
        """Return why the upstream is left alone now, or None. A call that passes must be `noted`.

        To be asked only when some upstream is `troubled`.
        """
        circuit = self.troubled.get(upstream_of(contract))
        if circuit is None or circuit.opened is None:
            return None
        left = circuit.opened + _OPEN_S - now
        if left <= 0:
            circuit.opened = now
            return None
        return said(
            "transient_network_error",
            "CIRCUIT_OPEN",
            recoverable=True,
            retry_after_ms=max(1_000, int(left * 1_000)),
        )

    def noted(self, contract: Contract, error: CallError | None, now: float) -> None:
        """Count the outcome of a call."""
        kind, code = ("", "") if error is None else (error.error_type, error.error_code)
        if kind in _UNHEARD or code in _UNSENT:
            return
        failed = kind in _COUNTED and code not in _ANSWERED
        if not failed and not self.troubled:
            return
        name = upstream_of(contract)
        if not failed:
            self.troubled.pop(name, None)
            return
        circuit = self.troubled.setdefault(name, _Circuit())
        circuit.failures += 1
        if circuit.failures >= _FAILURES:
            circuit.opened = now


def upstream_of(contract: Contract) -> str:
    """Return what fails together: the service that a contract names, the origin of its HTTP request, or the
    tool alone.
    """
    named = contract.annotations.get("upstream")
    if named is None:
        http = contract.annotations.get("http")
        named = http.get("origin") if isinstance(http, Mapping) else None
    return named if isinstance(named, str) else contract.name
