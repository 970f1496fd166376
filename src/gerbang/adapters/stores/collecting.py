"""What batches write, collected table by table, for stores that write a group in one statement a table."""

from typing import Protocol

from gerbang.adapters.stores.heads import Head, is_behind
from gerbang.adapters.stores.prepared import Params, Prepared
from gerbang.audit.chain import extend
from gerbang.values.record import Committed, Lease


class Heads(Protocol):
    """The ends of chains, by run."""

    def of(self, run_id: str, /) -> Head:
        """Return the end of a run's chain."""
        ...


class Collecting:
    """Collects rows; whoever inherits writes them."""

    def __init__(self, heads: Heads) -> None:
        self._ends = heads
        self.moved = False  # True: the ends of chains are ahead of what is in the store
        self._runs: list[Params] = []
        self._answers: list[Params] = []
        self._approvals: list[Params] = []
        self._messages: list[Params] = []
        self._events: list[Params] = []

    def is_behind(self, batch: Prepared) -> bool:
        """Tell whether a run has events that the batch's writer must know of, and does not."""
        if batch.knows < 0:
            return False
        head = self._ends.of(batch.events[-1].run_id)
        return is_behind(head.by, head.since, head.seq, batch.writer, batch.knows)

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
        seq, writer = 0, batch.writer
        append = self._events.append
        self.moved = True
        for event in batch.events:
            head = self._ends.of(event.run_id)
            kind, body = event.kind, event.body
            if head.by != writer:
                head.by, head.since = writer, head.seq
            head.digest = digest = extend(head.digest, kind, body)
            head.seq = seq = head.seq + 1
            append((head.run, seq, kind, body, digest))
        return Committed(seq, held=held) if held is not None else Committed(seq)
