"""A batch as a writing thread takes it."""

from typing import Any, Final

from msgspec.structs import astuple

from gerbang.adapters.stores.checks import asks
from gerbang.values.record import Batch

Params = tuple[Any, ...]
KEY: Final = 0
"""Place of the key in a call's parameters."""


class Asked:
    """What a batch asks of switches, leases and limits; most batches ask nothing."""

    __slots__ = ("hold", "kills", "lease", "pins", "revives", "spends", "stops", "takes")

    def __init__(self, batch: Batch) -> None:
        self.stops = batch.stops
        self.lease = batch.lease
        self.takes = batch.takes
        self.spends = batch.spends
        self.hold = batch.hold
        self.kills = batch.kills
        self.revives = batch.revives
        self.pins = batch.pins


class Prepared:
    """A batch as parameters of statements, taken when it is handed in: changing it later changes nothing."""

    __slots__ = (
        "answers",
        "approvals",
        "asked",
        "calls",
        "claims",
        "erases",
        "events",
        "expects",
        "knows",
        "messages",
        "runs",
        "writer",
    )

    def __init__(self, batch: Batch) -> None:
        self.claims = [astuple(row) for row in batch.claims]
        self.calls = [astuple(row) for row in batch.calls]
        self.runs = [astuple(row) for row in batch.runs]
        self.answers = [(row.run_id, row.step, row.message) for row in batch.answers]
        self.approvals = [astuple(row) for row in batch.approvals]
        self.messages = [astuple(row) for row in batch.messages]
        self.events = tuple([event.settled() for event in batch.events])
        self.expects = dict(batch.expects)
        self.erases = batch.erases
        self.asked = Asked(batch) if asks(batch) else None
        self.writer = batch.writer
        self.knows = batch.knows if batch.events else -1
