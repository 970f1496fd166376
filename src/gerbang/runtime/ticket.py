"""A proposal on its way through the gate: admitted as a ticket, or refused."""

from msgspec import Struct

from gerbang.contract.catalogue import Entry
from gerbang.values import CallError, Decision, ValidCall


class Ticket:
    """A valid call on its way through the gate, with the names it goes by in the store."""

    __slots__ = ("call", "decision", "entry", "fingerprint", "key")

    def __init__(self, call: ValidCall, entry: Entry, decision: Decision, key: str, mark: str) -> None:
        self.call = call
        self.entry = entry
        self.decision = decision
        self.key = key
        self.fingerprint = mark


class Refusal(Struct, frozen=True, gc=False):
    """A proposal that does not become a call: the error, and the decision when the policy made one."""

    error: CallError
    decision: Decision | None = None
