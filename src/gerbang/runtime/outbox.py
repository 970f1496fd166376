"""The outbox: messages to people outside, kept in the store until they are taken, sent at least once.

A message is written in the commit of what it tells of. One process at a time sends the messages of a channel,
under a lease of the store; what it could not send is sent by whoever comes next, under the same id.
"""

import asyncio
import contextlib
import secrets
from collections import OrderedDict
from typing import Any, Final, Protocol, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace

from gerbang.approval.machine import ApprovalState
from gerbang.errors import StoreError
from gerbang.ports import ApprovalRequest, Clock, Store
from gerbang.runtime.bodies import event
from gerbang.runtime.writing import write
from gerbang.values.record import Batch, Lease, Message, MessageState

_LOOK_S: Final = 1.0
"""How often the store is looked at for messages of other processes, in seconds."""
_LEASE_S: Final = 30.0
"""What a lease lasts beyond the time that one message may take, in seconds."""
_SIDE_BY_SIDE: Final = 8
_CLOSING_S: Final = 5.0
_KNOWN: Final = 1_000


@runtime_checkable
class Channel(Protocol):
    """An approver that sends messages, by the store's outbox, and asks nobody itself.

    `channel` names where they go, and is no address: processes in which it is the same send each other's. A
    message is sent at most `attempts` times, and `post` takes at most `timeout_s` seconds.
    """

    channel: str
    attempts: int
    timeout_s: float

    def asking(self, message_id: str, request: ApprovalRequest) -> tuple[str, bytes]:
        """Return the kind and the JSON of a message that asks. The id is part of it, so that it is signed."""
        ...

    def telling(self, message_id: str, what: Any) -> tuple[str, str, bytes]:
        """Return the run, the kind and the JSON of a message that tells of something."""
        ...

    def pause_s(self, attempts: int) -> float:
        """Return how long to wait after so many attempts, in seconds."""
        ...

    async def post(self, message: Message) -> tuple[int, str]:
        """Send a message once. Returns the HTTP status, 0 when none came, and why it was not taken."""
        ...

    def ended(self, message: Message) -> None:
        """Learn that a message was taken, dropped or given up."""
        ...


class Undelivered(Struct, frozen=True, gc=False):
    """A message was given up: it was sent `attempts` times and never taken. `status` came back last."""

    run_id: str
    message_id: str
    what: str
    channel: str
    approval_id: str | None
    attempts: int
    status: int
    error_code: str
    at: float


