"""A proposal on its way through the gate: admitted as a ticket, or refused."""

from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from gerbang.contract.catalogue import Entry
from gerbang.policy.input import PolicyInput
from gerbang.values import CallError, Decision, ValidCall

if TYPE_CHECKING:
    from gerbang.runtime.lookups import Found
    from gerbang.runtime.plan import Plan


_UNDECIDED: Final = Decision("deny", ("POLICY_UNDEFINED",), None, "")


class Ticket(Struct, gc=False):
    """A valid call on its way through the gate, with the names it goes by in the store.

    `decision` is set when policy has decided, on `seen`; `found` is what had to be looked up for it, None for
    nothing; `number` its place in the run's history once it runs, `past` how many calls policy has seen in
    that.
    """

    call: ValidCall
    entry: Entry
    plan: "Plan"
    key: str
    fingerprint: str
    decision: Decision = _UNDECIDED
    found: "Found | None" = None
    seen: PolicyInput | None = None
    number: int = 0
    past: int = 0

    def of(self, call: ValidCall, decision: Decision, fingerprint: str | None = None) -> "Ticket":
        """Return the ticket for another form of the same call."""
        mark = fingerprint or self.fingerprint
        return replace(self, call=call, decision=decision, fingerprint=mark, number=0)


class Refusal(Struct, frozen=True, gc=False):
    """A proposal that does not become a call: the error, and the decision when the policy made one.

    `call` is what was asked for, where it fits its contract, `seen` what policy decided on.
    """

    error: CallError
    decision: Decision | None = None
    call: ValidCall | None = None
    seen: PolicyInput | None = None
