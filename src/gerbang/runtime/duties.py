"""The obligations of a decision as the runtime sees to them."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from gerbang.approval.votes import NO_DUTIES, Duties
from gerbang.policy.obligations import Obligation, read_obligations
from gerbang.runtime.ticket import Ticket
from gerbang.values import Decision


def duties_of(obligations: Iterable[str]) -> Duties:
    """Return the duties of a decision. Raises PolicyError for one that nobody knows."""
    written = tuple(obligations)
    if not written:
        return NO_DUTIES
    found = read_obligations(written)
    names = {one.name for one in found}
    lasting = [float(value) for value in _values(found, "expires")]
    return Duties(
        two="two_person" in names,
        other="other_approver" in names,
        no_self="no_self_approval" in names,
        roles=frozenset(_values(found, "approvers")),
        redact=frozenset(_values(found, "redact")),
        notify=_values(found, "notify"),
        lasts_s=min(lasting, default=None),
        dry_run="dry_run" in names,
    )


def redacted(ticket: Ticket, duties: Duties) -> None:
    """Have the arguments that nobody may see masked wherever the call is shown or recorded."""
    contract = ticket.call.contract
    if not duties.redact <= contract.sensitive:
        hidden = replace(contract, sensitive=contract.sensitive | duties.redact)
        ticket.call = replace(ticket.call, contract=hidden)


def not_honoured(decision: Decision) -> Decision:
    """Return the denial that a decision becomes whose obligations nobody knows."""
    return replace(decision, decision="deny", reasons=("POLICY_ERROR", *decision.reasons))


def _values(found: Sequence[Obligation], name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for one in found if one.name == name for value in one.values))
