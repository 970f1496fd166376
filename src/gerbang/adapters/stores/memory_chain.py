"""The events of one run in memory, and the digests that chain them."""

import msgspec
from msgspec import Struct

from gerbang.audit.chain import core, extend, start
from gerbang.values.event import NewEvent, Said
from gerbang.values.record import EventRow

_DIGEST = 32


class Chain(Struct, gc=False):
    """One run's events, column by column: lists cost a third of rows.

    Bodies are written and digests made when they are read: nothing that they are made from can change.
    """

    run_id: str
    kinds: list[str] = []
    bodies: list[bytes | Said] = []
    digests: bytearray = msgspec.field(default_factory=bytearray)
    by: int = 0
    since: int = 0

    def append(self, event: NewEvent, writer: int) -> int:
        """Take an event in and return its number, from 1. `writer` is who wrote it."""
        if self.by != writer:
            self.by, self.since = writer, len(self.kinds)
        self.kinds.append(event.kind)
        self.bodies.append(event.said)
        return len(self.kinds)

    def row(self, index: int) -> EventRow:
        """Return the event at `index`, from 0, with its digest."""
        digests = self.digests
        if not digests:
            digests += start(self.run_id)
        while len(digests) < (index + 2) * _DIGEST:
            done = len(digests) // _DIGEST - 1
            digests += extend(bytes(digests[-_DIGEST:]), self.kinds[done], self._body(done))
        digest = bytes(digests[(index + 1) * _DIGEST : (index + 2) * _DIGEST])
        return EventRow(self.run_id, index + 1, self.kinds[index], self._body(index), digest)

    def _body(self, index: int) -> bytes:
        said = self.bodies[index]
        if isinstance(said, Said):
            said = self.bodies[index] = said.written()
        return said

    def erase(self) -> None:
        """Take the details away, and the salt with which bodies would be written."""
        self.bodies[:] = [core(self._body(index)) for index in range(len(self.bodies))]
