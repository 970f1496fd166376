"""Agent runs of this process: what they say while they run, kept for a while for whoever comes back.

Each run writes its messages into one log, with a number; each client reads the log at its own pace. A slow
client costs nothing: what it has not read lies in the log, and the log is bounded.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any, Final

import msgspec
from msgspec import Struct

from gerbang.errors import GerbangError
from gerbang.values import Principal

_ENCODER: Final = msgspec.json.Encoder()
_OVERHEAD: Final = 200


class Behind(Exception):
    """The reader asks for messages that are no longer kept."""


class Note(Struct, frozen=True, gc=False):
    """One message of a run. `kind` is its type, `text` its JSON; `seq` counts from 1."""

    seq: int
    kind: str
    text: bytes


class LiveRun:
    """One run and its log. `conversation` is the client's own name for what the run belongs to; `fault` is
    what kept the run from going on; `key_id` names the key that it was begun with, None where nobody has one.
    """

    def __init__(
        self, run_id: str, principal: Principal, prompt: str, conversation: str | None, max_bytes: int
    ) -> None:
        self.run_id = run_id
        self.principal = principal
        self.prompt = prompt
        self.conversation = conversation
        self.answer: str | None = None
        self.status = "running"
        self.task: asyncio.Task[None] | None = None
        self.fault: GerbangError | None = None
        self.key_id: str | None = None
        self._standing = asyncio.Event()
        self._on_record = False
        self.started_at = time.time()
        self._max_bytes = max_bytes
        self._notes: list[Note] = []
        self._first = 1
        self._bytes = 0
        self._pieces: list[str] = []
        self._piece_kind = ""
        self._changed = asyncio.Event()

    @property
    def over(self) -> bool:
        """True when nothing more will be said."""
        return self.status != "running"

    async def on_record(self) -> bool:
        """Wait until the start of a run under a key is on record. False: the run ended without it."""
        await self._standing.wait()
        return self._on_record

    def stand(self) -> None:
        """Note that the start of the run is on record."""
        self._on_record = True
        self._standing.set()

    @property
    def last_seq(self) -> int:
        """The number of the newest message, 0 when there is none."""
        return self._first + len(self._notes) - 1

    def say_text(self, kind: str, text: str) -> None:
        """Write a piece of text. Pieces that come at once become one message."""
        if self._pieces and self._piece_kind != kind:
            self._flush()
        if not self._pieces:
            asyncio.get_running_loop().call_soon(self._flush)
        self._piece_kind = kind
        self._pieces.append(text)

    def _flush(self) -> None:
        if self._pieces:
            text = "".join(self._pieces)
            self._pieces.clear()
            self.say(self._piece_kind, text=text)

    def say(self, kind: str, **fields: Any) -> None:
        """Write a message: `type` first, then the fields, then where it belongs."""
        self._flush()
        seq = self._first + len(self._notes)
        body = {"type": kind, **fields, "run_id": self.run_id, "seq": seq}
        if self.conversation is not None:
            body["conversation"] = self.conversation
        note = Note(seq, kind, _ENCODER.encode(body))
        self._notes.append(note)
        self._bytes += len(note.text) + _OVERHEAD
        if self._bytes > self._max_bytes:
            self._forget_half()
        self._wake()

    def end(self, status: str, answer: str) -> None:
        """Say no more. The last message has been written."""
        self.status, self.answer = status, answer
        self._standing.set()
        self._wake()

    async def follow(self, after: int) -> AsyncIterator[Note]:
        """Yield the messages after a number, then new ones until the run is over. Raises Behind."""
        while True:
            while after < self.last_seq:
                if after + 1 < self._first:
                    raise Behind
                note = self._notes[after + 1 - self._first]
                after = note.seq
                yield note
            if self.over:
                return
            await self.changed()

    def since(self, after: int) -> list[Note]:
        """Return the kept messages after a number."""
        return self._notes[max(0, after + 1 - self._first) :]

    async def changed(self) -> None:
        """Wait until something more is said."""
        await self._changed.wait()

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def _forget_half(self) -> None:
        half = max(1, len(self._notes) // 2)
        self._bytes -= sum(len(note.text) + _OVERHEAD for note in self._notes[:half])
        del self._notes[:half]
        self._first += half
