"""A batch as a writing thread takes it."""

from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import astuple

from gerbang.values.record import NOTHING, Batch

Params = tuple[Any, ...]
NONE: Final[Sequence[Params]] = ()
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

    def __init__(self, batch: Batch, asking: bool) -> None:
        """`asking`: the batch asks something (`asks`)."""
        self.claims = _params(batch.claims) if batch.claims else NONE
        self.calls = _params(batch.calls) if batch.calls else NONE
        self.runs = _params(batch.runs) if batch.runs else NONE
        self.answers: Sequence[Params] = NONE
        if batch.answers:
            self.answers = [(row.run_id, row.step, row.message) for row in batch.answers]
        self.approvals = _params(batch.approvals) if batch.approvals else NONE
        self.messages = _params(batch.messages) if batch.messages else NONE
        self.events = [event.settled() for event in batch.events]
        self.expects = dict(batch.expects) if batch.expects else NOTHING
        self.erases = batch.erases
        self.asked = Asked(batch) if asking else None
        self.writer = batch.writer
        self.knows = batch.knows if batch.events else -1


def _params(rows: Sequence[Struct]) -> Sequence[Params]:
    return [astuple(row) for row in rows]
