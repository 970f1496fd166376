"""What batches write, collected table by table, for stores that write a group in one statement a table."""

from typing import Protocol

from gerbang.adapters.stores.prepared import Params, Prepared
from gerbang.audit.chain import extend
from gerbang.values.record import Committed, Lease


class Head(Protocol):
    """The end of a run's chain: the run's number in the store, the last sequence and digest."""

    run: int
    seq: int
    digest: bytes


class Heads(Protocol):
    """The ends of chains, by run."""

    def of(self, run_id: str, /) -> Head:
        """Return the end of a run's chain."""
        ...


class Collecting:
    """Collects rows; whoever inherits writes them."""

    def __init__(self, heads: Heads) -> None:
        self._ends = heads
        self._runs: list[Params] = []
        self._answers: list[Params] = []
        self._approvals: list[Params] = []
        self._messages: list[Params] = []
        self._events: list[Params] = []

    def add(self, batch: Prepared, held: Lease | None = None) -> Committed:
        """Take in all of a batch but its calls. The ends of its chains move."""
        if batch.runs:
            self._runs += batch.runs
        if batch.answers:
            self._answers += batch.answers
        if batch.approvals:
            self._approvals += batch.approvals
        if batch.messages:
            self._messages += batch.messages
        seq = 0
        append = self._events.append
        for event in batch.events:
            head = self._ends.of(event.run_id)
            kind, body = event.kind, event.body
            head.digest = digest = extend(head.digest, kind, body)
            head.seq = seq = head.seq + 1
            append((head.run, seq, kind, body, digest))
        return Committed(seq, held=held) if held is not None else Committed(seq)
