"""A store whose working state is sealed: any store, with a sealer in front of it.

Sealed are prompts, answers, arguments, results, what policy decided on, previews, notes, salts, and the
details of events. In the clear stay names, states, times, keys, fingerprints and the cores of events: what
the store and the chain work with.
"""

import base64
import time
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from gerbang.adapters.stores.seal_keys import MARK, MARK_TEXT, Sealer
from gerbang.adapters.stores.seal_mark import NAME, refused
from gerbang.adapters.stores.switches import Switches
from gerbang.audit.chain import DETAIL_MARK, DETAIL_WIDTH
from gerbang.audit.commitments import SALT_BYTES
from gerbang.errors import StoreUnavailable
from gerbang.ports import Named, Store
from gerbang.values.event import NewEvent
from gerbang.values.record import (
    AnswerRow,
    ApprovalRow,
    Batch,
    CallRow,
    Committed,
    EventRow,
    HeadRow,
    Kill,
    Message,
    Pin,
    RunRow,
)

Row = TypeVar("Row", RunRow, AnswerRow, CallRow, ApprovalRow, Message)

_FIELDS: Final[dict[type, tuple[str, ...]]] = {
    RunRow: ("prompt", "answer"),
    AnswerRow: ("message",),
    CallRow: ("arguments", "result", "for_model", "policy_input"),
    Message: ("body",),
    ApprovalRow: ("preview", "arguments", "note", "terms", "votes"),
}
_SEALED: Final = b',"sealed":"' + MARK


