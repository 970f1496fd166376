"""The store that lives in memory: the rules of the durable one, without its file."""

import os
from itertools import islice

from msgspec.structs import replace

from gerbang.adapters.stores.writing import check_text, renewed_call, renewed_run
from gerbang.audit.chain import extend, start
from gerbang.errors import StoreError
from gerbang.values.record import (
    AnswerRow,
    ApprovalRow,
    Batch,
    CallRow,
    Committed,
    EventRow,
    NewEvent,
    RunRow,
    frees,
)

_DIGEST = 32


class _Chain:
    """One run's events, column by column: lists cost a third of rows. Digests are made when they are read."""

    __slots__ = ("bodies", "digests", "kinds", "run_id")

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.kinds: list[str] = []
        self.bodies: list[bytes] = []
        self.digests = bytearray(start(run_id))

    def append(self, event: NewEvent) -> int:
        self.kinds.append(event.kind)
        self.bodies.append(event.body)
        return len(self.kinds)

    def row(self, index: int) -> EventRow:
        digests = self.digests
        while len(digests) < (index + 2) * _DIGEST:
            done = len(digests) // _DIGEST - 1
            digests += extend(bytes(digests[-_DIGEST:]), self.kinds[done], self.bodies[done])
        digest = bytes(digests[(index + 1) * _DIGEST : (index + 2) * _DIGEST])
        return EventRow(self.run_id, index + 1, self.kinds[index], self.bodies[index], digest)


class MemoryStore:
    """Records for as long as the process lives. `commit` never waits; one event loop uses it."""

    immediate = True

    def __init__(self) -> None:
        self._key = os.urandom(32)
        self._closed = False
        self._runs: dict[str, RunRow] = {}
        self._answers: dict[str, dict[int, AnswerRow]] = {}
        self._calls: dict[str, CallRow] = {}
        self._calls_of: dict[str, dict[str, None]] = {}
        self._approvals: dict[str, ApprovalRow] = {}
        self._chains: dict[str, _Chain] = {}

    async def open(self) -> None:
        """Make it usable again after `close`; what was recorded is still there."""
        self._closed = False

    async def close(self) -> None:
        """Refuse further commits. What was recorded can still be read."""
        self._closed = True

    async def commit(self, batch: Batch) -> Committed:
        """Write the batch. Raises StoreError when it cannot be stored or the store is closed."""
        if self._closed:
            raise StoreError("The store is closed. Open it before recording.")
        check_text(batch)
        for approval_id, state in batch.expects.items():
            standing = self._approvals.get(approval_id)
            if standing is not None and standing.state != state:
                return Committed(stale=standing)
        if batch.claims:
            taken = self._taken(batch.claims)
            if taken is not None:
                return Committed(0, taken)
            for row in batch.claims:
                self._claim(row)
        for row in batch.calls:
            former = self._calls.get(row.key)
            if former is None:
                self._claim(row)
            else:
                self._calls[row.key] = renewed_call(former, row)
        for run in batch.runs:
            known = self._runs.get(run.run_id)
            self._runs[run.run_id] = run if known is None else renewed_run(known, run)
        for answer in batch.answers:
            self._answers.setdefault(answer.run_id, {})[answer.step] = answer
        for approval in batch.approvals:
            self._approvals[approval.approval_id] = approval
        seq = 0
        for event in batch.events:
            chain = self._chains.get(event.run_id)
            if chain is None:
                chain = self._chains[event.run_id] = _Chain(event.run_id)
            seq = chain.append(event)
        return Committed(seq)

    def _taken(self, claims: list[CallRow]) -> CallRow | None:
        mine: dict[str, CallRow] = {}
        for row in claims:
            holder = self._calls.get(row.key)
            if holder is not None and not frees(holder, row):
                return holder
            if row.key in mine:
                return mine[row.key]
            mine[row.key] = row
        return None

    def _claim(self, row: CallRow) -> None:
        former = self._calls.get(row.key)
        if former is not None:
            del self._calls_of[former.run_id][row.key]
        self._calls[row.key] = row
        self._calls_of.setdefault(row.run_id, {})[row.key] = None

    async def call(self, key: str) -> CallRow | None:
        """Return the ledger row of a key."""
        return self._calls.get(key)

    async def calls(self, run_id: str) -> list[CallRow]:
        """Return a run's calls in the order they were proposed."""
        return [self._calls[key] for key in self._calls_of.get(run_id, ())]

    async def run(self, run_id: str) -> RunRow | None:
        """Return one run, `events` being the number that is recorded."""
        row = self._runs.get(run_id)
        return None if row is None else self._counted(row)

    async def runs(self, *, limit: int = 50, tenant: str | None = None) -> list[RunRow]:
        """Return the newest runs first."""
        rows = [row for row in reversed(self._runs.values()) if tenant is None or row.tenant == tenant]
        rows.sort(key=lambda row: row.started_at, reverse=True)
        return [self._counted(row) for row in rows[: max(limit, 0)]]

    def _counted(self, row: RunRow) -> RunRow:
        chain = self._chains.get(row.run_id)
        return replace(row, events=len(chain.kinds) if chain else 0)

    async def answers(self, run_id: str) -> list[AnswerRow]:
        """Return a run's committed answers by step."""
        rows = self._answers.get(run_id, {})
        return [rows[step] for step in sorted(rows)]

    async def events(self, run_id: str, *, after: int = 0, limit: int = 10_000) -> list[EventRow]:
        """Return a run's events with a sequence above `after`."""
        chain = self._chains.get(run_id)
        if chain is None:
            return []
        first = max(after, 0)
        return [chain.row(index) for index in range(first, min(len(chain.kinds), first + max(limit, 0)))]

    async def approval(self, approval_id: str) -> ApprovalRow | None:
        """Return one approval request."""
        return self._approvals.get(approval_id)

    async def approvals(
        self, *, run_id: str | None = None, state: str | None = None, limit: int = 100
    ) -> list[ApprovalRow]:
        """Return approval requests, newest first."""
        rows = [
            row
            for row in reversed(self._approvals.values())
            if (run_id is None or row.run_id == run_id) and (state is None or row.state == state)
        ]
        rows.sort(key=lambda row: row.created_at, reverse=True)
        return list(islice(rows, max(limit, 0)))

    async def secret_key(self) -> bytes:
        """Return this store's 32 random bytes."""
        return self._key