class Outbox:
    """Writes the messages of one channel, and sends those of the store that are due. Needs an event loop."""

    def __init__(self, store: Store, clock: Clock, channel: Channel) -> None:
        self._store = store
        self._clock = clock
        self._channel = channel
        self._lease_name = f"outbox\x1f{channel.channel}"
        self._holder = secrets.token_hex(8)
        self._known: OrderedDict[str, None] = OrderedDict()
        self._awake = asyncio.Event()
        self._until: float | None = None  # monotonic: the outbox is being closed
        self._sending = asyncio.ensure_future(self._send())

    def letter(self, request: ApprovalRequest) -> Message | None:
        """Return the message that asks, to be written with the request. None: it was written before."""
        name = f"{request.approval_id}/{len(request.votes)}"
        if name in self._known:
            return None
        self._known[name] = None
        if len(self._known) > _KNOWN:
            self._known.popitem(last=False)
        kind, body = self._channel.asking(name, request)
        return self._new(name, request.run_id, kind, body, request.approval_id)

    async def put(self, request: ApprovalRequest) -> None:
        """Have a request sent that is on record, once for each number of votes. Raises StoreError."""
        message = self.letter(request)
        if message is not None:
            await write(self._store, Batch(messages=[message]))
        self._awake.set()

    def news(self, what: Any) -> Message:
        """Return the message that tells of something, to be written with it."""
        name = f"msg_{secrets.token_hex(10)}"
        run_id, kind, body = self._channel.telling(name, what)
        return self._new(name, run_id, kind, body, None)

    def _new(self, name: str, run_id: str, kind: str, body: bytes, approval: str | None) -> Message:
        now = self._clock.now()
        return Message(
            name, self._channel.channel, run_id, kind, MessageState.WAITING, body, now, now, approval
        )

    async def aclose(self) -> None:
        """Send what is due for a few seconds more, then stop; the rest stays in the store."""
        self._until = self._clock.monotonic() + _CLOSING_S
        self._awake.set()
        await asyncio.wait((self._sending,), timeout=_CLOSING_S)
        self._sending.cancel()
        await asyncio.wait((self._sending,))

    async def _send(self) -> None:
        while True:
            self._awake.clear()
            try:
                pause = await self._round()
            except StoreError:  # a store that is away comes back, and the messages are in it
                pause = _LOOK_S
            if self._until is not None and self._clock.monotonic() + pause >= self._until:
                return
            if self._until is not None and pause >= _LOOK_S:
                return  # nothing of ours is due soon
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._awake.wait()

    async def _round(self) -> float:
        """Send what is due. Returns after how many seconds to look again."""
        due, pause = await self._due()
        if not due:
            return pause
        lasts_s = self._channel.timeout_s + _LEASE_S
        lease = await self._store.lease(self._lease_name, self._holder, lasts_s)
        if lease is None:  # another process sends
            return _LOOK_S
        try:
            due, _ = await self._due()  # what was due before the lease was ours may be sent by now
            ended = await asyncio.gather(
                *(self._deliver(message, lease) for message in due), return_exceptions=True
            )
        finally:
            with contextlib.suppress(StoreError):  # it runs out by itself
                await asyncio.shield(self._store.release(lease))
        for error in ended:
            if error is not None:
                raise error
        return 0

    async def _due(self) -> tuple[list[Message], float]:
        """Return some messages that are due, and after how many seconds to look again when there are none."""
        waiting = await self._store.messages(self._channel.channel, limit=_SIDE_BY_SIDE)
        now = self._clock.now()
        due = [message for message in waiting if message.due_at <= now]
        return due, min([_LOOK_S, *(message.due_at - now for message in waiting)])

    async def _deliver(self, message: Message, lease: Lease) -> None:
        """Send a message once, and write down what came of it."""
        if await self._over(message):
            after = replace(message, state=MessageState.DROPPED, body=b"", error="decided before it was sent")
        else:
            after = self._after(message, *await self._posted(message))
        batch = Batch(messages=[after], lease=(lease.run_id, lease.fence))
        if after.state == MessageState.GIVEN_UP:
            body = _undelivered(after, self._clock.now())
            batch.events.append(event("message.undelivered", after.run_id, body))
        if (await write(self._store, batch)).written and after.state != MessageState.WAITING:
            self._channel.ended(after)

    async def _posted(self, message: Message) -> tuple[int, str]:
        try:
            return await self._channel.post(message)
        except Exception as error:  # whatever a channel raises, the message was not taken
            return 0, type(error).__name__

    async def _over(self, message: Message) -> bool:
        """Tell whether the request that a message asks about waits no longer."""
        if message.approval_id is None:
            return False
        row = await self._store.approval(message.approval_id)
        return row is None or row.state != ApprovalState.PENDING or row.expires_at <= self._clock.now()

    def _after(self, message: Message, status: int, why: str) -> Message:
        tried = replace(message, attempts=message.attempts + 1, status=status, error=why[:200])
        if not why:
            return replace(tried, state=MessageState.SENT, body=b"")
        if tried.attempts >= self._channel.attempts:
            return replace(tried, state=MessageState.GIVEN_UP, body=b"")
        return replace(tried, due_at=self._clock.now() + self._channel.pause_s(tried.attempts))


def _undelivered(message: Message, at: float) -> Undelivered:
    return Undelivered(
        message.run_id,
        message.message_id,
        message.kind,
        message.channel,
        message.approval_id,
        message.attempts,
        message.status,
        message.error,
        at,
    )


def outbox_for(store: Store, clock: Clock, approver: Any) -> Outbox | None:
    """Return the outbox of an approver that is a channel; None for any other."""
    return Outbox(store, clock, approver) if isinstance(approver, Channel) else None
