"""What stores with SQL have in common: every question is a query of their own, and its rows."""

from collections.abc import Sequence
from types import ModuleType
from typing import Any, TypeVar

from gerbang.adapters.stores.switches import Switches
from gerbang.adapters.stores.writer import Writer
from gerbang.adapters.stores.writing import no_such_row
from gerbang.errors import StoreError
from gerbang.values.record import (
    AnswerRow,
    ApprovalRow,
    CallRow,
    EventRow,
    HeadRow,
    Kill,
    Message,
    Pin,
    RunRow,
)

Row = TypeVar("Row", RunRow, AnswerRow, CallRow, ApprovalRow, EventRow, HeadRow, Kill, Message, Pin)


class SqlReading(Switches):
    """The reading half of a store. `_queries` is the module that has the statements of its dialect."""

    _queries: ModuleType
    _key: bytes
    _writer: Writer | None

    async def _read(self, query: str, *values: str | float) -> list[tuple[Any, ...]]:
        """Return the rows of a query. Raises StoreError."""
        raise NotImplementedError

    def _row(self, kind: type[Row], values: tuple[Any, ...]) -> Row:
        return kind(*values)

    def _rows(self, kind: type[Row], found: Sequence[tuple[Any, ...]]) -> list[Row]:
        return [self._row(kind, values) for values in found]

    def _first(self, kind: type[Row], found: Sequence[tuple[Any, ...]]) -> Row | None:
        return self._row(kind, found[0]) if found else None

    async def call(self, key: str) -> CallRow | None:
        """Return the ledger row of a key."""
        return self._first(CallRow, await self._read(self._queries.GET_CALL, key))

    async def calls(self, run_id: str, *, newest: int | None = None) -> list[CallRow]:
        """Return a run's calls in the order they were proposed: all, or so many of the newest."""
        if newest is None:
            return self._rows(CallRow, await self._read(self._queries.GET_CALLS, run_id))
        found = await self._read(self._queries.GET_NEWEST_CALLS, run_id, max(newest, 0))
        return self._rows(CallRow, found[::-1])

    async def open_calls(self, run_id: str) -> list[CallRow]:
        """Return the run's calls that have no outcome yet, in the order they were proposed."""
        return self._rows(CallRow, await self._read(self._queries.GET_OPEN_CALLS, run_id))

    async def uncertain(self, limit: int = 100) -> list[CallRow]:
        """Return the calls in UNCERTAIN of all runs, oldest first."""
        return self._rows(CallRow, await self._read(self._queries.GET_UNCERTAIN, max(limit, 0)))

    async def run(self, run_id: str) -> RunRow | None:
        """Return one run, `events` being the number that is recorded."""
        return self._first(RunRow, await self._read(self._queries.GET_RUN, run_id))

    async def runs(
        self,
        *,
        limit: int = 50,
        tenant: str | None = None,
        state: str | None = None,
        before: str | None = None,
    ) -> list[RunRow]:
        """Return the newest runs first, from the one after the run `before` on."""
        wanted = {"tenant": tenant, "state": state, "before": before}
        query = self._queries.get_runs(**{name: value is not None for name, value in wanted.items()})
        values = [value for value in wanted.values() if value is not None]
        rows = self._rows(RunRow, await self._read(query, *values, max(limit, 0)))
        if not rows and before is not None and await self.run(before) is None:
            raise no_such_row(before)
        return rows

    async def answers(self, run_id: str) -> list[AnswerRow]:
        """Return a run's committed answers by step."""
        return self._rows(AnswerRow, await self._read(self._queries.GET_ANSWERS, run_id))

    async def events(self, run_id: str, *, after: int = 0, limit: int = 10_000) -> list[EventRow]:
        """Return a run's events with a sequence above `after`."""
        return self._rows(EventRow, await self._read(self._queries.GET_EVENTS, run_id, after, max(limit, 0)))

    async def heads(self, *, after: int = 0, limit: int = 1000) -> list[HeadRow]:
        """Return the last events of runs, in the order in which the runs began to be recorded."""
        return self._rows(HeadRow, await self._read(self._queries.GET_ALL_HEADS, after, max(limit, 0)))

    async def old_runs(self, before: float, *, after: str | None = None, limit: int = 100) -> list[RunRow]:
        """Return runs that began before a time and whose payloads are kept, oldest first."""
        query = self._queries.get_old_runs(after=after is not None)
        page = () if after is None else (after,)
        return self._rows(RunRow, await self._read(query, before, *page, max(limit, 0)))

    async def approval(self, approval_id: str) -> ApprovalRow | None:
        """Return one approval request."""
        return self._first(ApprovalRow, await self._read(self._queries.GET_APPROVAL, approval_id))

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
        wanted = {"run": run_id, "state": state, "tenant": tenant, "before": before}
        query = self._queries.get_approvals(**{name: value is not None for name, value in wanted.items()})
        values = [value for value in wanted.values() if value is not None]
        rows = self._rows(ApprovalRow, await self._read(query, *values, max(limit, 0)))
        if not rows and before is not None and await self.approval(before) is None:
            raise no_such_row(before)
        return rows

    async def messages(
        self, channel: str | None = None, *, limit: int = 100, given_up: bool = False
    ) -> list[Message]:
        """Return messages that wait, or were given up, for that channel or any, earliest due first."""
        query = self._queries.get_messages(channel=channel is not None, given_up=given_up)
        named = () if channel is None else (channel,)
        return self._rows(Message, await self._read(query, *named, max(limit, 0)))

    async def secret_key(self) -> bytes:
        """Return the store's own 32 random bytes."""
        if self._writer is None:
            raise StoreError("The store is closed. Open it before asking for its key.")
        return self._key