class SealedStore(Switches):
    """Seals on the way in, opens on the way out. The inner store is this one's to open and close."""

    def __init__(self, inner: Store, sealer: Sealer) -> None:
        self._inner = inner
        self._sealer = sealer
        self._strict = False  # True: the store was sealed from its first run on, so nothing is in the clear
        self.immediate = inner.immediate
        self.has_own_clock = inner.has_own_clock
        inner.unsealing = True  # type: ignore[attr-defined]  # our own stores ask for it

    async def open(self) -> None:
        """Open the store; one that is not sealed yet is from now on. Raises StoreError."""
        await self._inner.open()
        try:
            await self._mark()
        except BaseException:
            await self._inner.close()
            raise

    async def _mark(self) -> None:
        found = [pin for pin in await self._inner.pins() if pin.name == NAME]
        if found:
            how, _, key_id = found[0].digest.partition(":")
            if not self._sealer.holds(key_id):
                raise refused(
                    f"The key {key_id} that this store was first sealed with is not in the file given."
                )
            self._strict = how == "all"
            return
        how = "new" if await self._inner.runs(limit=1) else "all"
        await self._inner.commit(
            Batch(pins=(Pin(NAME, f"{how}:{self._sealer.key_id}", "gerbang", time.time()),))
        )
        self._strict = how == "all"

    async def close(self) -> None:
        """Close the store."""
        await self._inner.close()

    async def commit(self, batch: Batch) -> Committed:
        """Write the batch with its working state sealed. Raises StoreError."""
        sealed = replace(
            batch,
            runs=[self._seal(row) for row in batch.runs],
            answers=[self._seal(row.settled()) for row in batch.answers],
            claims=[self._seal(row) for row in batch.claims],
            calls=[self._seal(row) for row in batch.calls],
            approvals=[self._seal(row) for row in batch.approvals],
            messages=[self._seal(row) for row in batch.messages],
            events=[self._seal_event(event) for event in batch.events],
        )
        done = await self._inner.commit(sealed)
        if done.taken is not None:
            return replace(done, taken=self._open(done.taken))
        if done.stale is not None:
            return replace(done, stale=self._open(done.stale))
        return done

    def _seal(self, row: Row) -> Row:
        changed: dict[str, Any] = {}
        for name in _FIELDS[type(row)]:
            value = getattr(row, name)
            if value:
                place = _place(row, name)
                text = isinstance(value, str)
                changed[name] = (
                    self._sealer.seal_text(value, place) if text else self._sealer.seal(value, place)
                )
        salt = getattr(row, "salt", b"")
        if len(salt) == SALT_BYTES:
            changed["salt"] = self._sealer.seal(salt, _place(row, "salt"))
        return replace(row, **changed)

    def _open(self, row: Row) -> Row:
        changed: dict[str, Any] = {}
        for name in _FIELDS[type(row)]:
            value = getattr(row, name)
            if value:
                changed[name] = self._opened(row, name, value)
        salt = getattr(row, "salt", b"")
        if len(salt) > 1:
            changed["salt"] = self._opened(row, "salt", salt)
        return replace(row, **changed)

    def _opened(self, row: Any, name: str, value: Any) -> Any:
        place = _place(row, name)
        if isinstance(value, str):
            if value.startswith(MARK_TEXT):
                return self._sealer.open_text(value, place)
        elif value.startswith(MARK):
            return self._sealer.open(value, place)
        if self._strict and not (value in (b"{}", "{}", "[]") or value[:1] == b"!"):  # what erasure leaves
            raise StoreUnavailable(
                f"The {name} of a record is in the clear, in a store that is sealed from its beginning: "
                "somebody put it there. Nothing of it is used."
            )
        return value

    def _seal_event(self, event: NewEvent) -> NewEvent:
        body = event.body
        at = body.find(DETAIL_MARK)
        end = at + DETAIL_WIDTH
        if at < 0 or len(body) == end + 1:
            return NewEvent(event.run_id, event.kind, body)
        made = self._sealer.seal(body[end:], _event_place(event.run_id, body[at:end]))
        code = base64.b64encode(made[len(MARK) :])
        return NewEvent(event.run_id, event.kind, b"".join((body[:end], _SEALED, code, b'"}')))

    def _open_event(self, event: EventRow) -> EventRow:
        at = event.body.find(DETAIL_MARK)
        end = at + DETAIL_WIDTH
        if at < 0 or not event.body.startswith(_SEALED, end):
            return event
        code = event.body[end + len(_SEALED) : -2].decode("ascii", "replace")
        place = _event_place(event.run_id, event.body[at:end])
        detail = self._sealer.open_text(MARK_TEXT + code, place).encode("utf-8", "surrogatepass")
        return replace(event, body=event.body[:end] + detail)

    async def call(self, key: str) -> CallRow | None:
        """Return the ledger row of a key."""
        return self._maybe(await self._inner.call(key))

    async def calls(self, run_id: str, *, newest: int | None = None) -> list[CallRow]:
        """Return a run's calls in the order they were proposed: all, or so many of the newest."""
        return [self._open(row) for row in await self._inner.calls(run_id, newest=newest)]

    async def open_calls(self, run_id: str) -> list[CallRow]:
        """Return the run's calls that have no outcome yet, in the order they were proposed."""
        return [self._open(row) for row in await self._inner.open_calls(run_id)]

    async def uncertain(self, limit: int = 100) -> list[CallRow]:
        """Return the calls in UNCERTAIN of all runs, oldest first."""
        return [self._open(row) for row in await self._inner.uncertain(limit)]

    async def sent(self, limit: int = 100) -> list[CallRow]:
        """Return the calls in DISPATCHED of runs that nobody drives, oldest first."""
        return [self._open(row) for row in await self._inner.sent(limit)]

    async def run(self, run_id: str) -> RunRow | None:
        """Return one run."""
        return self._maybe(await self._inner.run(run_id))

    async def runs(
        self,
        *,
        limit: int = 50,
        tenant: str | None = None,
        state: str | None = None,
        before: str | None = None,
    ) -> list[RunRow]:
        """Return the newest runs first, from the one after the run `before` on."""
        rows = await self._inner.runs(limit=limit, tenant=tenant, state=state, before=before)
        return [self._open(row) for row in rows]

    async def old_runs(self, before: float, *, after: str | None = None, limit: int = 100) -> list[RunRow]:
        """Return runs that began before a time and whose payloads are kept, oldest first."""
        return [self._open(row) for row in await self._inner.old_runs(before, after=after, limit=limit)]

    async def unfinished(self, limit: int = 100) -> list[RunRow]:
        """Return runs that are RUNNING and that nobody holds a lease of, oldest first."""
        return [self._open(row) for row in await self._inner.unfinished(limit)]

    async def answers(self, run_id: str) -> list[AnswerRow]:
        """Return a run's committed answers by step."""
        return [self._open(row) for row in await self._inner.answers(run_id)]

    async def events(self, run_id: str, *, after: int = 0, limit: int = 10_000) -> list[EventRow]:
        """Return a run's events with a sequence above `after`."""
        return [self._open_event(row) for row in await self._inner.events(run_id, after=after, limit=limit)]

    async def heads(self, *, after: int = 0, limit: int = 1000) -> list[HeadRow]:
        """Return the last events of runs, in the order in which the runs began to be recorded."""
        return await self._inner.heads(after=after, limit=limit)

    async def approval(self, approval_id: str) -> ApprovalRow | None:
        """Return one approval request."""
        return self._maybe(await self._inner.approval(approval_id))

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
        rows = await self._inner.approvals(
            run_id=run_id, state=state, tenant=tenant, before=before, limit=limit
        )
        return [self._open(row) for row in rows]

    async def messages(
        self, channel: str | None = None, *, limit: int = 100, given_up: bool = False
    ) -> list[Message]:
        """Return messages that wait, or were given up, for that channel or any, earliest due first."""
        rows = await self._inner.messages(channel, limit=limit, given_up=given_up)
        return [self._open(row) for row in rows]

    async def named(self, kind: Named, beginning: str, limit: int = 10) -> list[str]:
        """Return the ids of runs, or of approvals, that begin so, in order."""
        return await self._inner.named(kind, beginning, limit)

    async def kills(self) -> list[Kill]:
        """Return the kill switches that are on, by target."""
        return await self._inner.kills()

    async def pins(self) -> list[Pin]:
        """Return the pins, by name; not the store's own."""
        return [pin for pin in await self._inner.pins() if pin.name != NAME]

    async def spent(self, key: str, window_s: float | None) -> float:
        """Return what was spent of a budget in the current window."""
        return await self._inner.spent(key, window_s)

    async def time(self) -> float:
        """Return the time of the clock that leases and limits go by."""
        return await self._inner.time()

    async def secret_key(self) -> bytes:
        """Return the store's own 32 random bytes."""
        return await self._inner.secret_key()

    def _maybe(self, row: Row | None) -> Row | None:
        return None if row is None else self._open(row)


def _place(row: Any, name: str) -> str:
    """Return what a value belongs to, so that it opens nowhere else."""
    if isinstance(row, CallRow):
        return f"call\0{name}\0{row.key}"
    if isinstance(row, AnswerRow):
        return f"answer\0{row.step}\0{row.run_id}"
    if isinstance(row, RunRow):
        return f"run\0{name}\0{row.run_id}"
    if isinstance(row, Message):
        return f"message\0{name}\0{row.message_id}"
    return f"approval\0{name}\0{row.approval_id}"


def _event_place(run_id: str, commitment: bytes) -> str:
    return f"event\0{commitment.decode('ascii', 'replace')}\0{run_id}"
