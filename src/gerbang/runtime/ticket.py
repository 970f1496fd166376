"""A proposal on its way through the gate: admitted as a ticket, or refused."""

from typing import TYPE_CHECKING

from msgspec import Struct

from gerbang.contract.catalogue import Entry
from gerbang.policy.input import PolicyInput
from gerbang.values import CallError, Decision, ValidCall

if TYPE_CHECKING:
    from gerbang.runtime.lookups import Found
    from gerbang.runtime.plan import Plan


class Ticket:
    """A valid call on its way through the gate, with the names it goes by in the store.

    `decision` is set when policy has decided, on `seen`; `found` is what had to be looked up for it, None for
    nothing; `number` its place in the run's history once it runs, `past` how many calls policy has seen in
    that.
    """

    __slots__ = ("call", "decision", "entry", "fingerprint", "found", "key", "number", "past", "plan", "seen")

    def __init__(self, call: ValidCall, entry: Entry, plan: "Plan", key: str, mark: str) -> None:
        self.call = call
        self.entry = entry
        self.plan = plan
        self.key = key
        self.fingerprint = mark
        self.decision: Decision
        self.found: Found | None = None
        self.seen: PolicyInput | None = None
        self.number = self.past = 0

    def of(self, call: ValidCall, decision: Decision, fingerprint: str | None = None) -> "Ticket":
        """Return the ticket for another form of the same call."""
        ticket = Ticket(call, self.entry, self.plan, self.key, fingerprint or self.fingerprint)
        ticket.decision, ticket.found, ticket.past = decision, self.found, self.past
        ticket.seen = self.seen
        return ticket


class Refusal(Struct, frozen=True, gc=False):
    """A proposal that does not become a call: the error, and the decision when the policy made one.

    `call` is what was asked for, where it fits its contract, `seen` what policy decided on.
    """

    error: CallError
    decision: Decision | None = None
    call: ValidCall | None = None
    seen: PolicyInput | None = None
