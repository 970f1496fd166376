"""Finding out what became of a call whose fate nobody knows: a reading tool of its contract is asked."""

import re
import secrets
from typing import Any, Final, Literal

from gerbang.contract.validators import value_at
from gerbang.runtime.session import RunSession
from gerbang.runtime.ticket import Ticket
from gerbang.values import CallError, Proposal, Result
from gerbang.values.contract_parts import Condition, Probe
from gerbang.values.failure import OWN_WORDS
from gerbang.values.record import CallRow

_NO_ANSWER: Final = frozenset(
    {
        *("permission_denied", "policy_denied", "rate_limited", "budget_exceeded", "timeout"),
        *("transient_network_error", "cancelled", "internal_error", "output_validation_error"),
    }
)
_STATUS: Final = re.compile(r"HTTP ([0-9]{3}) ")

Fate = Literal["happened", "not_happened", "unknown"]


def probe_proposal(session: RunSession, ticket: Ticket, probe: Probe, row: CallRow) -> Proposal:
    """Return the question as a call of its own: it passes the gate like every other, never a replay."""
    given = ticket.call.arguments
    arguments: dict[str, Any] = dict(probe.values)
    for name, source in probe.arguments.items():
        arguments[name] = ticket.key if source == "@key" else given.get(source)
    name = f"probe_{row.call_id}_{secrets.token_hex(3)}"
    return Proposal(session.run_id, name, 0, name, probe.tool, arguments)


def is_probe(row: CallRow) -> bool:
    """Tell whether a call was such a question: its step and its id are one, and name it so."""
    return is_question(row.step_id, row.call_id)


def is_question(step_id: str, call_id: str) -> bool:
    """Tell the same from the names of a call's step and of itself."""
    return step_id == call_id and call_id.startswith("probe_")


def is_about(asked: CallRow, row: CallRow) -> bool:
    """Tell whether `asked` was a question about the call."""
    return is_probe(asked) and asked.call_id.startswith(f"probe_{row.call_id}_")


def fate_from(probe: Probe, result: Result) -> Fate:
    """Return what the answer says. When neither condition holds, or both do, nobody knows."""
    happened, not_happened = _holds(probe.happened, result), _holds(probe.not_happened, result)
    if happened == not_happened:
        return "unknown"
    return "happened" if happened else "not_happened"


def _said_by_tool(error: CallError) -> tuple[str, ...]:
    """Return the codes that the probe itself gave. That it was refused, or not reached, is no answer; nor is
    an HTTP status that does not speak of the thing asked for: only 404 and 410 say that it is not there.
    """
    if error.said not in ("", OWN_WORDS) or error.error_type in _NO_ANSWER or error.invalid_fields:
        return ()
    if error.error_code != "HTTP_4XX":
        return (error.error_code,)
    status = _STATUS.match(error.message)
    exact = () if status is None else (f"HTTP_{status[1]}",)
    return ("HTTP_4XX", *exact) if exact and exact[0] in ("HTTP_404", "HTTP_410") else exact


def _holds(condition: Condition, result: Result) -> bool:
    if condition.test == "error":
        return result.error is not None and condition.value in _said_by_tool(result.error)
    if result.status != "ok":
        return False
    found = value_at(result.value, condition.path)
    match condition.test:
        case "exists":
            return found is not None
        case "absent":
            return found is None
        case "equals":
            return bool(
                found == condition.value and isinstance(found, bool) == isinstance(condition.value, bool)
            )
        case _:
            return isinstance(condition.value, list | tuple) and found in condition.value
