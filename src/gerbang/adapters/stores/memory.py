"""The store that lives in memory: the rules of the durable one, without its file."""

import os
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TypeVar

from msgspec.structs import replace

from gerbang.adapters.stores.checks import Checks, Nowhere, only_stops, span_of, window
from gerbang.adapters.stores.heads import is_behind
from gerbang.adapters.stores.memory_chain import Chain
from gerbang.adapters.stores.seal_mark import NAME, check_mark
from gerbang.adapters.stores.store_clock import MICRO, StoreClock
from gerbang.adapters.stores.switches import Switches
from gerbang.adapters.stores.writing import (
    check_bounds,
    check_text,
    check_texts,
    no_such_row,
    renewed_call,
    renewed_run,
)
from gerbang.errors import StoreError
from gerbang.ports import Clock, Named
from gerbang.values.call_order import follows, frees
from gerbang.values.record import (
    ERASED,
    OPEN_STATES,
    AnswerRow,
    AnswerSaid,
    ApprovalRow,
    Batch,
    CallRow,
    CallState,
    Committed,
    Erase,
    EventRow,
    HeadRow,
    Kill,
    Lease,
    Message,
    MessageState,
    Pin,
    RunRow,
    RunState,
    outdates,
)

Row = TypeVar("Row", RunRow, ApprovalRow)


