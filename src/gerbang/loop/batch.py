"""The order in which one answer's calls run, as a pure machine.

Reads run side by side (bounded). Every other call is a barrier: it starts when all before it are done,
and what follows it waits. A barrier that waits for a person holds up later barriers, not later reads.
Nothing that goes wrong with one call keeps a sibling from its turn.
"""

from collections.abc import Sequence
from typing import Literal

Phase = Literal["queued", "running", "waiting", "held", "done"]


class BatchPlan:
    """One batch. Drive it with `start`, `waiting` and `finished`; each returns the calls to launch now.

    `reads[i]` tells whether call i is a read. Calls are numbered by their place in the answer.
    """

    def __init__(self, reads: Sequence[bool], max_parallel: int) -> None:
        self._reads = list(reads)
        self._phase: list[Phase] = ["queued"] * len(self._reads)
        self._max = max(1, max_parallel)
        self._next = 0
        self._running = 0

    @property
    def done(self) -> bool:
        """True when every call is finished or held."""
        return all(phase in ("done", "held") for phase in self._phase)

    @property
    def held(self) -> list[int]:
        """Barriers that were never started because an earlier one still waits for a person."""
        return [index for index, phase in enumerate(self._phase) if phase == "held"]

    def start(self) -> list[int]:
        """Return the first calls to launch."""
        return self._launch()

    def waiting(self, index: int) -> list[int]:
        """Call `index` now waits for a person while its task goes on. Returns what may run meanwhile."""
        self._phase[index] = "waiting"
        self._running -= 1
        return self._launch()

    def finished(self, index: int, *, pending: bool = False) -> list[int]:
        """Call `index` has its result; `pending` when that result is to wait for a person later."""
        if self._phase[index] == "running":
            self._running -= 1
        self._phase[index] = "done"
        if pending:
            for later in range(index + 1, len(self._reads)):
                if not self._reads[later] and self._phase[later] == "queued":
                    self._phase[later] = "held"
        return self._launch()

    def _launch(self) -> list[int]:
        launched: list[int] = []
        blocked = False  # a barrier that waits for a person stands before what comes now
        for index in range(self._first_open(), len(self._reads)):
            phase = self._phase[index]
            if phase == "waiting":
                blocked = True
            elif phase == "running" and not self._reads[index]:
                break
            if phase != "queued":
                continue
            if self._reads[index]:
                if self._running >= self._max:
                    break
            elif blocked:
                continue
            elif self._running:
                break
            self._phase[index] = "running"
            self._running += 1
            launched.append(index)
            if not self._reads[index]:
                break
        return launched

    def _first_open(self) -> int:
        while self._next < len(self._phase) and self._phase[self._next] in ("done", "held"):
            self._next += 1
        return self._next