class MemoryStore(Switches):
    """Records for as long as the process lives. `commit` never waits; one event loop uses it.

    Leases and limits go by `clock`.
    """

    immediate = True

    def __init__(self, clock: Clock | None = None) -> None:
        self._checks = Checks(Nowhere(), StoreClock(clock))
        self._pins: dict[str, Pin] = {}
        self._key = os.urandom(32)
        self._closed = False
        self._runs: dict[str, RunRow] = {}
        self._answers: dict[str, dict[int, AnswerRow | AnswerSaid]] = {}
        self._calls: dict[str, CallRow] = {}
        self._calls_of: dict[str, dict[str, None]] = {}
        self._approvals: dict[str, ApprovalRow] = {}
        self._messages: dict[str, Message] = {}
        self._chains: dict[str, Chain] = {}

    async def open(self) -> None:
        """Make it usable again after `close`; what was recorded is still there."""
        check_mark(self._pins.get(NAME), self.unsealing)
        self._closed = False

    async def close(self) -> None:
        """Refuse further commits. What was recorded can still be read."""
        self._closed = True

    async def commit(self, batch: Batch) -> Committed:
        """Write the batch. Raises StoreError when it cannot be stored or the store is closed."""
        if self._closed:
            raise StoreError("The store is closed. Open it before recording.")
        check_text(batch)
        asking = self._asking(batch)
        refusal = self._barred(batch) if asking else None
        refusal = refusal or self._against(batch)
        if refusal is not None:
            return refusal
        held = self._draw(batch) if asking else None
        if isinstance(held, Committed):
            return held
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
        if batch.messages:
            self._post(batch.messages)
        seq = 0
        for event in batch.events:
            chain = self._chains.get(event.run_id)
            if chain is None:
                chain = self._chains[event.run_id] = Chain(event.run_id)
            seq = chain.append(event, batch.writer)
        for erase in batch.erases:
            self._erase(erase)
        return Committed(seq, held=held)

    def _asking(self, batch: Batch) -> bool:
        """Tell whether anything can stand against the batch besides its keys. Raises StoreError."""
        if not only_stops(batch):
            check_bounds(batch)
            return True
        if not batch.stops:
            return False
        if not "".join(batch.stops).isascii():
            check_texts(*batch.stops)
        return bool(self._checks.kills())

    def _post(self, messages: Sequence[Message]) -> None:
        for message in messages:
            standing = self._messages.get(message.message_id)
            if standing is None or outdates(standing, message):
                self._messages[message.message_id] = message

    def _erase(self, erase: Erase) -> None:
        run_id = erase.run_id
        if (run := self._runs.get(run_id)) is not None:
            self._runs[run_id] = replace(run, prompt="", answer="", salt=ERASED)
        self._answers.pop(run_id, None)
        for key in self._calls_of.get(run_id, ()):
            row = self._calls[key]
            kept = erase.result if row.result else b""
            self._calls[key] = replace(
                row, arguments=b"{}", fingerprint="", for_model="", result=kept, policy_input=b""
            )
        for name in [name for name, one in self._messages.items() if one.run_id == run_id]:
            del self._messages[name]
        for name, approval in self._approvals.items():
            if approval.run_id == run_id:
                self._approvals[name] = replace(
                    approval, arguments=b"{}", preview="", note="", terms="{}", votes="[]"
                )
        if (chain := self._chains.get(run_id)) is not None:
            chain.erase()

    def _barred(self, batch: Batch) -> Committed | None:
        """Return the refusal of a batch that a switch stops or whose writer's lease is gone."""
        self._checks.begin()
        return self._checks.barred(batch)

    def _draw(self, batch: Batch) -> Committed | Lease | None:
        """Draw on limits, and set what the batch sets. Returns the refusal, or the lease that it takes."""
        drawn = self._checks.draw(batch)
        if not isinstance(drawn, Committed):
            self._pins.update(self._checks.changed_pins)
            self._checks.settle()
        return drawn

    def _against(self, batch: Batch) -> Committed | None:
        """Return the refusal of a batch that a record stands against."""
        if batch.knows >= 0 and self._is_behind(batch):
            return Committed(behind=True)
        stale = self._stale(batch.expects) if batch.expects else None
        if stale is not None:
            return Committed(stale=stale)
        taken = self._taken(batch.claims) if batch.claims else None
        if taken is not None:
            return Committed(0, taken)
        for row in batch.calls:
            former = self._calls.get(row.key)
            if former is not None and not follows(former, row):
                return Committed(0, former)
        return None

    def _stale(self, expects: Mapping[str, str]) -> ApprovalRow | None:
        for approval_id, state in expects.items():
            standing = self._approvals.get(approval_id)
            if standing is not None and not standing.answers_to(state):
                return standing
        return None

    def _is_behind(self, batch: Batch) -> bool:
        chain = self._chains.get(batch.events[-1].run_id) if batch.events else None
        if chain is None:
            return False
        return is_behind(chain.by, chain.since, len(chain.kinds), batch.writer, batch.knows)

    def _taken(self, claims: Sequence[CallRow]) -> CallRow | None:
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

    async def calls(self, run_id: str, *, newest: int | None = None) -> list[CallRow]:
        """Return a run's calls in the order they were proposed: all, or so many of the newest."""
        keys = self._calls_of.get(run_id, {})
        if newest is not None:
            return [self._calls[key] for key in reversed(list(islice(reversed(keys), max(newest, 0))))]
        return [self._calls[key] for key in keys]

    async def open_calls(self, run_id: str) -> list[CallRow]:
        """Return the run's calls that have no outcome yet, in the order they were proposed."""
        return [row for row in await self.calls(run_id) if row.state in OPEN_STATES]

    async def uncertain(self, limit: int = 100) -> list[CallRow]:
        """Return the calls in UNCERTAIN of all runs, oldest first."""
        rows = [row for row in self._calls.values() if row.state == CallState.UNCERTAIN]
        rows.sort(key=lambda row: row.updated_at)
        return rows[: max(limit, 0)]

    async def sent(self, limit: int = 100) -> list[CallRow]:
        """Return the calls in DISPATCHED of runs that nobody drives, oldest first."""
        rows = [row for row in self._calls.values() if row.state == CallState.DISPATCHED]
        rows = [row for row in rows if not (self._is_running(row.run_id) or self._is_held(row.run_id))]
        rows.sort(key=lambda row: row.updated_at)
        return rows[: max(limit, 0)]

    def _is_running(self, run_id: str) -> bool:
        run = self._runs.get(run_id)
        return run is not None and run.state == RunState.RUNNING

    def _is_held(self, run_id: str) -> bool:
        self._checks.begin()
        lease = self._checks.leases.get(run_id)
        return lease is not None and lease.expires_at > self._checks.now() / MICRO

    async def run(self, run_id: str) -> RunRow | None:
        """Return one run, `events` being the number that is recorded."""
        row = self._runs.get(run_id)
        return None if row is None else self._counted(row)

    async def runs(
        self,
        *,
        limit: int = 50,
        tenant: str | None = None,
        state: str | None = None,
        before: str | None = None,
    ) -> list[RunRow]:
        """Return the newest runs first, from the one after the run `before` on."""
        rows = list(reversed(self._runs.values()))
        rows.sort(key=lambda row: row.started_at, reverse=True)
        if before is not None:
            rows = _after(rows, self._runs.get(before), before)
        rows = [
            row
            for row in rows
            if (tenant is None or row.tenant == tenant) and (state is None or row.state == state)
        ]
        return [self._counted(row) for row in rows[: max(limit, 0)]]

    async def unfinished(self, limit: int = 100) -> list[RunRow]:
        """Return runs that are RUNNING and that nobody holds a lease of, oldest first."""
        rows = [row for row in self._runs.values() if row.state == RunState.RUNNING]
        rows = [row for row in rows if not self._is_held(row.run_id)]
        rows.sort(key=lambda row: row.started_at)
        return [self._counted(row) for row in rows[: max(limit, 0)]]

    def _counted(self, row: RunRow) -> RunRow:
        chain = self._chains.get(row.run_id)
        return replace(row, events=len(chain.kinds) if chain else 0)

    async def answers(self, run_id: str) -> list[AnswerRow]:
        """Return a run's committed answers by step."""
        rows = self._answers.get(run_id, {})
        settled = {step: row.settled() for step, row in rows.items()}
        rows.update(settled)
        return [settled[step] for step in sorted(settled)]

    async def events(self, run_id: str, *, after: int = 0, limit: int = 10_000) -> list[EventRow]:
        """Return a run's events with a sequence above `after`."""
        chain = self._chains.get(run_id)
        if chain is None:
            return []
        first = max(after, 0)
        return [chain.row(index) for index in range(first, min(len(chain.kinds), first + max(limit, 0)))]

    async def heads(self, *, after: int = 0, limit: int = 1000) -> list[HeadRow]:
        """Return the last events of runs, in the order in which the runs began to be recorded."""
        chains = list(self._chains.values())[max(after, 0) : max(after, 0) + max(limit, 0)]
        rows = [(chain.run_id, chain.row(len(chain.kinds) - 1)) for chain in chains]
        return [
            HeadRow(max(after, 0) + place, run_id, row.seq, row.digest)
            for place, (run_id, row) in enumerate(rows, 1)
        ]

    async def old_runs(self, before: float, *, after: str | None = None, limit: int = 100) -> list[RunRow]:
        """Return runs that began before a time and whose payloads are kept, oldest first."""
        rows = sorted(self._runs.values(), key=lambda row: row.started_at)
        if after is not None:
            rows = _after(rows, self._runs.get(after), after)
        rows = [row for row in rows if row.started_at < before and row.salt != ERASED]
        return [self._counted(row) for row in rows[: max(limit, 0)]]

    async def approval(self, approval_id: str) -> ApprovalRow | None:
        """Return one approval request."""
        return self._approvals.get(approval_id)

    async def approvals(
        self,
        *,
        run_id: str | None = None,
        state: str | None = None,
        tenant: str | None = None,
        before: str | None = None,
        limit: int = 100,
    ) -> list[ApprovalRow]:
        """Return approval requests, newest first."""
        rows = list(reversed(self._approvals.values()))
        rows.sort(key=lambda row: row.created_at, reverse=True)
        if before is not None:
            rows = _after(rows, self._approvals.get(before), before)
        rows = [
            row
            for row in rows
            if (run_id is None or row.run_id == run_id)
            and (state is None or row.state == state)
            and (tenant is None or row.tenant == tenant)
        ]
        return rows[: max(limit, 0)]

    async def messages(
        self, channel: str | None = None, *, limit: int = 100, given_up: bool = False
    ) -> list[Message]:
        """Return messages that wait, or were given up, for that channel or any, earliest due first."""
        state = MessageState.GIVEN_UP if given_up else MessageState.WAITING
        rows = [
            message
            for message in self._messages.values()
            if message.state == state and channel in (None, message.channel)
        ]
        rows.sort(key=lambda message: (message.due_at, message.message_id))
        return rows[: max(limit, 0)]

    async def named(self, kind: Named, beginning: str, limit: int = 10) -> list[str]:
        """Return the ids of runs, or of approvals, that begin so, in order."""
        rows = self._runs if kind == "run" else self._approvals
        return sorted(name for name in rows if name.startswith(beginning))[: max(limit, 0)]

    async def kills(self) -> list[Kill]:
        """Return the kill switches that are on, by target."""
        return [kill for _, kill in sorted(self._checks.kills().items())]

    async def pins(self) -> list[Pin]:
        """Return the pins, by name."""
        return [pin for _, pin in sorted(self._pins.items())]

    async def spent(self, key: str, window_s: float | None) -> float:
        """Return what was spent of a budget in the current window."""
        self._checks.begin()
        span = span_of(window_s)
        return window(self._checks.spends.get((key, span)), span, self._checks.now())[1]

    async def time(self) -> float:
        """Return the time of the clock that leases and limits go by."""
        self._checks.begin()
        return self._checks.now() / MICRO

    async def secret_key(self) -> bytes:
        """Return this store's 32 random bytes."""
        return self._key


def _after(rows: list[Row], cursor: Row | None, name: str) -> list[Row]:
    """Return the rows that follow the one that a page ended with."""
    if cursor is None:
        raise no_such_row(name)
    return rows[rows.index(cursor) + 1 :]
